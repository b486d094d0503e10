// The run's trace as a tree of steps; a step shows its first results once it is opened.

import { element, find, icon, setText, show } from "./dom.js";
import { count, plural, words } from "./format.js";

const PAUSE = 2_000;
const EMPTY = "Nothing yet: steps appear here as the play begins them.";
const STATES = ["completed", "missed", "failed", "skipped"];
const MARKS = {
  map: "table",
  waterfall: "waterfall",
  part: "tool",
  tool: "tool",
  play_call: "play",
  step: "code",
  fetch: "arrow-right",
  sleep: "waiting",
  wait: "waiting",
  return: "output",
};

export class TraceView {
  #api;
  #isOpen = false;
  #isAsking = false;
  #isOld = false;
  #opened = new Set();
  #shown = "";

  constructor(api) {
    this.#api = api;
    this.toggle = find("trace-toggle");
    this.toggle.addEventListener("click", () => this.#toggle());
  }

  // The run has news: an open trace is read again, at most once in a while.
  changed() {
    this.#isOld = true;
    this.#load();
  }

  #toggle() {
    this.#isOpen = !this.#isOpen;
    this.toggle.setAttribute("aria-expanded", String(this.#isOpen));
    show(find("trace-body"), this.#isOpen);
    this.#isOld = true;
    this.#load();
  }

  async #load() {
    if (!this.#isOpen || this.#isAsking || !this.#isOld) return;
    this.#isAsking = true;
    this.#isOld = false;
    try {
      this.#draw(await this.#api.trace());
    } catch (error) {
      this.#say(error.message);
    }
    setTimeout(() => {
      this.#isAsking = false;
      this.#load();
    }, PAUSE);
  }

  #say(sentence) {
    show(find("trace-empty"), sentence !== "");
    setText(find("trace-empty"), sentence);
  }

  // Drawn anew only where it differs; what has the focus keeps it.
  #draw(steps) {
    this.#say(steps.length ? "" : EMPTY);
    const told = JSON.stringify(steps);
    if (told === this.#shown) return;
    this.#shown = told;
    const list = find("trace-steps");
    const focused = list.contains(document.activeElement)
      ? document.activeElement.closest("details")?.dataset.key
      : null;
    list.replaceChildren(...steps.map((step) => this.#step(step)));
    if (focused) list.querySelector(`details[data-key="${focused}"] > summary`)?.focus();
  }

  #step(step) {
    const details = element(
      "details",
      { "data-key": step.key, open: this.#opened.has(step.key) },
      element("summary", {}, headOf(step)),
    );
    if (details.open) details.append(...this.#inside(step));
    details.addEventListener("toggle", () => this.#open(details, step));
    return element("li", {}, details);
  }

  #open(details, step) {
    if (details.open) this.#opened.add(step.key);
    else this.#opened.delete(step.key);
    if (details.open && details.children.length === 1) details.append(...this.#inside(step));
  }

  #inside(step) {
    return [
      step.facts.description ? element("p", {}, step.facts.description) : "",
      step.facts.error ? element("p", { class: "trace-error" }, step.facts.error) : "",
      step.steps.length
        ? element("ol", { class: "trace-steps" }, step.steps.map((below) => this.#step(below)))
        : "",
      step.results.length ? resultsTable(step) : "",
      step.steps.length || step.results.length ? "" : element("p", {}, "Nothing asked below it."),
    ].filter(Boolean);
  }
}

function headOf(step) {
  const counts = STATES.filter((status) => step.counts[status]).map((status) =>
    element("span", { class: `trace-count trace-${status}` }, [
      icon(status),
      `${count(step.counts[status])} ${status}`,
    ]),
  );
  return [
    icon(MARKS[step.kind] ?? "steps"),
    element("b", {}, nameOf(step)),
    element("span", { class: "trace-kind" }, aboutOf(step)),
    element("span", { class: "trace-counts" }, counts),
  ];
}

function nameOf({ kind, facts }) {
  if (kind === "return") return `Returned ${plural(facts.rows, "row")}`;
  return facts.title ?? facts.id ?? facts.tool ?? facts.play ?? words(kind);
}

function aboutOf({ kind, facts }) {
  const about = {
    map: () => `map of ${plural(facts.items ?? 0, "row")}${facts.status ? "" : ", not over yet"}`,
    part: () => facts.tool ?? "code",
    play_call: () => "child play",
    waterfall: () =>
      facts.min_results > 1 ? `waterfall, ${facts.min_results} results` : "waterfall",
    return: () => "",
  };
  return about[kind]?.() ?? words(kind);
}

function resultsTable(step) {
  const total = Object.values(step.counts).reduce((sum, number) => sum + number, 0);
  const names = ["Row", "Status", "Value", "Provider", "Error"];
  return element("div", { class: "trace-results" }, [
    element("table", {}, [
      element("caption", {}, `The first ${count(step.results.length)} of ${count(total)}`),
      element("thead", {}, element("tr", {}, names.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, step.results.map(resultRow)),
    ]),
  ]);
}

function resultRow(result) {
  const { row, status, value, provider, error } = result;
  return element("tr", {}, [
    element("td", {}, row === null ? "–" : count(row)),
    element("td", { class: `trace-${status}` }, [icon(status), words(status)]),
    element("td", { class: "trace-value" }, value ?? "–"),
    element("td", {}, provider || "–"),
    element("td", {}, error || "–"),
  ]);
}
