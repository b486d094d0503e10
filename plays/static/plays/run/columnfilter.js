// The filter of one column: states of its cells, text in its values, empty or not.

import { element, setText } from "./dom.js";
import { count } from "./format.js";
import { CELL_STATES, cellWord } from "./states.js";

let ids = 0;

// AG Grid's filter component; the model is {states, text, is_empty}, or null for none.
export class ColumnFilter {
  init(params) {
    this.changed = params.filterChangedCallback;
    this.column = params.described;
    this.countsOf = params.countsOf;
    this.boxes = new Map();
    this.text = element("input", {
      type: "search",
      placeholder: "Contains…",
      "aria-label": `${this.column.name} contains`,
    });
    this.fill = this.#select();
    this.gui = element("form", { class: "column-filter" }, [
      this.column.kind === "input" ? null : this.#states(),
      this.text,
      this.fill,
      element(
        "div",
        { class: "column-filter-end" },
        element("button", { type: "submit", class: "button button-small button-primary" }, "Apply"),
        element("button", { type: "reset", class: "button button-small" }, "Clear"),
      ),
    ]);
    this.gui.addEventListener("submit", (event) => {
      event.preventDefault();
      this.changed();
      this.close?.();
    });
    this.gui.addEventListener("reset", () => setTimeout(() => this.changed()));
  }

  getGui() {
    return this.gui;
  }

  afterGuiAttached(params) {
    this.close = params?.hidePopup;
    this.#count();
    if (!params?.suppressFocus) this.text.focus();
  }

  isFilterActive() {
    return this.getModel() !== null;
  }

  doesFilterPass() {
    return true;
  }

  getModel() {
    const states = [...this.boxes].filter(([, box]) => box.checked).map(([state]) => state);
    const text = this.text.value.trim();
    const fill = this.fill.value;
    if (!states.length && !text && !fill) return null;
    return { states, text, is_empty: fill ? fill === "empty" : null };
  }

  setModel(model) {
    for (const [state, box] of this.boxes) box.checked = model?.states.includes(state) ?? false;
    this.text.value = model?.text ?? "";
    const isEmpty = model?.is_empty ?? null;
    this.fill.value = isEmpty === null ? "" : isEmpty ? "empty" : "filled";
  }

  // States that no cell has now are not offered, unless they are chosen.
  #count() {
    const counts = this.countsOf(this.column.name);
    for (const [state, box] of this.boxes) {
      box.parentElement.hidden = Boolean(counts) && !counts[state] && !box.checked;
      setText(box.parentElement.lastChild, counts?.[state] ? count(counts[state]) : "");
    }
  }

  #states() {
    const boxes = CELL_STATES.map((state) => {
      const box = element("input", { type: "checkbox", id: `filter-${++ids}` });
      this.boxes.set(state, box);
      const number = element("span", { class: "column-filter-count" });
      return element("label", { class: "check", for: box.id }, box, cellWord(state), number);
    });
    return element("fieldset", {}, element("legend", {}, "State"), boxes);
  }

  #select() {
    return element("select", { "aria-label": `${this.column.name} empty or filled` }, [
      element("option", { value: "" }, "Empty or filled"),
      element("option", { value: "empty" }, "Empty"),
      element("option", { value: "filled" }, "Filled"),
    ]);
  }
}
