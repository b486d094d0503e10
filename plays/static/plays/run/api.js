// Requests to the REST API. A refusal is thrown with the server's own sentence.

export class Refused extends Error {}

export class RunApi {
  #base;
  #token;

  constructor(base, token) {
    this.#base = base;
    this.#token = token;
  }

  rows(frame, first, count, query) {
    const asked = new URLSearchParams({ first, count });
    if (query) asked.set("query", JSON.stringify(query));
    return this.#ask(`/frames/${frame}/rows?${asked}`);
  }

  row(frame, position) {
    return this.#ask(`/frames/${frame}/rows/${position}`);
  }

  cell(frame, position, column) {
    const asked = new URLSearchParams({ column });
    return this.#ask(`/frames/${frame}/rows/${position}/cell?${asked}`);
  }

  log(before) {
    return this.#ask(`/log?${new URLSearchParams({ before })}`);
  }

  trace() {
    return this.#ask("/trace");
  }

  act(action, body) {
    return this.#ask(`/${action}`, {
      method: "POST",
      headers: { "X-CSRFToken": this.#token, "Content-Type": "application/json" },
      body: body ? JSON.stringify(body) : undefined,
    });
  }

  async #ask(path, options = {}) {
    const answer = await fetch(this.#base + path, options).catch(() => {
      throw new Refused("The server cannot be reached now.");
    });
    const told = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Refused(sentence(answer.status, told));
    return told;
  }
}

function sentence(status, told) {
  if (typeof told.detail === "string" && status !== 404) return told.detail;
  if (status === 401) return "You are signed out: sign in again and reload this page.";
  if (status === 404) return "This is not there any more, or you may not see it.";
  return `The server answered with an error (${status}).`;
}
