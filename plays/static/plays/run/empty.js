// What the page says where there is no grid to show, and what to do next.

import { element, find, icon, show } from "./dom.js";
import { indented } from "./format.js";

export class EmptyState {
  constructor() {
    this.root = find("empty");
    this.shown = "";
  }

  update(run, frame) {
    const told = frame?.is_sealed && frame.total > 0 ? null : emptyState(run, frame);
    show(this.root, told !== null);
    const key = JSON.stringify(told);
    if (told === null || key === this.shown) return;
    this.shown = key;
    this.root.replaceChildren(
      icon(told.mark),
      element("h2", {}, told.title),
      ...told.text.map((text) => element("p", {}, text)),
      told.value ? element("pre", { class: "run-value", tabindex: "0" }, told.value) : "",
    );
  }
}

function emptyState(run, frame) {
  if (frame) return frame.is_sealed ? noRows() : loadingRows(frame, run);
  return withoutMaps[run.status]?.(run) ?? ended(run);
}

const noRows = () => ({
  mark: "table",
  title: "This table has no rows",
  text: ["Nothing came in, so there was nothing to do. Look at the file or at the table before."],
});

function loadingRows(frame, run) {
  if (!run.is_live) return ended(run);
  return {
    mark: "running",
    title: `Loading the rows of ${frame.title}`,
    text: ["They start when all are in."],
  };
}

const withoutMaps = {
  queued: () => ({
    mark: "queued",
    title: "Waiting for a worker",
    text: [
      "The run starts as soon as a worker is free; this page then fills by itself.",
      "If nothing happens for a while, ask an administrator whether workers are running.",
    ],
  }),
  running: () => ({
    mark: "running",
    title: "Running",
    text: ["The play has not opened a table yet. Its log, below, says what it does."],
  }),
  waiting: () => ({
    mark: "waiting",
    title: "Waiting",
    text: ["The play waits before its first table; it goes on by itself."],
  }),
  paused: () => ({ mark: "paused", title: "Paused", text: ["Resume to go on."] }),
};

function ended(run) {
  if (run.status === "failed") {
    return {
      mark: "failed",
      title: "The run failed before it had a table",
      text: ["Why is said above; its log, below, may say more."],
    };
  }
  if (run.status === "cancelled") {
    return { mark: "cancelled", title: "Cancelled before it had a table", text: [] };
  }
  if (run.result?.kind === "csv") {
    return {
      mark: "file",
      title: "The play returned the file that it read",
      text: ["Download it above."],
    };
  }
  const text = run.result?.kind === "value" ? run.result.text : "";
  return {
    mark: "completed",
    title: text ? "The play returned a value" : "The run made no table",
    text: [],
    value: text && indented(text),
  };
}
