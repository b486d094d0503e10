// What the run waits for: how much, until when, and the waits themselves with their forms.

import { element, find, setText, show } from "./dom.js";
import { moment, plural } from "./format.js";
import { focusForm, part, serveForms } from "./waitforms.js";

const SETTLE = 300;

export class WaitList {
  // on: place() after the address names another row, answered()
  constructor(address, on) {
    this.address = address;
    this.on = on;
    this.page = address;
    this.root = find("waits");
    this.body = find("waits-body");
    this.toggle = find("waits-toggle");
    this.toggle.addEventListener("click", () => this.#toggle());
    this.body.addEventListener("click", (event) => this.#click(event));
    serveForms(this.body, (wait) => this.#answered(wait));
  }

  get isOpen() {
    return this.toggle.getAttribute("aria-expanded") === "true";
  }

  // A list that somebody is filling in stays as it is; the numbers above it always count.
  update(waits) {
    const told = JSON.stringify(waits);
    if (told === this.told) return;
    this.told = told;
    const isAny = waits.open + waits.sleeping > 0;
    if (!isAny && this.root.contains(document.activeElement)) find("main").focus();
    show(this.root, isAny);
    setText(find("waits-count"), summary(waits));
    setText(find("waits-next"), waits.due_at ? `next deadline ${moment(waits.due_at)}` : "");
    this.#loadSoon();
  }

  #toggle() {
    this.toggle.setAttribute("aria-expanded", String(!this.isOpen));
    show(this.body, this.isOpen);
    if (this.isOpen) this.#load(this.page);
    else this.body.replaceChildren();
  }

  #loadSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const isFilledIn = this.body.querySelector(".wait-form form");
      if (this.isOpen && !this.root.hidden && !isFilledIn) this.#load(this.page);
    }, SETTLE);
  }

  async #load(page) {
    this.page = page;
    const had = this.body.contains(document.activeElement);
    try {
      const list = await part(page);
      this.body.replaceChildren(list);
      if (had) this.toggle.focus();
    } catch (error) {
      this.body.replaceChildren(element("p", { class: "panel-error" }, error.message));
    }
  }

  #click(event) {
    const open = event.target.closest("[data-wait-open]");
    const page = event.target.closest("[data-waits-page]");
    const place = event.target.closest("[data-wait-place]");
    if (!page && !place) {
      if (open) this.#open(open);
      return;
    }
    event.preventDefault();
    if (page) this.#load(page.href);
    else {
      history.replaceState(null, "", place.getAttribute("href"));
      this.on.place();
    }
  }

  async #open(button) {
    const isOpen = button.getAttribute("aria-expanded") !== "true";
    const body = document.getElementById(button.getAttribute("aria-controls"));
    button.setAttribute("aria-expanded", String(isOpen));
    show(body, isOpen);
    body.replaceChildren();
    if (!isOpen) {
      this.#loadSoon();
      return;
    }
    try {
      body.replaceChildren(await part(button.dataset.waitOpen));
      focusForm(body);
    } catch (error) {
      body.replaceChildren(element("p", { class: "panel-error" }, error.message));
    }
  }

  #answered(wait) {
    focusForm(document.getElementById(`wait-${wait}`) ?? this.body);
    this.on.answered();
  }
}

function summary({ open, sleeping }) {
  const answers = open ? plural(open, "answer") : "";
  const sleeps = sleeping ? plural(sleeping, "sleep") : "";
  return [answers, sleeps].filter(Boolean).join(" and ");
}
