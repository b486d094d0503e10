"""Which rows of a map run at once: claimed by the group, as many as the window admits.

A row that only waits makes room. It is parked: its task is cancelled and it lies in the store until an
answer or its deadline; its field then runs again and finds its finished calls by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from runtime.activity import Worker
from runtime.lanes import LONG_WAIT_SECONDS
from runtime.ports import ClaimedRow
from runtime.rows import RowRun
from runtime.session import Session
from runtime.values import canonical_bytes

WINDOW_ROWS = 2_000
WINDOW_BYTES = 64 * 1024 * 1024
CLAIM_ROWS = 500
PATIENCE_SECONDS = 5.0
"""How long room for less than a group may stand free while the window is busy."""

PARK_AFTER_SECONDS = 1.0
"""A row that will wait long is parked after this, so that what it has just got is not asked for twice."""

STUCK_SECONDS = 30.0
"""A row whose tool does not answer is parked for this long, where others need its room."""


class Admission:
    """The rows of one frame that are in memory. ``run_row`` runs one to its end."""

    def __init__(
        self, session: Session, frame: int, *, place: str,
        run_row: Callable[[RowRun], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._session = session
        self._frame = frame
        self._place = place
        self._run_row = run_row
        self._active: dict[Worker, tuple[RowRun, asyncio.Task[None]]] = {}
        self._bytes = 0
        self._resting: set[Worker] = set()
        self._leaving: set[Worker] = set()
        self._parking: asyncio.Task[None] | None = None
        self._has_more = False
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Run until no row is left, neither pending nor waiting."""
        admitter = Worker(self._session.activity)
        try:
            async with asyncio.TaskGroup() as self._tasks:
                while claimed := await self._claim(admitter):
                    for row in claimed:
                        self._start(row)
                if self._parking is not None:
                    self._parking.cancel()
        finally:
            self._expect(False)
            admitter.end()

    def _expect(self, has_more: bool) -> None:
        """Tell the lanes whether rows that never ran are still to be admitted."""
        self._session.activity.maps_with_more += has_more - self._has_more
        self._has_more = has_more

    async def _claim(self, admitter: Worker) -> list[ClaimedRow]:
        admitter.wait()
        await self._room()
        if self._session.halt.stop:
            await asyncio.get_running_loop().create_future()  # until the halt cancels it
        admitter.resume()
        while not (claimed := await self._next(self._free())):
            if not self._active:
                await self._session.recorder.committed()  # rows that were parked a moment ago
            waiting = await self._session.ports.rows.waiting(self._frame)
            if not self._active and waiting is None:
                return []
            admitter.wait()
            await self._something_to_claim(waiting and waiting["wake_at"])
            admitter.resume()
        return claimed

    async def _next(self, n: int) -> list[ClaimedRow]:
        claimed = await self._session.ports.rows.claim(self._frame, n)
        self._expect(len(claimed) == n and "woken" not in claimed[-1])
        return claimed

    async def _something_to_claim(self, wake_at: float | None) -> None:
        """Wait until a row ended, or one that waits may run again."""
        self._changed.clear()
        changes: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._changed.wait())]
        with ExitStack() as waits:
            if wake_at is not None:
                waits.enter_context(self._session.waits.until(wake_at))
                woken = self._session.ports.signals.woken(self._frame)
                changes.append(asyncio.ensure_future(woken))
            try:
                await asyncio.wait(changes, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for change in changes:
                    change.cancel()

    def _free(self) -> int:
        return min(CLAIM_ROWS, WINDOW_ROWS - len(self._active))

    def _is_full(self) -> bool:
        return len(self._active) >= WINDOW_ROWS or self._bytes >= WINDOW_BYTES

    async def _room(self) -> None:
        """Wait until a whole group fits, or some room stood free for PATIENCE_SECONDS.

        Rows are admitted by the group, so that their first calls fill batches.
        """
        await self._session.recorder.room()
        while not await self._room_within(PATIENCE_SECONDS):
            if not self._is_full():
                return
            until = self._session.ports.clock.now() + STUCK_SECONDS
            self._make_room(dict.fromkeys(self._session.lanes.stuck(), until))

    async def _room_within(self, seconds: float) -> bool:
        """Wait until there is room for a group; False: the time is over."""
        timer = asyncio.ensure_future(self._session.ports.clock.sleep(seconds))
        try:
            while self._is_full() or self._free() < CLAIM_ROWS:
                self._make_room({worker: worker.wake_at for worker in self._resting})
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                done, _ = await asyncio.wait({timer, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if timer in done:
                    return False
            return True
        finally:
            timer.cancel()

    def _make_room(self, wake_times: Mapping[Worker, float | None]) -> None:
        """Park as many of these rows as a group needs, where rows that never ran would get their room."""
        if not self._has_more:
            return
        needed = CLAIM_ROWS - self._free() - len(self._leaving)
        longest_first = sorted(wake_times.items(), key=lambda item: -(item[1] or 0.0))
        for worker, wake_at in longest_first[: max(0, needed)]:
            self._park(worker, wake_at)

    def _rests(self, worker: Worker) -> None:
        """A row waits durably, and for nothing else."""
        self._resting.add(worker)
        self._changed.set()
        if self._parking is None:
            self._parking = self._tasks.create_task(self._park_long(), name="parks rows")

    async def _park_long(self) -> None:
        await self._session.ports.clock.sleep(PARK_AFTER_SECONDS)
        self._parking = None
        long_from = self._session.ports.clock.now() + LONG_WAIT_SECONDS - PARK_AFTER_SECONDS
        for worker in list(self._resting):
            if not worker.may_leave or worker.wake_at is None:
                self._resting.discard(worker)
            elif worker.wake_at >= long_from:
                self._park(worker, worker.wake_at)

    def _park(self, worker: Worker, wake_at: float | None) -> None:
        """Let a row leave memory until then, unless it has gone on meanwhile."""
        if worker.may_leave and wake_at is not None and worker in self._active:
            row, task = self._active[worker]
            row.wake_at = wake_at
            self._leaving.add(worker)
            task.cancel()

    def _start(self, claimed: ClaimedRow) -> None:
        worker = Worker(self._session.activity)
        worker.on_rest = partial(self._rests, worker)
        row = RowRun(claimed, frame=self._frame, place=self._place, worker=worker)
        size = len(canonical_bytes(claimed["input"]))
        self._bytes += size
        task = self._tasks.create_task(self._run(row, size), name=f"row {row.position}")
        self._active[worker] = row, task

    async def _run(self, row: RowRun, size: int) -> None:
        try:
            await self._run_row(row)
            await self._session.recorder.room()
        finally:
            row.worker.end()
            del self._active[row.worker]
            self._resting.discard(row.worker)
            self._leaving.discard(row.worker)
            self._bytes -= size
            self._changed.set()
