"""What lasts when an engine dies: runs, frames, rows, entries, receipts and boundaries, in memory.

A test kills an engine and gives the same ``MemoryStore`` to the next one; the ports in this
package are how an engine reaches it. A store stands for one workspace and one play.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from runtime.errors import HostFailed
from runtime.events import UNFINISHED_CELL, CellStatus, RowStatus
from runtime.ports import BoundaryState, Cell, FrameForm, LogLine, TraceChange

Json = Any

Place = tuple[int | None, int | None]
"""The frame and position that a checkpoint entry belongs to; both None outside of maps."""


@dataclass(slots=True)
class MemoryRow:
    """One row; each cell carries the ``sequence`` of its last change."""

    position: int
    key: str
    input: dict[str, Json]
    values: dict[str, Json] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    status: str = RowStatus.PENDING
    sequence: int = 0
    wake_at: float | None = None


@dataclass(slots=True)
class MemoryFrame:
    """One map of a run; ``rows`` by position, ``dropped`` counts those no longer kept."""

    id: int
    run: str
    form: FrameForm
    sealed: bool = False
    rows: dict[int, MemoryRow] = field(default_factory=dict)
    pending: list[int] = field(default_factory=list)
    total: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def set_status(self, row: MemoryRow, status: str) -> None:
        """Change a row's status and keep the heap of pending positions true."""
        if status == RowStatus.PENDING and row.status != RowStatus.PENDING:
            heapq.heappush(self.pending, row.position)
        row.status = status

    def waiting(self) -> list[MemoryRow]:
        """Give the rows that wait, the first to wake first."""
        rows = [row for row in self.rows.values() if row.status == RowStatus.WAITING]
        return sorted(rows, key=lambda row: row.wake_at or 0.0)

    def add_part(self, field_name: str, part: str) -> None:
        """Note that a column shows a step of this field's waterfall."""
        for form in self.form["fields"]:
            if form["name"] == field_name and part not in form["parts"]:
                form["parts"].append(part)

    def row_totals(self) -> dict[str, int]:
        """Count the rows by status."""
        return dict(self.dropped + Counter(row.status for row in self.rows.values()))

    def settled(self) -> dict[str, int]:
        """Count the rows that are over by status; statuses without a row are left out."""
        over = {RowStatus.COMPLETED, RowStatus.FAILED, RowStatus.CANCELLED}
        return {status: count for status, count in self.row_totals().items() if status in over}

    def totals(self) -> dict[str, dict[str, int]]:
        """Count the cells by field and status; cells without an entry are not counted."""
        counted: dict[str, Counter[str]] = {}
        for row in self.rows.values():
            for name, cell in row.cells.items():
                counted.setdefault(name, Counter())[cell["status"]] += 1
        return {name: dict(statuses) for name, statuses in counted.items()}


@dataclass(slots=True)
class MemoryReceipt:
    """Top-level work: ``status`` is claimed, completed or failed."""

    input_digest: str
    epoch: int
    status: str = "claimed"
    output: Json = None


@dataclass(slots=True)
class MemoryBoundary:
    """A registered wait; ``event`` None is a sleep."""

    event: str | None
    due_at: float
    place: Place = (None, None)
    payload: Json = None
    is_received: bool = False

    def state(self, now: float) -> BoundaryState:
        """Give the boundary as it stands at ``now``."""
        if self.is_received:
            return {"status": "received", "due_at": self.due_at, "payload": self.payload}
        if now < self.due_at:
            return {"status": "open", "due_at": self.due_at, "payload": None}
        if self.event is None:
            return {"status": "due", "due_at": self.due_at, "payload": None}
        return {"status": "timed_out", "due_at": self.due_at, "payload": None}


@dataclass(slots=True)
class MemoryRun:
    """Everything recorded of one run. ``selection`` makes a retry, as ``Run.selection`` does.

    ``limits`` on child plays hold for its tree; ``children`` counts them by the place of their
    parent. ``early`` holds, by event, payloads that came before anything waited for them.
    """

    id: str
    selection: dict[str, Json] = field(default_factory=dict)
    retry_of: str | None = None
    epoch: int = 0
    sequence: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    entries: dict[Place, dict[str, Json]] = field(default_factory=dict)
    limits: dict[str, Json] = field(default_factory=dict)
    children: Counter[str] = field(default_factory=Counter)
    receipts: dict[str, MemoryReceipt] = field(default_factory=dict)
    boundaries: dict[str, MemoryBoundary] = field(default_factory=dict)
    early: dict[str, list[Json]] = field(default_factory=dict)
    logs: list[LogLine] = field(default_factory=list)
    trace: dict[str, TraceChange] = field(default_factory=dict)

    def number(self, epoch: int) -> int:
        """Take the next sequence number; raises HostFailed where ``epoch`` is no longer current."""
        if epoch != self.epoch:
            raise HostFailed("the lease of this run is lost: another worker has taken it over")
        self.sequence += 1
        return self.sequence


def _queue_cells(row: MemoryRow) -> None:
    """What nobody computes any more waits again."""
    for name, cell in row.cells.items():
        if cell["status"] in UNFINISHED_CELL:
            row.cells[name] = {**cell, "status": CellStatus.QUEUED}


@dataclass(slots=True)
class MemoryStore:
    """All runs of one play in one workspace, in the order they were made."""

    runs: dict[str, MemoryRun] = field(default_factory=dict)
    frames: dict[int, MemoryFrame] = field(default_factory=dict)

    def run(
        self, name: str, *, selection: dict[str, Json] | None = None, retry_of: str | None = None
    ) -> MemoryRun:
        """Find or make a run."""
        if name not in self.runs:
            self.runs[name] = MemoryRun(name, selection or {}, retry_of)
        return self.runs[name]

    def take_over(self, name: str) -> int:
        """Give the run to a new participant: the old one is fenced, its running rows are pending."""
        run = self.run(name)
        run.epoch += 1
        for frame in self.frames_of(name):
            for row in frame.rows.values():
                if row.status == RowStatus.RUNNING:
                    frame.set_status(row, RowStatus.PENDING)
                    _queue_cells(row)
        return run.epoch

    def frames_of(self, run: str) -> list[MemoryFrame]:
        """Give the frames of a run in the order they were opened."""
        return [frame for frame in self.frames.values() if frame.run == run]

    def frame_of(self, run: str, table: str) -> MemoryFrame:
        """Give the frame of a run with this table's name; raises KeyError without one."""
        for frame in self.frames_of(run):
            if frame.form["table"] == table:
                return frame
        raise KeyError(table)
