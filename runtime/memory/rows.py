"""The ``Rows`` port in memory."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from copy import deepcopy

from runtime.events import CellStatus, RowStatus
from runtime.memory.known import EarlierRows
from runtime.memory.store import MemoryFrame, MemoryRow, MemoryRun, MemoryStore
from runtime.ports import (
    ClaimedRow,
    Clock,
    Duplicate,
    FailedRows,
    FrameForm,
    NewRow,
    OpenFrame,
    Sealed,
    StoredRow,
    WaitingRows,
)
from runtime.values import sanitise

DUPLICATES_TOLD = 5
"""So many duplicate keys, and so many positions of each, are named to the author."""


class MemoryRows:
    """Rows of one run, for one participant."""

    def __init__(self, store: MemoryStore, run: MemoryRun, epoch: int, clock: Clock) -> None:
        self._store = store
        self._run = run
        self._epoch = epoch
        self._clock = clock

    async def open_map(self, frame: FrameForm) -> OpenFrame:
        self._run.number(self._epoch)
        found = self._find(frame["path"])
        if found is None:
            found = MemoryFrame(len(self._store.frames) + 1, self._run.id, deepcopy(frame))
            self._store.frames[found.id] = found
        if not found.sealed:
            found.form = deepcopy(frame)
            found.rows.clear()
            found.total = 0
        opened: OpenFrame = {"frame": found.id, "sealed": found.sealed, "total": found.total}
        if settled := found.settled():
            opened["settled"] = settled
        return opened

    async def add_page(self, frame: int, rows: list[NewRow]) -> None:
        self._run.number(self._epoch)
        held = self._store.frames[frame]
        for row in rows:
            clean, replaced = sanitise(row["input"])
            held.rows[row["position"]] = MemoryRow(row["position"], row["key"], clean)
            if replaced:
                self._run.counters["replaced"] += replaced
        held.total = len(held.rows)

    async def seal(self, frame: int) -> Sealed:
        self._run.number(self._epoch)
        held = self._store.frames[frame]
        if held.sealed:
            return {"total": held.total, "duplicate_keys": 0, "duplicates": []}
        repeated = _repeated(held.rows.values())
        if held.form["explicit"] and repeated:
            told = [_duplicate(rows) for rows in repeated[:DUPLICATES_TOLD]]
            return {"total": held.total, "duplicate_keys": len(repeated), "duplicates": told}
        for rows in repeated:
            for number, row in enumerate(rows[1:], 2):
                row.key = f"{row.key}#{number}"
        self._close(held)
        sealed: Sealed = {"total": held.total, "duplicate_keys": 0, "duplicates": []}
        if settled := held.settled():
            sealed["settled"] = settled
        return sealed

    async def claim(self, frame: int, n: int) -> list[ClaimedRow]:
        held = self._store.frames[frame]
        sequence = self._run.number(self._epoch)
        claimed: list[ClaimedRow] = []
        while held.pending and len(claimed) < n:
            row = held.rows[heapq.heappop(held.pending)]
            if row.status == RowStatus.PENDING:
                held.set_status(row, RowStatus.RUNNING)
                row.sequence = sequence
                claimed.append(self._claimed(held, row))
        return claimed + self._woken(held, sequence, n - len(claimed))

    async def waiting(self, frame: int) -> WaitingRows | None:
        rows = self._store.frames[frame].waiting()
        return {"rows": len(rows), "wake_at": rows[0].wake_at or 0.0} if rows else None

    async def failed(self, frame: int) -> FailedRows | None:
        held = self._store.frames[frame]
        failed = [row for row in held.rows.values() if row.status == RowStatus.FAILED]
        if not failed:
            return None
        first = min(failed, key=lambda row: row.position)
        for name, cell in first.cells.items():
            if cell["status"] == CellStatus.FAILED and "part_of" not in cell:
                return {
                    "rows": len(failed),
                    "position": first.position,
                    "field": name,
                    "error": cell["error"],
                }
        return None

    async def read_page(self, frame: int, after: int, n: int) -> list[StoredRow]:
        rows = self._store.frames[frame].rows
        chosen = sorted(position for position in rows if position > after)[:n]
        return [_stored(rows[position]) for position in chosen]

    def _find(self, path: str) -> MemoryFrame | None:
        for frame in self._store.frames_of(self._run.id):
            if frame.form["path"] == path:
                return frame
        return None

    def _close(self, frame: MemoryFrame) -> None:
        earlier = EarlierRows(self._store, self._run, frame, self._clock.now())
        for row in frame.rows.values():
            if entries := earlier.fill(row):
                self._run.entries[frame.id, row.position] = entries
        frame.pending = [
            position for position, row in frame.rows.items() if row.status == RowStatus.PENDING
        ]
        heapq.heapify(frame.pending)
        frame.sealed = True
        self._run.counters["rows"] += frame.total

    def _woken(self, frame: MemoryFrame, sequence: int, n: int) -> list[ClaimedRow]:
        now = self._clock.now()
        rows = [row for row in frame.waiting() if row.wake_at is not None and row.wake_at <= now]
        for row in rows[:n]:
            frame.set_status(row, RowStatus.RUNNING)
            row.sequence, row.wake_at = sequence, None
        return [{**self._claimed(frame, row), "woken": True} for row in rows[:n]]

    def _claimed(self, frame: MemoryFrame, row: MemoryRow) -> ClaimedRow:
        return {
            "position": row.position,
            "key": row.key,
            "input": row.input,
            "values": dict(row.values),
            "cells": dict(row.cells),
            "entries": dict(self._run.entries.get((frame.id, row.position), {})),
        }


def _repeated(rows: Iterable[MemoryRow]) -> list[list[MemoryRow]]:
    """Group the rows that share a key, in the order of each group's first row."""
    by_key: dict[str, list[MemoryRow]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    return [same for same in by_key.values() if len(same) > 1]


def _duplicate(rows: list[MemoryRow]) -> Duplicate:
    positions = [row.position for row in rows[:DUPLICATES_TOLD]]
    return {"positions": positions, "input": rows[0].input}


def _stored(row: MemoryRow) -> StoredRow:
    return {
        "position": row.position,
        "key": row.key,
        "status": row.status,
        "input": row.input,
        "values": dict(row.values),
    }
