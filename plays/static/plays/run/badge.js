// How the page stands to the server: live, connecting again, or stale since a moment.

import { find, setText, show } from "./dom.js";
import { clock } from "./format.js";

export class Badge {
  constructor() {
    this.root = find("badge");
    this.state = "connecting";
    this.since = null;
  }

  stands(state, since = null) {
    this.state = state;
    this.since = since;
    this.draw(this.isLive);
  }

  // A run that is over does not change any more: being connected to it says nothing.
  draw(isLive) {
    this.isLive = isLive;
    const words = {
      connecting: "Connecting",
      live: "Live",
      reconnecting: "Reconnecting",
      stale: `Stale since ${clock(this.since ?? Date.now())}`,
      refused: "Signed out, or no access any more: reload the page",
    };
    show(this.root, isLive || this.state === "refused" || this.state === "stale");
    this.root.className = `badge badge-${this.state}`;
    setText(this.root, words[this.state]);
  }
}
