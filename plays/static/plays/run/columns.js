// Column definitions for AG Grid, and each person's own widths, order, pins and hidden columns.

import { CellView, hint, RowNumberView } from "./cells.js";
import { ColumnFilter } from "./columnfilter.js";
import { ColumnHead } from "./columnhead.js";
import { cellOf } from "./rows.js";

export const ROW_NUMBER = "#row";
export const CHOICE = "ag-Grid-SelectionColumn";

const WIDTHS = { input: 140, filled: 240, field: 260, part: 190 };

export function columnDefinitions(frame, shared) {
  return [rowNumberColumn(frame), ...frame.columns.map((column) => dataColumn(column, shared))];
}

function rowNumberColumn(frame) {
  return {
    colId: ROW_NUMBER,
    headerName: "Row",
    width: Math.max(76, 48 + 9 * String(frame.total).length),
    pinned: "left",
    lockPosition: "left",
    lockPinned: true,
    suppressMovable: true,
    resizable: false,
    sortable: false,
    cellRenderer: RowNumberView,
    cellClass: "is-row-number",
    valueGetter: (params) => params.data && `${params.data.position}:${params.data.status}`,
  };
}

function dataColumn(column, shared) {
  return {
    // Names may hold dots and repeat AG Grid's own; the colId is opaque.
    colId: column.name,
    headerName: column.kind === "part" ? column.name.split(".").slice(1).join(".") : column.name,
    headerTooltip: column.name,
    width: WIDTHS[column.kind],
    cellClass: `is-${column.kind}`,
    cellRenderer: CellView,
    tooltipValueGetter: (params) => hint(params.data, column),
    valueGetter: (params) => params.data && cellOf(params.data, column),
    // Cells are replaced, never changed: identity tells whether anything is to be drawn.
    equals: (a, b) => a === b,
    filter: ColumnFilter,
    filterParams: { described: column, countsOf: shared.countsOf },
    headerComponentParams: {
      innerHeaderComponent: ColumnHead,
      innerHeaderComponentParams: { described: column, ...shared },
    },
  };
}

// Remembers how a person arranged the columns of a table, in this browser.
export class Arrangement {
  #key;

  constructor(frame) {
    this.#key = `deepline:columns:${frame.table}`;
  }

  restore(api) {
    const kept = this.#read();
    if (kept) api.applyColumnState({ state: kept, applyOrder: true });
  }

  save(api) {
    const columns = api.getColumnState().filter(({ colId }) => colId !== CHOICE);
    const state = columns.map(({ colId, width, hide, pinned }) => {
      return { colId, width, hide, pinned };
    });
    localStorage.setItem(this.#key, JSON.stringify(state));
  }

  forget(api) {
    localStorage.removeItem(this.#key);
    api.resetColumnState();
  }

  #read() {
    try {
      return JSON.parse(localStorage.getItem(this.#key));
    } catch {
      return null;
    }
  }
}
