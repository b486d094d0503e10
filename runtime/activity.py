"""Who can still bring calls: the rows that run, and the map that is about to admit more.

A row counts as running unless it waits inside the engine. When nobody runs, nothing will fill the
waiting batches, and the lanes are told so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def _nothing() -> None:
    pass


class Worker:
    """Something that runs: a row, the play's top level, a map that admits rows.

    Some of its open engine calls are *loose*: a durable wait, or a call that has not left its lane. While
    all are, it may leave memory and do its work again later, and nothing is lost. ``on_rest`` is called
    when that comes true for one with a durable wait.
    """

    __slots__ = ("_activity", "_loose", "_open", "_running", "_waits", "on_rest")

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._open = 0
        self._loose = 0
        self._waits: dict[object, float] = {}
        self._running = True
        self.on_rest: Callable[[], None] = _nothing
        activity.change(+1)

    @property
    def may_leave(self) -> bool:
        """Whether all that it waits for is loose."""
        return self._open == self._loose > 0

    @property
    def wake_at(self) -> float | None:
        """When the first of its durable waits is due; None: there is none."""
        return min(self._waits.values(), default=None)

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
        self._look()

    def loosen(self, by: int = 1) -> None:
        """One of its open calls became loose (-1: is no longer)."""
        self._loose += by
        self._look()

    def wait_until(self, wait: object, due_at: float) -> None:
        """One of its open calls is a durable wait from now on, and loose."""
        self._waits[wait] = due_at
        self.loosen()

    def wait_no_more(self, wait: object) -> bool:
        """That durable wait is over, and its call no longer loose; False: there was none."""
        if self._waits.pop(wait, None) is None:
            return False
        self.loosen(-1)
        return True

    def end(self) -> None:
        """It is over."""
        if self._running and self._open == 0:
            self._activity.change(-1)
        self._running = False

    def _look(self) -> None:
        if self._waits and self.may_leave:
            self.on_rest()


class Activity:
    """Counts running workers; calls ``on_idle`` once each time that nobody runs any more.

    ``changes`` grows whenever a worker begins or ceases to run.
    """

    def __init__(self) -> None:
        self.running = 0
        self.changes = 0
        self.maps_with_more = 0
        self.on_idle: Callable[[], None] = _nothing
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
        self.changes += 1
        if self.running == 0 and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._is_scheduled = False
        if self.running == 0:
            self.on_idle()
