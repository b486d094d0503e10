"""Clocks: the machine's own, and one for tests that jumps on when nothing can run.

Neither knows of runs. Only ``VirtualClock`` looks into the event loop, and only at whether
anything is ready to run.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import time


class SystemClock:
    """Real time from a moment on, by default from this machine's.

    It counts on by the monotonic clock, so that setting the machine's clock moves no deadline.
    """

    def __init__(self, now: float | None = None) -> None:
        self._offset = (time.time() if now is None else now) - time.monotonic()

    def now(self) -> float:
        """Give seconds since 1970 UTC."""
        return time.monotonic() + self._offset

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds)


class VirtualClock:
    """Time that passes only while all tasks are blocked: it then jumps to the earliest sleeper.

    With ``auto=False`` it moves only by :meth:`advance`. It works on asyncio's own loops (not
    uvloop) and for code that waits for nothing but this clock, tasks and futures: a task that
    waits for a socket or a thread looks blocked to it.
    """

    def __init__(self, start: float = 1_700_000_000.0, *, auto: bool = True) -> None:
        self._now = start
        self._auto = auto
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._settling: list[asyncio.Future[None]] = []
        self._watched: asyncio.AbstractEventLoop | None = None

    def now(self) -> float:
        """Give the virtual time, in seconds since 1970 UTC."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved this far; infinity waits until cancelled."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        self._watch()
        await woken

    async def settled(self) -> None:
        """Wait until every other task is blocked; no time passes."""
        blocked = asyncio.get_running_loop().create_future()
        self._settling.append(blocked)
        self._watch()
        await blocked

    async def advance(self, seconds: float) -> None:
        """Move the clock on, waking sleepers in order; all tasks are blocked afterwards."""
        until = self._now + seconds
        await self.settled()
        while self._sleepers and self._sleepers[0][0] <= until:
            self._jump()
            await self.settled()
        self._now = until

    def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        if self._watched is not loop:
            self._watched = loop
            loop.call_soon(self._look)

    def _look(self) -> None:
        """Act if nothing else is ready; look again next turn while anybody waits."""
        loop, self._watched = self._watched, None
        assert loop is not None
        self._drop_cancelled()
        if not self._settling and not self._may_jump():
            return
        if not loop._ready:  # type: ignore[attr-defined]  # asyncio tells nobody that it is idle
            self._act()
        self._watched = loop
        loop.call_soon(self._look)

    def _act(self) -> None:
        if not self._settling:
            self._jump()
            return
        blocked, self._settling = self._settling, []
        for waiter in blocked:
            waiter.set_result(None)

    def _jump(self) -> None:
        self._now = max(self._now, self._sleepers[0][0])
        while self._sleepers and self._sleepers[0][0] <= self._now:
            woken = heapq.heappop(self._sleepers)[2]
            if not woken.done():
                woken.set_result(None)

    def _may_jump(self) -> bool:
        return self._auto and bool(self._sleepers) and math.isfinite(self._sleepers[0][0])

    def _drop_cancelled(self) -> None:
        self._settling = [waiter for waiter in self._settling if not waiter.done()]
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
