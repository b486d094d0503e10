// One tab per map of the run, in the order in which they were opened.

import { element, find, setText, show } from "./dom.js";
import { count } from "./format.js";

export class MapTabs {
  constructor(onChoose) {
    this.root = find("tabs");
    this.tabs = new Map();
    this.onChoose = onChoose;
    this.root.addEventListener("keydown", (event) => this.#key(event));
  }

  update(frames, chosen) {
    show(this.root, frames.length > 1);
    for (const frame of frames) {
      const tab = this.tabs.get(frame.id) ?? this.#make(frame);
      setText(tab.number, count(frame.total));
      const isChosen = frame.id === chosen?.id;
      tab.button.setAttribute("aria-selected", String(isChosen));
      tab.button.tabIndex = isChosen ? 0 : -1;
    }
  }

  #make(frame) {
    const number = element("span", { class: "tab-count" });
    const button = element(
      "button",
      {
        type: "button",
        role: "tab",
        class: "tab",
        onclick: () => this.onChoose(frame.id),
        title: frame.description,
      },
      frame.title,
      number,
    );
    this.root.append(button);
    const made = { button, number };
    this.tabs.set(frame.id, made);
    return made;
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const buttons = [...this.root.children];
    const at = buttons.indexOf(document.activeElement);
    if (!step || at < 0) return;
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  }
}
