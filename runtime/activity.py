"""Who can still bring calls: the rows that run, and the map that is about to admit more.

A row counts as running unless it waits inside the engine. When nobody runs, nothing will fill the
waiting batches, and the lanes are told so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Worker:
    """Something that runs: a row, the play's top level, a map that admits rows."""

    __slots__ = ("_activity", "_open", "_running")

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._open = 0
        self._running = True
        activity.change(+1)

    def wait(self) -> None:
        """An engine call of this worker is open."""
        self._open += 1
        if self._open == 1 and self._running:
            self._activity.change(-1)

    def resume(self) -> None:
        """One of its engine calls has its outcome; called where the outcome is set, not where it is read."""
        self._open -= 1
        if self._open == 0 and self._running:
            self._activity.change(+1)

    def end(self) -> None:
        """It is over."""
        if self._running and self._open == 0:
            self._activity.change(-1)
        self._running = False


class Activity:
    """Counts running workers; calls ``on_idle`` once each time that nobody runs any more."""

    def __init__(self) -> None:
        self.running = 0
        self.maps_with_more = 0
        self.on_idle: Callable[[], None] = lambda: None
        self._is_scheduled = False

    @property
    def is_idle(self) -> bool:
        """Whether every worker waits inside the engine."""
        return self.running == 0

    @property
    def has_more(self) -> bool:
        """Whether a map still has rows to admit, whose calls will fill the waiting batches."""
        return self.maps_with_more > 0

    def change(self, by: int) -> None:
        """Count a worker in or out."""
        self.running += by
        if self.running == 0 and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._is_scheduled = False
        if self.running == 0:
            self.on_idle()
