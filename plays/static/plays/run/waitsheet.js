// The part of the panel that tells what a row or cell waits for, with the form to answer in.

import { element } from "./dom.js";
import { moment } from "./format.js";

export function waitsPart(waits, on) {
  if (!waits.length) return null;
  return element(
    "ul",
    { class: "panel-waits", "aria-label": "Waiting for" },
    waits.map((wait) => waitItem(wait, on)),
  );
}

function waitItem(wait, on) {
  const what = wait.message || (wait.event ? `Waits for ${wait.event}` : "Sleeps");
  return element("li", {}, [
    element("p", { class: "wait-message" }, what),
    element("p", { class: "muted" }, `until ${moment(wait.due_at)} at the latest`),
    wait.event && on.waitForm(wait.id),
  ]);
}
