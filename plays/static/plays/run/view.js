// Which rows the window shows, and up to which sequence each is known to be right.
//
// Rows in view are told of every change. A row that leaves the view is known up to that moment;
// when it comes back, the server is asked for what changed since.

export class View {
  #send;
  #number = 0;
  #rows = [];
  #frame = null;
  #isPlain = true;
  #confirmed = null;
  #key = "";

  constructor(send) {
    this.#send = send;
  }

  // The window now shows these rows of a map; `isPlain` where they stand in input order.
  show(frame, rows, isPlain) {
    const key = `${frame}:${rows.map((row) => row.position).join()}`;
    if (key === this.#key || rows.length === 0) return;
    this.#settle();
    this.#key = key;
    this.#frame = frame;
    this.#rows = rows;
    this.#isPlain = isPlain;
    this.#tell();
  }

  // A new connection knows nothing of this window yet.
  repeat() {
    this.#settle();
    if (this.#rows.length) this.#tell();
  }

  // A message speaks for all rows of the view whose number it carries.
  confirm(number, sequence) {
    if (number === this.#number && this.#rows.length) this.#confirmed = sequence;
  }

  #settle() {
    if (this.#confirmed !== null) {
      for (const row of this.#rows) row.fresh = Math.max(row.fresh, this.#confirmed);
    }
    this.#confirmed = null;
  }

  #tell() {
    const positions = this.#rows.map((row) => row.position);
    const since = Math.min(...this.#rows.map((row) => row.fresh));
    const place = this.#isPlain
      ? { first: positions[0], last: positions.at(-1) }
      : { rows: positions.slice(0, 500) };
    this.#number += 1;
    this.#send({ type: "view", view: this.#number, frame: this.#frame, since, ...place });
  }
}
