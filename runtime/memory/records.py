"""The ``Records`` and ``Receipts`` ports in memory."""

from __future__ import annotations

from copy import deepcopy
from typing import cast

from runtime.events import RowStatus
from runtime.memory.children import reserved
from runtime.memory.store import Json, MemoryBoundary, MemoryReceipt, MemoryRun, MemoryStore
from runtime.ports import (
    Boundary,
    BoundaryState,
    Cell,
    ChildCall,
    Clock,
    Group,
    ReceiptState,
    RowChange,
    TraceChange,
)
from runtime.tracesteps import join
from runtime.values import sanitise

LONGEST_LOG = 10_000
"""Log lines that are kept of a run; the oldest go first."""

LARGEST_TRACE = 1_000
"""Steps that are kept of a run's trace; the newest are left out."""


class MemoryRecords:
    """What is recorded of one run, for one participant. ``groups`` counts the commits."""

    def __init__(self, store: MemoryStore, run: MemoryRun, epoch: int) -> None:
        self._store = store
        self._run = run
        self._epoch = epoch
        self.groups = 0

    async def commit(self, group: Group) -> int:
        sequence = self._run.number(self._epoch)
        clean, replaced = sanitise(group)
        group = cast("Group", clean)
        if replaced:
            self._run.counters["replaced"] += replaced
        for entry in group["entries"]:
            place = (entry["frame"], entry["position"])
            self._run.entries.setdefault(place, {})[entry["name"]] = entry["value"]
        for change in group["rows"]:
            self._apply(change, sequence)
        self._run.counters.update(group["counters"])
        for step in group["trace"]:
            self._trace(step)
        self._run.logs = (self._run.logs + group["logs"])[-LONGEST_LOG:]
        self.groups += 1
        return sequence

    def _trace(self, change: TraceChange) -> None:
        known = self._run.trace
        if change["key"] in known:
            join(known[change["key"]], change)
        elif len(known) < LARGEST_TRACE:
            known[change["key"]] = deepcopy(change)

    def _apply(self, change: RowChange, sequence: int) -> None:
        frame = self._store.frames[change["frame"]]
        row = frame.rows[change["position"]]
        row.values.update(change["values"])
        for name, cell in change["cells"].items():
            row.cells[name] = cast("Cell", {**cell, "sequence": sequence})
            if "part_of" in cell:
                frame.add_part(cell["part_of"], name)
        row.sequence = sequence
        if change["status"] is not None:
            frame.set_status(row, change["status"])
        if change["status"] == RowStatus.WAITING:
            # An answer that came while the row was on its way here has set an earlier moment.
            row.wake_at = min(change["wake_at"], row.wake_at or change["wake_at"])
        if change["status"] == RowStatus.COMPLETED:
            # Its cells hold what came of its entries.
            self._run.entries.pop((frame.id, row.position), None)


class MemoryReceipts:
    """Top-level work and waits of one run, for one participant."""

    def __init__(self, run: MemoryRun, epoch: int, clock: Clock) -> None:
        self._run = run
        self._epoch = epoch
        self._clock = clock

    async def claim(
        self, name: str, input_digest: str, child: ChildCall | None = None
    ) -> ReceiptState:
        self._run.number(self._epoch)
        found = self._run.receipts.get(name)
        if child and found is None and (sentence := reserved(self._run, child)):
            return {"state": "limit", "output": None, "error": sentence}
        if found is not None and found.status == "completed":
            return _answer(name, found, input_digest)
        if found is not None and found.status == "claimed" and found.epoch == self._epoch:
            return refused(
                f"{name} is running already: give each of two calls at once its own name"
            )
        self._run.receipts[name] = MemoryReceipt(input_digest, self._epoch)
        return {"state": "claimed", "output": None, "error": ""}

    async def complete(self, name: str, output: Json) -> None:
        self._run.number(self._epoch)
        self._run.receipts[name].status = "completed"
        self._run.receipts[name].output = sanitise(output)[0]

    async def fail(self, name: str, error: dict[str, Json]) -> None:
        self._run.number(self._epoch)
        self._run.receipts[name].status = "failed"

    async def wait(self, boundary: Boundary) -> BoundaryState:
        self._run.number(self._epoch)
        now = self._clock.now()
        found = self._run.boundaries.get(boundary["name"])
        if found is None:
            place = (boundary["frame"], boundary["position"])
            found = MemoryBoundary(boundary["event"], now + boundary["seconds"], place)
            self._run.boundaries[boundary["name"]] = found
            if early := self._run.early.get(boundary["event"] or ""):
                found.is_received, found.payload = True, early.pop(0)
        return found.state(now)


def _answer(name: str, receipt: MemoryReceipt, input_digest: str) -> ReceiptState:
    if receipt.input_digest != input_digest:
        return refused(f"{name} was done before with another input: give the call another name")
    return {"state": "completed", "output": receipt.output, "error": ""}


def refused(error: str) -> ReceiptState:
    """Give the state of a receipt that this call may not have."""
    return {"state": "refused", "output": None, "error": error}
