// The run page: starts from what the server wrote into it, and joins its parts.

import { Announcer } from "./announce.js";
import { RunApi } from "./api.js";
import { Badge } from "./badge.js";
import { copyText } from "./clipboard.js";
import { find, show, useIcons } from "./dom.js";
import { EmptyState } from "./empty.js";
import { count, words } from "./format.js";
import { RunGrid } from "./grid.js";
import { RowCounts, RunHead } from "./head.js";
import { LogTail } from "./log.js";
import { startMenus } from "./menus.js";
import { Panel, titleOf } from "./panel.js";
import { clearPlace, readPlace, writePlace } from "./permalink.js";
import { isPreview, previewText } from "./rows.js";
import { RunSocket } from "./socket.js";
import { doneRows } from "./states.js";
import { MapTabs } from "./tabs.js";
import { toast } from "./toast.js";
import { ColumnChooser, Toolbar } from "./toolbar.js";
import { TraceView } from "./trace.js";
import { View } from "./view.js";
import { part, serveForms } from "./waitforms.js";
import { WaitList } from "./waits.js";

class RunPage {
  constructor(snapshot) {
    useIcons(snapshot.urls.icons);
    this.snapshot = snapshot;
    this.run = snapshot.run;
    this.frames = snapshot.frames;
    this.frame = null;
    this.grid = null;
    this.api = new RunApi(snapshot.urls.api, snapshot.token);
    this.#makeParts();
    this.log.add(snapshot.logs);
    this.#drawAll();
    this.#openPlace();
    this.view = new View((message) => this.socket.send(message));
    this.socket = new RunSocket(snapshot.urls.socket, {
      message: (message) => this.#hear(message),
      opened: () => this.view.repeat(),
      stands: (state, since) => this.badge.stands(state, since),
    });
  }

  #makeParts() {
    startMenus();
    this.announcer = new Announcer();
    this.badge = new Badge();
    this.head = new RunHead();
    this.empty = new EmptyState();
    this.log = new LogTail(this.api);
    this.trace = new TraceView(this.api);
    this.counts = new RowCounts((state) => this.#chooseStatus(state));
    this.tabs = new MapTabs((id) => this.#choose(id));
    this.chooser = new ColumnChooser(find("columns"));
    this.toolbar = new Toolbar({
      search: (search) => this.grid?.ask({ search }),
      jump: (number) => this.grid?.jump(number),
      clear: () => this.#clear(),
      refresh: () => this.grid?.reload(),
      retry: (rows) => this.#act("retry", { rows, fields: null }),
    });
    this.waits = new WaitList(this.snapshot.urls.waits, {
      place: () => this.#openPlace(),
      answered: () => this.announcer.now("Your answer was sent."),
    });
    this.panel = new Panel(this.api, {
      waitForm: (id) => part(this.snapshot.urls.wait.replace("/0/", `/${id}/`)),
      copy: (text, what) => this.#copy(text, what),
      retry: (rows, fields) => this.#act("retry", { rows, fields }),
      mayRetry: () => this.snapshot.may_act && !this.run.is_live,
      opened: (place) => this.#opened(place),
      closed: () => this.#closed(),
      openRow: ({ frame, row }) => this.panel.open({ frame, row, column: null }),
      openCell: ({ frame, row }, column) => this.panel.open({ frame, row, column }),
    });
    serveForms(find("panel-body"), () => this.announcer.now("Your answer was sent."));
    find("columns-menu").addEventListener("toggle", (event) => {
      if (event.target.open) this.chooser.fill(this.grid.grid, this.grid.arrangement);
    });
    find("main").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.panel.close();
    });
    for (const form of document.querySelectorAll("form[data-run-act]")) {
      form.addEventListener("submit", (event) => this.#submit(event));
    }
  }

