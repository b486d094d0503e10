"""Watches a play process: its event loop has to answer, and its memory to stay within bounds."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import psutil

from plays.playhost.messages import Blocked
from plays.playhost.serving import PortServer
from runtime.errors import HostGone

LOOP_SECONDS = 60.0
"""So long a play may keep its event loop from turning."""

PINGS = 12
"""So many pings in that time. They are counted, and not the seconds: this process may stall too."""

MEMORY_BYTES = 2 * 1024**3
LOOK_SECONDS = 1.0


async def loop_is_blocked(server: PortServer) -> bool:
    """Return True when the play's event loop has not turned for LOOP_SECONDS; False: it is gone."""
    await server.has_begun.wait()
    with suppress(HostGone):
        while server.unanswered < PINGS:
            await server.ping()
            await asyncio.sleep(LOOP_SECONDS / PINGS)
        return True
    return False


async def memory_is_exceeded(keeper: int) -> bool:
    """Return True when what a keeper keeps uses more than MEMORY_BYTES."""
    while await asyncio.to_thread(_memory_below, keeper) <= MEMORY_BYTES:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_SECONDS)
    return True


def _memory_below(pid: int) -> int:
    used = 0
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                used += int(process.memory_info().rss)
    return used


def blocked_sentence(at: Blocked | None, where: str) -> str:
    """Tell what kept the event loop. ``where`` names the map, or the row that changed last."""
    did = f"did not let the event loop run for {LOOP_SECONDS:g} s"
    if at is None:
        return f"the play {did}" + (f"; {where} changed last" if where else "")
    if not at["field"]:
        return f"the play {did}" + (f" ({at['line']})" if at["line"] else "")
    row = f"row {at['position'] + 1:,}" + (f", {at['line']}" if at["line"] else "")
    return f"the step {at['field']!r} of map {where!r} {did} ({row})"


def memory_sentence() -> str:
    """Tell that a play took too much memory."""
    return f"the play used more than {MEMORY_BYTES / 1024**3:g} GB of memory"
