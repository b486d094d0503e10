// Says what happens to people who do not see it: politely, and seldom enough to be listened to.

import { find } from "./dom.js";

const REST = 10_000;

export class Announcer {
  #region = find("announcer");
  #last = 0;
  #timer = 0;
  #text = "";

  // Said at once: a person waits for it.
  now(text) {
    clearTimeout(this.#timer);
    this.#say(text);
  }

  // Said when ten seconds have passed since the last; only the newest counts.
  soon(text) {
    this.#text = text;
    clearTimeout(this.#timer);
    const wait = Math.max(0, this.#last + REST - Date.now());
    this.#timer = setTimeout(() => this.#say(this.#text), wait);
  }

  #say(text) {
    if (this.#region.textContent === text) return;
    this.#region.textContent = text;
    this.#last = Date.now();
  }
}