  // A message of the socket: whatever it holds is newer than what is shown.
  #hear(message) {
    const wasLive = this.run.is_live;
    if (message.run) this.run = message.run;
    if (message.frames) this.frames = message.frames;
    if (message.logs) this.log.add(message.logs);
    if (message.run || message.frames) this.#drawAll();
    this.trace.changed();
    if (message.rows && this.grid) this.#patch(message.rows);
    this.view.confirm(message.view, message.sequence);
    this.#say(wasLive);
  }

  #patch(patches) {
    const changes = this.grid.patch(patches);
    if (!changes.length) return;
    this.panel.changed(this.frame.id, changes);
    this.toolbar.changed();
  }

  #drawAll() {
    this.frame = this.frames.find((one) => one.id === this.frame?.id) ?? this.frames.at(-1) ?? null;
    this.head.update(this.run, this.frames, this.frame);
    this.badge.draw(this.run.is_live);
    this.waits.update(this.run.waits);
    this.tabs.update(this.frames, this.frame);
    this.empty.update(this.run, this.frame);
    this.#drawGrid();
    if (this.frame) this.counts.update(this.frame, this.grid?.statuses ?? []);
  }

  // The grid is made when its map has its rows, and stays until another map is chosen.
  #drawGrid() {
    const isReady = Boolean(this.frame?.is_sealed && this.frame.total > 0);
    show(find("table"), isReady);
    if (this.grid && (!isReady || this.grid.frame.id !== this.frame.id)) {
      this.grid.destroy();
      this.grid = null;
    }
    if (!isReady) return;
    if (this.grid) this.grid.update(this.frame);
    else this.#makeGrid();
    this.grid.letChoose(this.snapshot.may_act && !this.run.is_live);
  }

  #makeGrid() {
    this.toolbar.forFrame(this.frame);
    this.grid = new RunGrid(find("grid"), this.frame, {
      api: this.api,
      nonce: this.snapshot.nonce,
      on: {
        open: (place) => this.panel.open({ frame: this.frame, ...place }),
        focus: (place) => this.panel.follow({ frame: this.frame, ...place }),
        copy: (place) => this.#copyCell(place),
        counted: (found, total, query) => this.toolbar.counted(found, total, query),
        failed: (error) => toast(error.message, "error"),
        view: (rows, isPlain) => this.view.show(this.frame.id, rows, isPlain),
        chosen: (positions) => this.toolbar.chosen(positions),
      },
    });
  }

  #choose(id) {
    this.panel.close();
    this.frame = this.frames.find((one) => one.id === id);
    this.#drawAll();
  }

  #chooseStatus(state) {
    const chosen = this.grid.statuses;
    const statuses = chosen.includes(state)
      ? chosen.filter((one) => one !== state)
      : [...chosen, state];
    this.grid.ask({ statuses });
    this.counts.update(this.frame, statuses);
  }

  #clear() {
    this.grid?.clear();
    this.counts.update(this.frame, []);
  }

  // What the address names is opened: its map, its row, its cell.
  async #openPlace() {
    const { map, row, column } = readPlace();
    const frame = map === null ? this.frame : this.frames.find((one) => one.id === map);
    if (!frame || row === null || row < 1 || row > frame.total) return;
    if (frame !== this.frame) this.#choose(frame.id);
    const named = frame.columns.find((one) => one.name === column) ?? null;
    this.grid.jump(row, named?.name);
    this.panel.open({ frame, row: { position: row - 1 }, column: named });
  }

  #opened(place) {
    writePlace(place);
    this.grid?.reveal(place);
    this.announcer.now(`${titleOf(place)} is open beside the table.`);
  }

  #closed() {
    clearPlace();
    this.grid?.focusGrid();
  }

  async #copyCell({ row, column }) {
    if (!column) return;
    const value = (row.cells[column.name] ?? { value: row.input[column.name] }).value;
    const isWhole = !isPreview(value) && typeof value !== "number";
    const text = isWhole
      ? previewText(value)
      : (await this.api.cell(this.frame.id, row.position, column.name)).value.text;
    await this.#copy(text, column.name);
  }

  async #copy(text, what) {
    await copyText(text);
    toast(`${what} copied`);
  }

  #submit(event) {
    event.preventDefault();
    const form = event.target;
    form.closest("details")?.removeAttribute("open");
    const { what, without_provider: without } = form.elements;
    const body = what ? { rows: what.value } : without ? { without_provider: without.value } : null;
    this.#act(form.dataset.runAct, body);
  }

  async #act(action, body) {
    try {
      const answer = await this.api.act(action, body);
      if (action === "retry") location.assign(answer.url);
      else this.#hear({ run: answer, frames: answer.frames, sequence: answer.sequence });
    } catch (error) {
      toast(error.message, "error");
    }
  }

  #say(wasLive) {
    if (wasLive && !this.run.is_live) {
      this.announcer.now(`The run is ${words(this.run.status)}.`);
    } else if (this.run.is_live && this.frame) {
      const { rows, total } = this.frame;
      const failed = rows.failed ? `, ${count(rows.failed)} failed` : "";
      this.announcer.soon(`${count(doneRows(rows))} of ${count(total)} rows done${failed}.`);
    }
  }
}

new RunPage(JSON.parse(document.getElementById("run-snapshot").textContent));
