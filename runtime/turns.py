"""How many child plays of a run run at once.

A child that waits for a child of its own lends it its turn, so children of children never lock each
other out, and no more plays run than there are turns.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext


class Turns:
    """The turns of one run's tree, and how often each play is running in it."""

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(max(1, limit))
        self._running: Counter[str] = Counter()

    def running(self, play: str) -> int:
        """Give how many children of this play are under way, less those that wait for their first turn."""
        return self._running[play.casefold()]

    @asynccontextmanager
    async def turn(self, play: str, caller: Turn | None) -> AsyncIterator[Turn]:
        """Have a child play running inside the block; ``caller`` is the turn of the play that calls it."""
        async with caller.lent() if caller else nullcontext():
            turn = Turn(self._free)
            await turn.take()
            self._running[play.casefold()] += 1
            try:
                yield turn
            finally:
                self._running[play.casefold()] -= 1
                turn.give()


class Turn:
    """A child play's right to run, while it is not lent."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_held = False
        self._lent = 0

    async def take(self) -> None:
        """Wait until it is this play's turn."""
        await self._free.acquire()
        self._is_held = True

    def give(self) -> None:
        """Let the next one run."""
        if self._is_held:
            self._is_held = False
            self._free.release()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Let others have this turn inside the block; after it the turn is had again, unless cancelled."""
        self._lent += 1
        self.give()
        is_cancelled = False
        try:
            yield
        except asyncio.CancelledError:
            is_cancelled = True
            raise
        finally:
            self._lent -= 1
            if self._lent == 0 and not is_cancelled:
                await self.take()
