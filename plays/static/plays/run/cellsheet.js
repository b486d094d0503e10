// The contents of the panel for one cell.

import { button, element, icon } from "./dom.js";
import { amount, capital, fault, indented, milliseconds, moment, plural, size, words } from "./format.js";
import { cellWord } from "./states.js";
import { waitsPart } from "./waitsheet.js";

const SHOWN = 20_000;
const JSON_KINDS = new Set(["object", "array"]);
const LINK = /^https?:\/\/[^\s]+$/i;

export function cellSheet(cell, place, on) {
  return [
    element("p", { class: "panel-place" }, `Row ${cell.position + 1}`),
    valuePart(cell, on),
    statePart(cell.state),
    waitsPart(cell.waits, on),
    attemptsPart(cell.attempts),
    actionsPart(cell, place, on),
  ].filter(Boolean);
}

function valuePart({ value }, on) {
  if (value.kind === "none" || value.kind === "null" || value.text === "") {
    return element("p", { class: "panel-nothing" }, "No value");
  }
  const copy = button("Copy", { onclick: () => on.copy(value.text, "Value"), id: "copy-value" });
  return element("section", { class: "panel-value" }, [
    valueText(value),
    element("div", { class: "panel-value-end" }, [
      element("span", { class: "muted" }, `${value.kind}, ${size(value.text.length)}`),
      copy,
    ]),
  ]);
}

// A long value is shown from its beginning; the rest is one press away and always in the copy.
function valueText({ kind, text }) {
  if (kind === "string" && LINK.test(text)) {
    const link = { href: text, rel: "noopener noreferrer nofollow", target: "_blank" };
    return element("p", { class: "panel-text" }, element("a", link, text));
  }
  const whole = JSON_KINDS.has(kind) ? indented(text) : text;
  return long(whole, JSON_KINDS.has(kind) ? "pre" : "p");
}

function long(text, tag) {
  const shown = element(tag, { class: "panel-text", tabindex: "0" }, text.slice(0, SHOWN));
  if (text.length <= SHOWN) return shown;
  const more = button(`Show all ${size(text.length)}`, {
    onclick: () => {
      shown.textContent = text;
      more.remove();
    },
  });
  return element("div", {}, shown, more);
}

function statePart(state) {
  if (!state.status) return null;
  const facts = [
    state.provider && `by ${state.provider}`,
    state.at && state.status !== "waiting" && moment(state.at * 1000),
    state.partial && "partial: fewer results than asked for",
  ].filter(Boolean);
  return element("section", { class: "panel-state" }, [
    element(
      "p",
      {},
      element(
        "span",
        { class: `chip chip-${state.status}` },
        icon(state.status),
        capital(cellWord(state.status)),
      ),
      element("span", { class: "muted" }, facts.join(" · ")),
    ),
    state.error &&
      element("p", { class: "panel-error" }, fault(state.error)),
    state.reason && element("p", { class: "panel-reason" }, state.reason),
  ]);
}

function attemptsPart(attempts) {
  if (!attempts.length) return null;
  return element("section", {}, [
    element("h3", {}, plural(attempts.length, "attempt")),
    element("ol", { class: "attempts" }, attempts.map(attemptItem)),
  ]);
}

const MARKS = { completed: "completed", no_result: "missed", failed: "failed" };

function attemptItem(attempt, index) {
  const { ledger } = attempt;
  return element("li", { class: `attempt attempt-${attempt.status}` }, [
    element("div", { class: "attempt-head" }, [
      icon(MARKS[attempt.status] ?? attempt.status),
      element("strong", {}, attempt.provider || attempt.step || attempt.tool || "code"),
      element("span", { class: "muted" }, attempt.tool && attempt.provider ? attempt.tool : ""),
      element("span", { class: "attempt-status" }, words(attempt.status)),
    ]),
    element("p", { class: "attempt-facts" }, attemptFacts(attempt).join(" · ")),
    attempt.error && element("p", { class: "panel-error" }, attempt.error),
    ledger && raw(`answer-${index}`, "Raw answer", ledger.result || errorText(ledger.error)),
    ledger && raw(`input-${index}`, "What was asked", ledger.input),
  ]);
}

function attemptFacts({ ledger, source, credits, category }) {
  const isFromLedger = source === "ledger" || source === "cache";
  return [
    ledger?.started_at && moment(ledger.started_at),
    ledger?.latency_ms != null && milliseconds(ledger.latency_ms),
    ledger && ledger.batch_size > 1 && `in a batch of ${ledger.batch_size}`,
    ledger && ledger.attempts > 1 && plural(ledger.attempts, "request"),
    category && words(category),
    isFromLedger ? "known already, not paid again" : creditsText(credits ?? ledger?.credits),
  ].filter(Boolean);
}

const creditsText = (credits) => (credits == null ? "" : `${amount(credits)} credits`);

const errorText = (error) => (error ? JSON.stringify(error) : "");

function raw(id, label, text) {
  if (!text) return null;
  return element("details", { id }, element("summary", {}, label), long(indented(text), "pre"));
}

function actionsPart(cell, place, on) {
  return element("div", { class: "panel-actions" }, [
    button("Whole row", { onclick: () => on.openRow(place), id: "open-row" }),
    on.mayRetry() && cell.kind !== "input" && cell.kind !== "part"
      ? button("Retry this cell", {
          onclick: () => on.retry([cell.position], [cell.column]),
          id: "retry-cell",
        })
      : null,
  ]);
}
