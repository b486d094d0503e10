"""Gathers what happened, and commits it in groups.

A group is one transaction of the ``Records`` port. It leaves 100 ms after its first entry, at 500 entries,
or at once when somebody waits for its commit. Of each cell only the newest state is kept, so a state
that is no longer true when the group commits is never written. One commit is in flight at a time, so
groups arrive in the order in which they were gathered.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from runtime.events import RowStatus
from runtime.ports import Cell, Clock, Entry, Group, LogLine, Records, RowChange, TraceChange
from runtime.rows import RowRun
from runtime.tracesteps import join
from runtime.values import MISSING, Json

GATHER_SECONDS = 0.1
GATHER_ENTRIES = 500
FULL_ENTRIES = 5_000
"""Above this many uncommitted entries finished rows wait, so that memory stays bounded."""

LOG_LINES_MAX = 10_000
LOG_LINE_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class RecorderStatistics:
    """A snapshot: entries not yet committed, groups and entries committed, the newest sequence."""

    waiting: int
    groups: int
    entries: int
    sequence: int


def _empty_group() -> Group:
    return {"rows": [], "entries": [], "counters": {}, "trace": [], "logs": []}


class Recorder:
    """The one writer of a run's records. ``run()`` must be running for anything to be committed."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._rows: dict[tuple[int, int], RowChange] = {}
        self._trace: dict[str, TraceChange] = {}
        self._group = _empty_group()
        self._size = 0
        self._logged = 0
        self._wake = asyncio.Event()
        self._urgent = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leaving: asyncio.Future[None] | None = None
        self._groups = self._entries = self._sequence = 0

    def statistics(self) -> RecorderStatistics:
        """Give a snapshot."""
        return RecorderStatistics(self._size, self._groups, self._entries, self._sequence)

    def cell(self, row: RowRun, field: str, cell: Cell, value: Json = MISSING) -> None:
        """Record the new state of a cell, and its value where one is given."""
        change = self._change(row)
        is_new = field not in change["cells"]
        change["cells"][field] = cell
        if value is not MISSING:
            change["values"][field] = value
        if is_new:
            self._added()

    def row(self, row: RowRun, status: RowStatus, *, wake_at: float | None = None) -> None:
        """Record the new status of a row; a waiting one may run again at ``wake_at``."""
        change = self._change(row)
        change["status"] = status
        if wake_at is not None:
            change["wake_at"] = wake_at
        self._added()

    def entry(self, name: str, value: Json, row: RowRun | None) -> None:
        """Record a checkpoint entry; it is durable after :meth:`committed`."""
        frame, position = (row.frame, row.position) if row else (None, None)
        self._group["entries"].append(Entry(name=name, frame=frame, position=position, value=value))
        self._added()

    def count(self, name: str, by: int = 1) -> None:
        """Add to one of the run's counters."""
        counters = self._group["counters"]
        counters[name] = counters.get(name, 0) + by
        self._added()

    def log(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """Record a log line; after 10,000 of this run the last says that more were left out."""
        self._logged += 1
        if self._logged > LOG_LINES_MAX:
            return
        if self._logged == LOG_LINES_MAX:
            text = f"more than {LOG_LINES_MAX:,} log lines: the rest is left out"
        if len(text) > LOG_LINE_LENGTH:
            text = text[:LOG_LINE_LENGTH] + "…"
        self._group["logs"].append(LogLine(at=self._clock.now(), level=level, text=text))
        self._added()

    def trace(self, change: TraceChange) -> None:
        """Record a change of a step of the trace; later ones of a group join the first."""
        first = self._trace.setdefault(change["key"], change)
        if first is change:
            self._added()
        else:
            join(first, change)

    async def committed(self) -> None:
        """Wait until all that was recorded so far is committed."""
        if self._size:
            self._urgent.set()
            await asyncio.shield(self._committed)
        elif self._leaving is not None:
            await asyncio.shield(self._leaving)

    async def room(self) -> None:
        """Wait while too much is uncommitted."""
        await self._room.wait()

    async def run(self) -> None:
        """Commit groups until cancelled. Raises what the port raises: nothing can be recorded then."""
        while True:
            await self._wake.wait()
            if self._size < GATHER_ENTRIES and not self._urgent.is_set():
                await self._gather()
            await self._commit()

    async def _gather(self) -> None:
        timer = asyncio.ensure_future(self._clock.sleep(GATHER_SECONDS))
        urgent = asyncio.ensure_future(self._urgent.wait())
        try:
            await asyncio.wait({timer, urgent}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            urgent.cancel()

    async def _commit(self) -> None:
        group, size, self._leaving = self._take()
        try:
            self._sequence = await self._records.commit(group)
        except BaseException:
            self._leaving.cancel()
            raise
        self._groups += 1
        self._entries += size
        self._leaving.set_result(None)
        self._leaving = None

    def _take(self) -> tuple[Group, int, asyncio.Future[None]]:
        group, size, waiters = self._group, self._size, self._committed
        group["rows"] = list(self._rows.values())
        group["trace"] = list(self._trace.values())
        self._rows, self._trace, self._group, self._size = {}, {}, _empty_group(), 0
        self._committed = asyncio.get_running_loop().create_future()
        self._wake.clear()
        self._urgent.clear()
        self._room.set()
        return group, size, waiters

    def _change(self, row: RowRun) -> RowChange:
        place = (row.frame, row.position)
        change = self._rows.get(place)
        if change is None:
            change = self._rows[place] = RowChange(
                frame=row.frame, position=row.position, status=None, values={}, cells={}
            )
        return change

    def _added(self) -> None:
        self._size += 1
        if self._size == 1:
            self._wake.set()
        if self._size >= GATHER_ENTRIES:
            self._urgent.set()
            if self._size >= FULL_ENTRIES:
                self._room.clear()
