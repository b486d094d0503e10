// How fast rows get done, over the last minute of running, and how long the rest will take.

import { count, span } from "./format.js";

const WINDOW = 60_000;

export class Pace {
  #samples = [];
  #frame = null;
  #total = 0;

  // A run that stands still is not slow: what was measured before is forgotten.
  add(frame, done, total, isRunning) {
    if (frame !== this.#frame || !isRunning) this.#samples = [];
    if (!isRunning) return;
    this.#frame = frame;
    this.#total = total;
    const now = performance.now();
    this.#samples.push({ at: now, done });
    while (this.#samples.length > 2 && this.#samples[1].at < now - WINDOW) this.#samples.shift();
  }

  speed() {
    const rate = this.#perSecond();
    if (rate === null) return "–";
    return rate >= 1
      ? `${count(Math.round(rate))} rows/s`
      : `${count(Math.round(rate * 60))} rows/min`;
  }

  left() {
    const rate = this.#perSecond();
    if (!rate) return "–";
    return span((this.#total - this.#samples.at(-1).done) / rate);
  }

  // Null until there is something to measure. Silence counts as time that passed.
  #perSecond() {
    const first = this.#samples[0];
    if (this.#samples.length < 2) return null;
    const seconds = (performance.now() - first.at) / 1000;
    return seconds < 1 ? null : (this.#samples.at(-1).done - first.done) / seconds;
  }
}
