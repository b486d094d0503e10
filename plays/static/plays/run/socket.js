// The connection to the run. Connects again by itself, and says how it stands: "connecting",
// "live", "reconnecting", "stale" (with the moment since when) or "refused".

const FIRST_WAIT = 400;
const LONGEST_WAIT = 10_000;
const STALE_AFTER = 8_000;
const NOT_FOUND = 4404;

export class RunSocket {
  #address;
  #handlers;
  #socket = null;
  #waits = 0;
  #isLive = false;
  #lostAt = null;
  #staleTimer = 0;

  // handlers: message(message), opened(), stands(state, since)
  constructor(path, handlers) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.#address = `${scheme}//${location.host}${path}`;
    this.#handlers = handlers;
    addEventListener("online", () => this.#connectNow());
    this.#connect();
  }

  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #connect() {
    const socket = new WebSocket(this.#address);
    this.#socket = socket;
    socket.addEventListener("message", (event) => this.#hear(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => this.#lose(socket, event.code));
  }

  #connectNow() {
    if (this.#socket.readyState === WebSocket.CLOSED) this.#connect();
  }

  // Live only with the first message: a socket is opened for strangers too, and closed at once.
  #hear(message) {
    const isFirst = !this.#isLive;
    if (isFirst) {
      this.#isLive = true;
      this.#waits = 0;
      this.#lostAt = null;
      clearTimeout(this.#staleTimer);
      this.#handlers.stands("live");
    }
    this.#handlers.message(message);
    if (isFirst) this.#handlers.opened();
  }

  #lose(socket, code) {
    if (socket !== this.#socket) return;
    this.#isLive = false;
    if (code === NOT_FOUND) {
      this.#handlers.stands("refused");
      return;
    }
    if (this.#lostAt === null) {
      this.#lostAt = Date.now();
      this.#handlers.stands("reconnecting", this.#lostAt);
      this.#staleTimer = setTimeout(
        () => this.#handlers.stands("stale", this.#lostAt),
        STALE_AFTER,
      );
    }
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#waits++);
    setTimeout(() => this.#connectNow(), wait * (0.5 + Math.random() / 2));
  }
}
