// The head of the page: status, counts that add up, speed, spending, and which actions make sense.

import { describe, drawBar } from "./columnhead.js";
import { element, find, icon, setText, show } from "./dom.js";
import { amount, capital, count, fault, span, words } from "./format.js";
import { Pace } from "./pace.js";
import { doneRows, ROW_STATES } from "./states.js";

const ASKED = { pause: "pausing", cancel: "cancelling" };
const GAUGES = { credits: "credits", tool_calls: "tool-calls" };

export class RunHead {
  constructor() {
    this.pace = new Pace();
    this.chip = find("status");
    this.bar = find("bar");
    setInterval(() => this.#tick(), 1000);
  }

  update(run, frames, frame) {
    this.run = run;
    this.#status(run);
    this.#note(run);
    show(find("isolation"), run.isolation !== "");
    setText(find("isolation-text"), `Isolation: ${run.isolation}`);
    for (const gauge of run.gauges) this.#gauge(gauge);
    this.#actions(run, frames);
    this.#leftOut(run);
    this.#downloads(run, frames, frame);
    if (frame) this.#rows(frame);
    this.#tick();
  }

  #status(run) {
    const asked = run.status === "running" ? ASKED[run.requested] : undefined;
    const word = capital(words(asked ?? run.status));
    if (this.word === word) return;
    this.word = word;
    this.chip.className = `chip chip-${run.status}`;
    this.chip.replaceChildren(icon(run.status), word);
  }

  #note(run) {
    const sentence = run.stop_message || (run.status === "failed" && run.error && fault(run.error)) || "";
    const note = find("note");
    show(note, sentence !== "");
    const tone = { failed: "note-error", waiting: "" }[run.status] ?? "note-warning";
    note.className = `note ${tone} run-note`;
    setText(find("note-text"), capital(sentence));
  }

  #gauge({ name, used, limit }) {
    const part = GAUGES[name];
    if (!part) return;
    setText(find(part), amount(used));
    setText(find(`${part}-limit`), limit === null ? "" : `of ${amount(limit)}`);
    const meter = find(`${part}-meter`);
    show(meter, limit !== null);
    if (limit !== null) {
      meter.max = limit || 1;
      meter.value = used;
      meter.title = `${amount(used)} of ${amount(limit)}`;
    }
  }

  #rows(frame) {
    const done = doneRows(frame.rows);
    setText(find("rows-done"), count(done));
    setText(find("rows-total"), `of ${count(frame.total)}`);
    drawBar(this.bar, frame.rows, ROW_STATES);
    this.bar.setAttribute("aria-label", describe(frame.rows, ROW_STATES, words));
    this.pace.add(frame.id, done, frame.total, this.run.status === "running");
  }

  // Time passes without news as well.
  #tick() {
    const { run } = this;
    if (!run) return;
    const isRunning = run.status === "running";
    setText(find("speed"), isRunning ? this.pace.speed() : "–");
    setText(find("left"), isRunning ? this.pace.left() : "–");
    const end = run.finished_at ? new Date(run.finished_at) : new Date();
    setText(find("elapsed"), run.started_at ? span((end - new Date(run.started_at)) / 1000) : "–");
  }

  #leftOut(run) {
    show(find("left-out"), run.left_out.length > 0);
    setText(find("left-out-names"), `Without ${run.left_out.join(", ")}`);
    const field = find("without-provider");
    if (!field) return;
    field.value = run.stopped_by;
    setText(find("without-name"), run.stopped_by);
  }

  // The table of the chosen tab; of a run with one map, or in the tab of its result, the result.
  #downloads(run, frames, frame) {
    const isOther = frames.length > 1 && frame.id !== run.result?.frame;
    for (const name of ["download", "download-excel"]) {
      const link = find(name);
      const address = new URL(link.href);
      if (isOther) address.searchParams.set("frame", frame.id);
      else address.searchParams.delete("frame");
      if (link.href !== address.href) link.href = address.href;
    }
  }

  #actions(run, frames) {
    const failed = frames.reduce((sum, frame) => sum + (frame.rows.failed ?? 0), 0);
    const may = { ...run.may, download: frames.length > 0 || run.result?.kind === "csv" };
    for (const [name, isPossible] of Object.entries(may)) {
      for (const part of document.querySelectorAll(`[data-run-action="${name}"]`)) {
        show(part, isPossible);
      }
    }
    const retryFailed = find("retry-failed");
    if (retryFailed) {
      show(retryFailed, run.may.retry && failed > 0);
      setText(find("retry-failed-count"), count(failed));
    }
  }
}

// The counts of a map's rows as buttons that filter by them; together they are the total.
export class RowCounts {
  constructor(onChoose) {
    this.root = find("counts");
    this.buttons = new Map();
    this.onChoose = onChoose;
  }

  update(frame, chosen) {
    for (const state of ROW_STATES) this.#one(state, frame.rows[state] ?? 0, chosen);
  }

  #one(state, number, chosen) {
    const one = this.buttons.get(state) ?? this.#make(state);
    show(one.button, number > 0 || chosen.includes(state));
    setText(one.number, count(number));
    one.button.setAttribute("aria-pressed", String(chosen.includes(state)));
  }

  #make(state) {
    const number = element("b", {});
    const press = {
      type: "button",
      class: `count count-${state}`,
      title: words(state),
      onclick: () => this.onChoose(state),
    };
    const word = element("span", { class: "count-word" }, words(state));
    const button = element("button", press, icon(state), number, word);
    this.root.append(button);
    const made = { button, number };
    this.buttons.set(state, made);
    return made;
  }
}
