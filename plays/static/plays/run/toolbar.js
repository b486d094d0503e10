// What stands above the grid: search, the number of rows that fit, going to a row, columns.

import { button, element, find, setText, show } from "./dom.js";
import { clock, count, plural } from "./format.js";
import { CHOICE, ROW_NUMBER } from "./columns.js";

const TYPING = 300;

export class Toolbar {
  // on: search(text), jump(number), clear(), refresh(), columns(), retry(positions)
  constructor(on) {
    this.on = on;
    this.search = find("search");
    this.jump = find("jump");
    this.search.addEventListener("input", () => this.#typed());
    this.search.addEventListener("search", () => this.#typed());
    find("jump-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.jump.value) on.jump(Number(this.jump.value));
    });
    find("clear").addEventListener("click", () => {
      this.search.value = "";
      on.clear();
    });
    find("refresh").addEventListener("click", () => on.refresh());
    find("retry-chosen").addEventListener("click", () => on.retry(this.positions));
  }

  forFrame(frame) {
    this.search.value = "";
    this.jump.max = String(frame.total);
    this.jump.placeholder = `Go to row 1–${count(frame.total)}`;
    this.counted(frame.total, frame.total, null);
    this.chosen([]);
  }

  // How many rows the query found; of a sorted or filtered list also when it was made.
  counted(found, total, query) {
    const isFiltered = query && (query.search || query.statuses.length || query.filters.length);
    const shown = isFiltered ? `${count(found)} of ${count(total)} rows fit` : "";
    setText(find("found"), shown);
    show(find("clear"), query !== null);
    this.asOf = query ? Date.now() : null;
    show(find("refresh"), false);
  }

  // The rows that a person chose, by position.
  chosen(positions) {
    this.positions = positions;
    show(find("retry-chosen"), positions.length > 0);
    setText(find("retry-chosen-count"), plural(positions.length, "row"));
  }

  // Rows changed since the list was sorted or filtered: they stay where they are until asked.
  changed() {
    if (this.asOf === null) return;
    const refresh = find("refresh");
    refresh.title = `In the order of ${clock(this.asOf)}; rows have changed since.`;
    show(refresh, true);
  }

  #typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.on.search(this.search.value.trim()), TYPING);
  }
}

// The list of columns: show, hide and pin each. Reached by keyboard, unlike dragging a header.
export class ColumnChooser {
  constructor(root) {
    this.root = root;
  }

  fill(grid, arrangement) {
    const items = grid
      .getAllGridColumns()
      .filter((column) => ![ROW_NUMBER, CHOICE].includes(column.getColId()))
      .map((column) => item(grid, column, () => arrangement.save(grid)));
    const reset = button("Reset columns", {
      onclick: () => {
        arrangement.forget(grid);
        this.fill(grid, arrangement);
      },
    });
    this.root.replaceChildren(element("ul", { class: "column-list" }, items), reset);
  }
}

function item(grid, column, changed) {
  const id = column.getColId();
  const shown = element("input", {
    type: "checkbox",
    id: `show-${id}`,
    onchange: (event) => {
      grid.setColumnsVisible([id], event.target.checked);
      changed();
    },
  });
  shown.checked = column.isVisible();
  const pin = element(
    "select",
    {
      "aria-label": `Pin ${id}`,
      onchange: (event) => {
        grid.setColumnsPinned([id], event.target.value || null);
        changed();
      },
    },
    element("option", { value: "" }, "Free"),
    element("option", { value: "left" }, "Left"),
    element("option", { value: "right" }, "Right"),
  );
  pin.value = column.getPinned() || "";
  return element("li", {}, [element("label", { class: "check", for: shown.id }, shown, id), pin]);
}
