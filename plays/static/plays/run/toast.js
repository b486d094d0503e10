// Short answers to what a person just did.

import { element, find } from "./dom.js";

const SHOWN = 3_500;

export function toast(text, kind = "note") {
  const said = element(
    "p",
    { class: `toast toast-${kind}`, role: kind === "error" ? "alert" : "status" },
    text,
  );
  find("toasts").append(said);
  setTimeout(() => said.remove(), kind === "error" ? 2 * SHOWN : SHOWN);
}
