"""Why a run must stop before its end, told once and by cancellation.

An author's code can swallow an exception, so stopping is never one: whoever finds a reason trips the
halt, and the engine cancels what runs.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from runtime.events import CellStatus, RunStatus, StopReason
from runtime.tools import Failed

STOPPING = {
    "limit": StopReason.LIMIT,
    "authentication": StopReason.PROVIDER,
    "billing": StopReason.PROVIDER,
    "quota": StopReason.PROVIDER,
}
"""Categories of failure that no other row can escape, so that they stop the run and not the row."""


@dataclass(frozen=True, slots=True)
class Stop:
    """How the run ends: its status, the reason, and the sentence for a person."""

    status: RunStatus
    reason: StopReason
    message: str


class Halt:
    """Tripped at most once; the first reason counts."""

    def __init__(self) -> None:
        self.stop: Stop | None = None
        self._tripped = asyncio.Event()

    def trip(self, status: RunStatus, reason: StopReason, message: str) -> None:
        """Stop the run."""
        if self.stop is None:
            self.stop = Stop(status, reason, message)
            self._tripped.set()

    def trip_for(self, failed: Failed) -> bool:
        """Pause the run where this failure would meet every row; tell whether it does."""
        reason = STOPPING.get(failed.category)
        if reason is None:
            return False
        self.trip(RunStatus.PAUSED, reason, failed.message)
        return True

    @property
    def unfinished_cell(self) -> CellStatus:
        """The state of a cell whose work was cancelled before its end."""
        is_cancelled = self.stop is not None and self.stop.status is RunStatus.CANCELLED
        return CellStatus.CANCELLED if is_cancelled else CellStatus.QUEUED

    async def tripped(self) -> Stop:
        """Wait until the run must stop."""
        await self._tripped.wait()
        assert self.stop is not None
        return self.stop
