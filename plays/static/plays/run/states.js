// The states of cells and rows: their words, and the order in which counts and bars show them.

import { words } from "./format.js";

const CELL_WORDS = {
  completed: "found",
  cached: "reused",
  manual: "edited",
  missed: "not found",
  skipped: "skipped",
  failed: "failed",
  cancelled: "cancelled",
  running: "running",
  waiting: "waiting",
  queued: "queued",
  not_started: "not started",
};

export const CELL_STATES = Object.keys(CELL_WORDS);
export const ROW_STATES = ["completed", "failed", "cancelled", "running", "waiting", "pending"];

const DONE_ROWS = ["completed", "failed", "cancelled"];

export const cellWord = (state) => CELL_WORDS[state] ?? words(state);

export const doneRows = (counts) => DONE_ROWS.reduce((sum, name) => sum + (counts[name] ?? 0), 0);

export const foundCells = (counts) =>
  (counts.completed ?? 0) + (counts.cached ?? 0) + (counts.manual ?? 0);
