"""What a host tells of a run beside its engine: log lines of its own, and hints after commits.

Both are gathered: lines are committed twice a second at most, and of hints only the newest leaves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Literal
from uuid import UUID

from plays import live
from plays.stores import PostgresRecords
from plays.stores.fencing import LeaseLost
from runtime.ports import LogLine

logger = logging.getLogger(__name__)

GATHER_SECONDS = 0.5


Level = Literal["info", "warning", "error"]


class Hints:
    """Sends the newest sequence of a run to whoever watches it, one message at a time."""

    def __init__(self, run: UUID) -> None:
        self._run = run
        self._sequence = 0
        self._news = asyncio.Event()

    def __call__(self, sequence: int) -> None:
        """Note a commit; never waits."""
        self._sequence = max(self._sequence, sequence)
        self._news.set()

    async def send(self) -> None:
        """Send hints until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await live.ahint(self._run, self._sequence)


class Journal:
    """The host's and the author's printed lines, on their way into the run's log."""

    def __init__(self, records: PostgresRecords) -> None:
        self._records = records
        self._lines: list[LogLine] = []
        self._news = asyncio.Event()

    def say(self, text: str, level: Level = "info") -> None:
        """Note a line; never waits."""
        self._lines.append({"at": time.time(), "level": level, "text": text})
        self._news.set()

    async def write(self) -> None:
        """Commit lines until cancelled."""
        while True:
            await self._news.wait()
            await asyncio.sleep(GATHER_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Commit what was said so far; without a lease it is left out."""
        lines, self._lines = self._lines, []
        self._news.clear()
        if not lines:
            return
        try:
            await self._records.commit(
                {"rows": [], "entries": [], "counters": {}, "trace": [], "logs": lines}
            )
        except LeaseLost:
            logger.warning("%d log lines were not written: the lease is lost", len(lines))
