"""The durable waits that are open in one engine, and the rest that the engine takes for them.

When nothing but waits is left, and the first of them is due in a while, the run stops as ``waiting``: its
worker is free, and whoever answers, or the deadline, brings it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from runtime.activity import Activity, Worker
from runtime.events import RunStatus, StopReason
from runtime.halt import Halt
from runtime.lanes import LONG_WAIT_SECONDS, Lanes
from runtime.ports import Clock

CALM_SECONDS = 2.0
"""So long nothing may happen before the engine rests."""


class Waits:
    """Who waits for a deadline or an answer. ``tasks`` owns what this starts."""

    def __init__(
        self,
        clock: Clock,
        *,
        activity: Activity,
        lanes: Lanes,
        halt: Halt,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._clock = clock
        self._activity = activity
        self._lanes = lanes
        self._halt = halt
        self._tasks = tasks
        self._due: dict[object, float] = {}
        self._busy = 0
        self._calming: asyncio.Task[None] | None = None
        lanes.on_quiet = self._look

    @contextmanager
    def until(self, due_at: float, worker: Worker | None = None) -> Iterator[None]:
        """Have a durable wait open inside the block, as the only open call of ``worker`` that it is."""
        wait = object()
        self._due[wait] = due_at
        if worker is not None:
            worker.wait_until(wait, due_at)
        self._look()
        try:
            yield
        finally:
            del self._due[wait]
            if worker is not None:
                worker.wait_no_more(wait)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Have work of the top level under way inside the block: it would have to begin anew."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self._look()

    def _look(self) -> None:
        if self._is_quiet() and (self._calming is None or self._calming.done()):
            self._calming = self._tasks.create_task(self._calm(), name="before a rest")

    async def _calm(self) -> None:
        while self._is_quiet():
            before = self._activity.changes
            await self._clock.sleep(CALM_SECONDS)
            if before == self._activity.changes and self._is_quiet():
                self._halt.trip(
                    RunStatus.WAITING,
                    StopReason.WAITS,
                    "waiting for answers or deadlines: nothing else is left to do",
                )
                return

    def close(self) -> None:
        """Rest no more: the run is over."""
        if self._calming is not None:
            self._calming.cancel()

    def _is_quiet(self) -> bool:
        if not self._due or self._busy or not self._activity.is_idle or self._activity.has_more:
            return False
        if self._halt.stop or self._lanes.in_flight:
            return False
        first = min([*self._due.values(), *self._lanes.due_times()])
        return first - self._clock.now() >= LONG_WAIT_SECONDS
