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
      if (this.isOpen && !this.root.hidden && !this.#isFilledIn) this.#load(this.page, true);
    }, SETTLE);
  }

  get #isFilledIn() {
    return this.body.querySelector(".wait-form form, [aria-busy=true]") !== null;
  }

  // A reload that nobody asked for gives way to a form opened meanwhile, and to any later load.
  async #load(page, isReload = false) {
    this.page = page;
    const number = (this.loads = (this.loads ?? 0) + 1);
    const list = await part(page).catch(failure);
    if (number !== this.loads || (isReload && this.#isFilledIn)) return;
    const had = this.body.contains(document.activeElement);
    this.body.replaceChildren(list);
    if (had) this.toggle.focus();
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
    body.setAttribute("aria-busy", "true");
    body.replaceChildren(await part(button.dataset.waitOpen).catch(failure));
    body.removeAttribute("aria-busy");
    focusForm(body);
  }

  #answered(wait) {
    focusForm(document.getElementById(`wait-${wait}`) ?? this.body);
    this.on.answered();
  }
}

function failure(error) {
  return element("p", { class: "panel-error" }, error.message);
}

function summary({ open, sleeping }) {
  const answers = open ? plural(open, "answer") : "";
  const sleeps = sleeping ? plural(sleeping, "sleep") : "";
  return [answers, sleeps].filter(Boolean).join(" and ");
}
