// The head of a column: its name, and for computed ones how far it is, by state.

import { element, setText } from "./dom.js";
import { count, percent } from "./format.js";
import { CELL_STATES, cellWord, foundCells } from "./states.js";

// AG Grid's inner header component: sorting, filter button and keyboard stay the grid's own.
export class ColumnHead {
  init(params) {
    const column = params.described;
    this.name = element("span", { class: "head-name" }, params.displayName);
    this.share = element("span", { class: "head-share" });
    this.bar = element("span", { class: "bar-states", "aria-hidden": "true" });
    this.gui = element("span", { class: `head head-${column.kind}` }, [
      element("span", { class: "head-line" }, this.name, this.share),
      column.kind === "field" || column.kind === "filled" ? this.bar : null,
    ]);
    params.heads.set(column.name, this);
    this.update(params.countsOf(column.name));
  }

  getGui() {
    return this.gui;
  }

  refresh() {
    return true;
  }

  update(counts) {
    if (!counts) return;
    const total = Object.values(counts).reduce((sum, one) => sum + one, 0);
    setText(this.share, percent(foundCells(counts), total));
    drawBar(this.bar, counts, CELL_STATES);
    this.gui.title = describe(counts, CELL_STATES, cellWord);
  }
}

// Draws counts as one bar of coloured parts, in the order of `states`.
export function drawBar(bar, counts, states) {
  const total = states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const wanted = states.filter((state) => counts[state]);
  while (bar.children.length > wanted.length) bar.lastChild.remove();
  while (bar.children.length < wanted.length) bar.append(element("i"));
  wanted.forEach((state, index) => {
    const part = bar.children[index];
    part.className = `part-${state}`;
    part.style.flexGrow = String(counts[state] / total);
  });
}

export function describe(counts, states, word) {
  return states
    .filter((state) => counts[state])
    .map((state) => `${count(counts[state])} ${word(state)}`)
    .join(", ");
}
