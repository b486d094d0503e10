"""Ending what runs beside a play."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_SECONDS = 1.0


async def end_all(tasks: Iterable[asyncio.Task[Any]]) -> list[BaseException]:
    """Cancel tasks until all have ended; give what they raised beside that.

    A cancellation is asked for again: one that meets the answer of a server can be lost in its client, and
    the task then goes on as if nothing had been asked.
    """
    every = list(tasks)
    while pending := [task for task in every if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=AGAIN_SECONDS)
    raised = (None if task.cancelled() else task.exception() for task in every)
    return [error for error in raised if error is not None]
