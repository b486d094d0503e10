// The side panel: one cell in full with every attempt, or one row with all of its columns.

import { cellSheet } from "./cellsheet.js";
import { element, find, setText, show } from "./dom.js";
import { rowSheet } from "./rowsheet.js";

const SETTLE = 150;

export class Panel {
  // on: copy(text, what), retry(rows, fields), closed(), opened(place), openCell(row, name),
  // waitForm(id)
  constructor(api, on) {
    this.api = api;
    this.on = on;
    this.place = null;
    this.waits = new Map();
    this.root = find("panel");
    this.title = find("panel-title");
    this.body = find("panel-body");
    find("panel-close").addEventListener("click", () => this.close());
    this.root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  get isOpen() {
    return this.place !== null;
  }

  // place: {frame, row, column}; without a column it is the whole row.
  open(place) {
    this.place = place;
    show(this.root, true);
    this.on.opened(place);
    return this.#load();
  }

  // The focus moved to another cell while the panel is open: it goes along, once the keys rest.
  follow(place) {
    if (!this.isOpen || samePlace(place, this.place)) return;
    this.place = place;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.on.opened(place);
      this.#load();
    }, SETTLE);
  }

  // Rows changed: looks again where what is shown is among them. Scroll and focus stay.
  changed(frame, changes) {
    if (!this.isOpen || this.place.frame.id !== frame) return;
    const change = changes.find((one) => one.position === this.place.row.position);
    const name = this.place.column?.name;
    if (!change || (name && !change.columns.includes(name))) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#load(), SETTLE);
  }

  close() {
    if (!this.isOpen) return;
    clearTimeout(this.timer);
    this.place = null;
    show(this.root, false);
    this.on.closed();
  }

  async #load() {
    const { place } = this;
    const { frame, row, column } = place;
    setText(this.title, column ? column.name : `Row ${row.position + 1}`);
    this.root.setAttribute("aria-label", titleOf(place));
    try {
      const on = { ...this.on, waitForm: (id) => this.#waitForm(id) };
      const sheet = column
        ? cellSheet(await this.api.cell(frame.id, row.position, column.name), place, on)
        : rowSheet(await this.api.row(frame.id, row.position), place, on);
      if (place === this.place) this.#put(sheet);
    } catch (error) {
      if (place === this.place) this.#put([element("p", { class: "panel-error" }, error.message)]);
    }
  }

  // A form that somebody fills in is the same element for as long as its wait is shown.
  #waitForm(id) {
    if (!this.waits.has(id)) {
      const holder = element("div", { class: "wait-holder" });
      this.waits.set(id, holder);
      this.on.waitForm(id).then(
        (form) => holder.replaceChildren(form),
        (error) => holder.replaceChildren(element("p", { class: "panel-error" }, error.message)),
      );
    }
    return this.waits.get(id);
  }

  // Replaces the contents and keeps what the person did with the old ones: opened parts, scroll.
  #put(sheet) {
    const { scrollTop } = this.body;
    const opened = new Set([...this.body.querySelectorAll("details[open]")].map((one) => one.id));
    const focused = this.body.contains(document.activeElement) ? document.activeElement.id : "";
    this.body.replaceChildren(...sheet);
    for (const one of this.body.querySelectorAll("details")) one.open = opened.has(one.id);
    if (focused) this.body.querySelector(`#${CSS.escape(focused)}`)?.focus();
    this.body.scrollTop = scrollTop;
    for (const [id, holder] of this.waits) if (!holder.isConnected) this.waits.delete(id);
  }
}

export function titleOf({ row, column }) {
  return column ? `${column.name}, row ${row.position + 1}` : `Row ${row.position + 1}`;
}

function samePlace(a, b) {
  return a.row === b.row && a.column?.name === b.column?.name;
}
