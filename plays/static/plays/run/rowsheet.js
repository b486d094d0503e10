// The contents of the panel for one row.

import { button, element, icon } from "./dom.js";
import { capital } from "./format.js";
import { cellOf } from "./rows.js";
import { shownText } from "./cells.js";
import { waitsPart } from "./waitsheet.js";

export function rowSheet(row, place, on) {
  return [
    statusPart(row),
    waitsPart(row.waits, on),
    element(
      "dl",
      { class: "row-values" },
      place.frame.columns.map((column) => {
        return valueItem(row, column, place, on);
      }),
    ),
    hiddenPart(row.hidden),
    element("p", { class: "panel-key muted" }, "Row key ", element("code", {}, row.key)),
    actionsPart(row, place, on),
  ].filter(Boolean);
}

function statusPart(row) {
  return element(
    "p",
    { class: "panel-place" },
    element("span", { class: `chip chip-${row.status}` }, icon(row.status), capital(row.status)),
  );
}

function valueItem(row, column, place, on) {
  const cell = cellOf(row, column);
  const open = () => on.openCell(place, column);
  const name = element(
    "button",
    { type: "button", class: "row-value-name", onclick: open, id: `value-${column.name}` },
    column.name,
  );
  return element("div", { class: `row-value cell-${cell?.status || "plain"}` }, [
    element("dt", {}, name),
    element("dd", {}, cell?.status ? icon(cell.status) : null, cell ? shownText(cell) : ""),
  ]);
}

function hiddenPart(hidden) {
  const names = Object.keys(hidden);
  if (!names.length) return null;
  return element("details", { id: "hidden-values" }, [
    element("summary", {}, "Hidden values"),
    element(
      "dl",
      { class: "row-values" },
      names.map((name) => {
        return element("div", { class: "row-value" }, [
          element("dt", {}, name),
          element("dd", {}, hidden[name]),
        ]);
      }),
    ),
  ]);
}

function actionsPart(row, place, on) {
  return element("div", { class: "panel-actions" }, [
    button("Copy as JSON", { onclick: () => on.copy(row.json, "Row"), id: "copy-json" }),
    button("Copy link", { onclick: () => on.copy(location.href, "Link"), id: "copy-link" }),
    on.mayRetry()
      ? button("Retry this row", { onclick: () => on.retry([row.position], null), id: "retry-row" })
      : null,
  ]);
}
