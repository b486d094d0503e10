"""Group commit: what arrives while a flush runs is flushed together next, with no added wait.

Claims and settlements of one run lock the same row, so that single transactions would queue up behind one
another; together they are one transaction. Alone, an item is flushed at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Entry = TypeVar("Entry")
Given = TypeVar("Given")
_Waiting = tuple[Sequence[Entry], asyncio.Future[Given]]

MOST = 200
"""Entries after which no further item joins a flush, so that a transaction stays short."""


class Grouping(Generic[Key, Entry, Given]):
    """Flushes items, each a few entries, by key: one flush of a key at a time, keys side by side.

    ``flush(key, items)`` gives one value per item, in order; what it raises is raised to each of them.
    """

    def __init__(
        self, flush: Callable[[Key, Sequence[Sequence[Entry]]], Awaitable[Sequence[Given]]]
    ) -> None:
        self._flush = flush
        self._waiting: dict[Key, deque[_Waiting[Entry, Given]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, key: Key, item: Sequence[Entry]) -> Given:
        """Flush an item, with others of its key where there are any, and give its value."""
        future: asyncio.Future[Given] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append((item, future))
        else:
            self._waiting[key] = deque([(item, future)])
            task = asyncio.create_task(self._drain(key), name=f"flush {key}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _drain(self, key: Key) -> None:
        waiting = self._waiting[key]
        while waiting:
            await self._settle(key, _group(waiting))
        del self._waiting[key]

    async def _settle(self, key: Key, group: Sequence[_Waiting[Entry, Given]]) -> None:
        try:
            given = await self._flush(key, [item for item, _ in group])
        except Exception as error:  # noqa: BLE001  (each waiter gets it)
            for _, future in group:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), value in zip(group, given, strict=True):
            if not future.done():
                future.set_result(value)


def _group(waiting: deque[_Waiting[Entry, Given]]) -> list[_Waiting[Entry, Given]]:
    group: list[_Waiting[Entry, Given]] = []
    entries = 0
    while waiting and entries < MOST:
        group.append(waiting.popleft())
        entries += len(group[-1][0])
    return group
