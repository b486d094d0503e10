// Draws one cell of the grid: a mark for its state, its value as a preview, who found it.

import { element, icon, setIcon, setText } from "./dom.js";
import { capital, deadline } from "./format.js";
import { cellOf, isPreview, previewText } from "./rows.js";
import { cellWord } from "./states.js";

const VALUE_STATES = new Set(["", "completed", "cached", "manual"]);

// AG Grid's cell component. `refresh` changes what is there, so that an update moves nothing.
export class CellView {
  init(params) {
    this.mark = icon("");
    this.word = element("span", { class: "visually-hidden" });
    this.text = element("span", { class: "cell-text" });
    this.by = element("span", { class: "cell-by", "aria-hidden": "true" });
    this.gui = element("span", { class: "cell" }, this.mark, this.word, this.text, this.by);
    this.refresh(params);
  }

  getGui() {
    return this.gui;
  }

  refresh(params) {
    const cell = params.value;
    const state = cell?.status ?? "";
    this.gui.className = cell ? `cell cell-${state || "plain"}` : "cell";
    this.mark.toggleAttribute("hidden", !state);
    if (state) setIcon(this.mark, state);
    setText(this.word, state ? `${cellWord(state)}: ` : "");
    setText(this.text, cell ? shownText(cell) : "");
    this.text.classList.toggle("is-json", isJson(cell?.value));
    setText(this.by, cell ? whoFound(cell) : "");
    return true;
  }
}

// The number of a row with the mark of its status; a press opens the whole row.
export class RowNumberView {
  init(params) {
    this.mark = icon("");
    this.number = element("span", { class: "row-number" });
    this.word = element("span", { class: "visually-hidden" });
    this.gui = element("span", { class: "cell" }, this.mark, this.number, this.word);
    this.refresh(params);
  }

  getGui() {
    return this.gui;
  }

  refresh(params) {
    const row = params.data;
    this.gui.className = row ? `cell row-${row.status}` : "cell";
    this.mark.toggleAttribute("hidden", !row);
    if (row) setIcon(this.mark, row.status);
    setText(this.number, row ? String(row.position + 1) : "");
    setText(this.word, row?.status ?? "");
    return true;
  }
}

function waitText({ reason, until }) {
  const told = capital(reason || "waits");
  return until ? `${told} until ${deadline(until * 1000)}` : told;
}

// What a cell says in words: its value, or what stands in the place of one.
export function shownText(cell) {
  const value = previewText(cell.value);
  if (VALUE_STATES.has(cell.status)) return value;
  switch (cell.status) {
    case "missed":
      return cell.partial && value ? value : "Not found";
    case "failed":
      return cell.error || "Failed";
    case "waiting":
      return waitText(cell);
    case "skipped":
      return value || "Skipped";
    case "running":
      return value || (cell.provider ? `Asking ${cell.provider}` : "Running");
    case "queued":
      return value || (cell.provider ? `Queued for ${cell.provider}` : "Queued");
    default:
      return value || cellWord(cell.status);
  }
}

// A tooltip for what does not fit: the reason first, then the beginning of the value.
export function hint(row, column) {
  const cell = row && cellOf(row, column);
  if (!cell) return null;
  return cell.error || cell.reason || previewText(cell.value) || null;
}

function whoFound(cell) {
  const hasValue = VALUE_STATES.has(cell.status) && previewText(cell.value) !== "";
  return hasValue && cell.provider ? cell.provider : "";
}

const isJson = (value) => isPreview(value) && value.kind !== "string";
