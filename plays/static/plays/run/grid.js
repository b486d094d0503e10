// The grid of one map: AG Grid with pages from the server, kept right by patches from the socket.
//
// Patches change cells where they stand. They never move the scroll position, the focus or the
// order, and never cause a request.

import { Arrangement, CHOICE, columnDefinitions, ROW_NUMBER } from "./columns.js";
import { applyPatch, fromPage } from "./rows.js";
import { gridTheme } from "./theme.js";

const BLOCK = 100;
const VIEW_REST = 60;
const CHOOSING = { mode: "multiRow", headerCheckbox: false, enableClickSelection: false };

export class RunGrid {
  // on: open(place), focus(place), copy(place), counted(found, total, query), failed(error),
  // view(rows, isPlain), chosen(positions)
  constructor(host, frame, { api, nonce, on }) {
    this.frame = frame;
    this.on = on;
    this.heads = new Map();
    this.search = "";
    this.statuses = [];
    this.found = null;
    this.restApi = api;
    this.arrangement = new Arrangement(frame);
    this.grid = agGrid.createGrid(host, this.#options(nonce));
    this.arrangement.restore(this.grid);
    this.grid.setGridOption("datasource", { getRows: (asked) => this.#load(asked) });
    this.#rememberColumns();
  }

  destroy() {
    clearTimeout(this.viewTimer);
    this.grid.destroy();
  }

  // The map has new counts, perhaps more rows.
  update(frame) {
    const grew = frame.total !== this.frame.total;
    this.frame = frame;
    for (const [name, head] of this.heads) head.update(frame.fields[name]);
    if (grew && this.isPlain) this.grid.setRowCount(frame.total, true);
  }

  // Whether rows can be chosen, to be asked again.
  letChoose(isPossible) {
    if (this.isChoosing === isPossible) return;
    this.isChoosing = isPossible;
    if (!isPossible) this.grid.deselectAll();
    this.grid.setGridOption("rowSelection", isPossible ? CHOOSING : undefined);
  }

  // Gives the rows that changed, so that an open panel may look again.
  patch(patches) {
    const changed = [];
    for (const patch of patches) {
      const node = patch.frame === this.frame.id && this.grid.getRowNode(String(patch.position));
      if (!node?.data) continue;
      const columns = applyPatch(node.data, patch);
      changed.push({ position: patch.position, columns });
      this.grid.refreshCells({ rowNodes: [node], columns: [ROW_NUMBER, ...columns] });
    }
    return changed;
  }

  get isPlain() {
    return this.query() === null;
  }

  // What is asked of the server; null is all rows by position.
  query() {
    const filters = Object.entries(this.grid.getFilterModel()).map(([column, model]) => {
      return { column, ...model };
    });
    const sort = this.grid
      .getColumnState()
      .filter((state) => state.sort)
      .sort((a, b) => a.sortIndex - b.sortIndex)
      .map((state) => ({ column: state.colId, descending: state.sort === "desc" }));
    const { search, statuses } = this;
    return search || statuses.length || filters.length || sort.length
      ? { search, statuses, filters, sort }
      : null;
  }

  ask({ search = this.search, statuses = this.statuses }) {
    this.search = search;
    this.statuses = statuses;
    this.reload();
  }

  clear() {
    this.search = "";
    this.statuses = [];
    this.grid.setFilterModel(null);
    this.grid.applyColumnState({ defaultState: { sort: null } });
    this.reload();
  }

  reload() {
    this.grid.ensureIndexVisible(0);
    this.grid.purgeInfiniteCache();
  }

  // Shows the row of a number as people count, from 1, and puts the focus there.
  jump(number, column) {
    const index = Math.min(Math.max(1, number), this.#length()) - 1;
    this.grid.ensureIndexVisible(index, "middle");
    const target = column ?? ROW_NUMBER;
    if (column) this.grid.ensureColumnVisible(column);
    this.grid.setFocusedCell(index, target);
  }

  // The panel that opened beside the grid made it narrower: its cell stays in sight.
  reveal({ row, column }) {
    const node = this.grid.getRowNode(String(row.position));
    requestAnimationFrame(() => {
      if (this.grid.isDestroyed()) return;
      if (column) this.grid.ensureColumnVisible(column.name);
      if (node) this.grid.ensureIndexVisible(node.rowIndex);
    });
  }

  focusGrid() {
    const cell = this.grid.getFocusedCell();
    if (cell) this.grid.setFocusedCell(cell.rowIndex, cell.column, cell.rowPinned);
  }

  shownRows() {
    const { first, last } = this.span ?? {};
    const rows = [];
    for (let index = first ?? 0; index <= (last ?? -1); index++) {
      const row = this.grid.getDisplayedRowAtIndex(index)?.data;
      if (row) rows.push(row);
    }
    return rows;
  }

  #length() {
    return this.found ?? this.frame.total;
  }

  async #load(asked) {
    const query = this.query();
    try {
      const page = await this.restApi.rows(
        this.frame.id,
        asked.startRow,
        asked.endRow - asked.startRow,
        query,
      );
      this.found = query ? page.total : null;
      asked.successCallback(fromPage(page), page.total);
      this.grid.setGridOption("loading", false);
      if (page.total === 0) this.grid.showNoRowsOverlay();
      else this.grid.hideOverlay();
      this.on.counted(page.total, this.frame.total, query);
    } catch (error) {
      asked.failCallback();
      this.on.failed(error);
    }
  }

  #options(nonce) {
    const shared = { heads: this.heads, countsOf: (name) => this.frame.fields[name] };
    return {
      theme: gridTheme(),
      styleNonce: nonce,
      columnDefs: columnDefinitions(this.frame, shared),
      defaultColDef: {
        resizable: true,
        sortable: true,
        minWidth: 70,
        // Elsewhere than in the column of choices, the space bar opens a cell.
        suppressKeyboardEvent: ({ event, column }) => event.key === " " && column.getColId() !== CHOICE,
      },
      rowModelType: "infinite",
      selectionColumnDef: { pinned: "left", width: 40, suppressHeaderMenuButton: true },
      onSelectionChanged: () => this.#chosen(),
      infiniteInitialRowCount: this.frame.total,
      cacheBlockSize: BLOCK,
      cacheOverflowSize: 0,
      maxBlocksInCache: 40,
      maxConcurrentDatasourceRequests: 3,
      blockLoadDebounceMillis: 40,
      rowBuffer: 6,
      getRowId: (params) => String(params.data.position),
      multiSortKey: "ctrl",
      animateRows: false,
      suppressMultiSort: false,
      suppressNoRowsOverlay: false,
      enableCellTextSelection: false,
      tooltipShowDelay: 600,
      popupParent: document.body,
      overlayNoRowsTemplate: '<span class="grid-empty">No row fits these filters.</span>',
      onViewportChanged: (event) => this.#viewport(event.firstRow, event.lastRow),
      onModelUpdated: () => this.#viewSoon(),
      onCellDoubleClicked: (event) => this.#open(event),
      onCellClicked: (event) => event.column.getColId() === ROW_NUMBER && this.#open(event),
      onCellFocused: (event) => this.#focus(event),
      onCellKeyDown: (event) => this.#key(event),
    };
  }

  #chosen() {
    const positions = this.grid.getSelectedNodes().map((node) => Number(node.id));
    this.on.chosen(positions.sort((a, b) => a - b));
  }

