// The tail of the run's log: follows, filters by text and level, keeps a bounded number of lines.

import { element, find, setText, show } from "./dom.js";
import { clock, count } from "./format.js";

const KEPT = 2_000;

export class LogTail {
  constructor(api) {
    this.api = api;
    this.lines = [];
    this.isOpen = false;
    this.list = find("log-lines");
    this.search = find("log-search");
    this.level = find("log-level");
    this.follow = find("log-follow");
    this.older = find("log-older");
    find("log-toggle").addEventListener("click", () => this.#toggle());
    this.search.addEventListener("input", () => this.#draw());
    this.level.addEventListener("change", () => this.#draw());
    this.follow.addEventListener("change", () => this.#scroll());
    this.older.addEventListener("click", () => this.#loadOlder());
    this.list.addEventListener("scroll", () => this.#scrolled());
  }

  // Lines may come twice, after a new connection: each counts once.
  add(lines) {
    const newest = this.lines.at(-1)?.id ?? 0;
    const fresh = lines.filter((line) => line.id > newest);
    if (!fresh.length) return;
    this.lines.push(...fresh);
    const surplus = this.lines.length - KEPT;
    if (surplus > 0) this.lines.splice(0, surplus);
    this.#summary();
    if (!this.isOpen) return;
    this.list.append(...fresh.filter((line) => this.#fits(line)).map(lineItem));
    while (this.list.children.length > KEPT) this.list.firstChild.remove();
    this.#scroll();
  }

  #summary() {
    const last = this.lines.at(-1);
    setText(find("log-count"), count(this.lines.length));
    setText(find("log-last"), last ? last.text : "");
  }

  #toggle() {
    this.isOpen = !this.isOpen;
    find("log-toggle").setAttribute("aria-expanded", String(this.isOpen));
    show(find("log-body"), this.isOpen);
    this.#draw();
  }

  #draw() {
    const fitting = this.lines.filter((line) => this.#fits(line));
    this.list.replaceChildren(...fitting.map(lineItem));
    this.#scroll();
  }

  #fits(line) {
    const wanted = this.search.value.trim().toLowerCase();
    const level = this.level.value;
    return (!level || line.level === level) && line.text.toLowerCase().includes(wanted);
  }

  #scroll() {
    if (this.follow.checked) this.list.scrollTop = this.list.scrollHeight;
  }

  // Scrolling back stops following; scrolling to the end goes on with it.
  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.list;
    this.follow.checked = scrollHeight - scrollTop - clientHeight < 24;
  }

  async #loadOlder() {
    const first = this.lines[0]?.id;
    if (!first) return;
    const lines = await this.api.log(first);
    this.lines.unshift(...lines);
    show(this.older, lines.length > 0);
    this.follow.checked = false;
    this.#summary();
    this.#draw();
  }
}

function lineItem(line) {
  return element("li", { class: `log-${line.level}` }, [
    element("time", { datetime: line.at }, clock(line.at)),
    element("span", {}, line.text),
  ]);
}
