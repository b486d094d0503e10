// The forms of waits, wherever they stand on the page: opening, answering, handing on to somebody outside.
// Their HTML is the server's own templates, which escape whatever comes from a run.

import { copyText } from "./clipboard.js";
import { moment } from "./format.js";
import { toast } from "./toast.js";

const LOST = "The server cannot be reached now.";

// Gives the element that a part of a page consists of; a refusal is thrown with a sentence.
export async function part(address, options = {}) {
  const answer = await fetch(address, options).catch(() => {
    throw new Error(LOST);
  });
  const isForm = answer.ok || answer.status === 409 || answer.status === 422;
  if (!isForm || answer.redirected) throw new Error(sentence(answer));
  const made = document.createRange().createContextualFragment(await answer.text());
  for (const time of made.querySelectorAll("time[data-local]")) {
    time.textContent = moment(time.dateTime);
  }
  return made;
}

function sentence(answer) {
  if (answer.redirected) return "You are signed out: sign in again and reload this page.";
  if (answer.status === 404) return "This is not there any more, or you may not see it.";
  return `The server answered with an error (${answer.status}).`;
}

// Lets the forms below an element be answered in the page; answered() is told after each answer.
export function serveForms(root, answered) {
  root.addEventListener("submit", (event) => {
    if (!event.target.dataset.waitAnswer) return;
    event.preventDefault();
    send(event.target, event.submitter, answered);
  });
  root.addEventListener("click", (event) => {
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    copyText(copy.dataset.copy).then(() => toast(`${copy.dataset.copied} copied`));
  });
}

async function send(form, submitter, answered) {
  const place = form.closest(".wait-form");
  const body = new FormData(form, submitter);
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    place.replaceWith(await part(form.dataset.waitAnswer, { method: "POST", body }));
    answered(place.dataset.wait);
  } catch (error) {
    for (const button of form.querySelectorAll("button")) button.disabled = false;
    toast(error.message, "error");
  }
}

// Brings the focus to where a person goes on: a field that is wrong, else the first, else what is said.
export function focusForm(root) {
  const field = root.querySelector(
    "[aria-invalid=true], .wait-form :is(input, select, textarea, button):not([type=hidden])",
  );
  const target = field ?? root.querySelector(".note");
  if (!target) return;
  if (!field) target.tabIndex = -1;
  target.focus();
}