  #viewport(first, last) {
    this.span = { first, last };
    this.#viewSoon();
  }

  // At once after a rest, and then at most every 60 ms while scrolling goes on.
  #viewSoon() {
    if (this.viewTimer) return;
    const wait = Math.max(0, (this.viewedAt ?? 0) + VIEW_REST - performance.now());
    this.viewTimer = setTimeout(() => {
      this.viewTimer = 0;
      this.viewedAt = performance.now();
      if (!this.grid.isDestroyed()) this.on.view(this.shownRows(), this.isPlain);
    }, wait);
  }

  #place(row, colId) {
    const column = this.frame.columns.find((one) => one.name === colId);
    return { row, column: column ?? null };
  }

  #open(event) {
    if (event.data) this.on.open(this.#place(event.data, event.column.getColId()));
  }

  #focus(event) {
    if (event.rowIndex === null || !event.column?.getColId) return;
    const row = this.grid.getDisplayedRowAtIndex(event.rowIndex)?.data;
    if (row) this.on.focus(this.#place(row, event.column.getColId()));
  }

  #key({ event, data, column }) {
    if (!data || (event.key === " " && column.getColId() === CHOICE)) return;
    const place = this.#place(data, column.getColId());
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.on.open(place);
    } else if (event.key === "c" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.on.copy(place);
    }
  }

  #rememberColumns() {
    const save = (event) => {
      const isByPerson = event.source !== "api" && event.finished !== false;
      if (isByPerson) this.arrangement.save(this.grid);
    };
    for (const name of ["columnResized", "columnMoved", "columnPinned", "columnVisible"]) {
      this.grid.addEventListener(name, save);
    }
  }
}
