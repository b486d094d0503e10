"""Group commit: nothing waits alone, and nothing is flushed twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from plays.gateway.grouping import MOST, Grouping


class Flushes:
    """Remembers what was flushed together; a flush lasts until it is let go."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, list[Sequence[int]]]] = []
        self.go = asyncio.Event()

    async def __call__(self, key: str, items: Sequence[Sequence[int]]) -> list[int]:
        self.groups.append((key, list(items)))
        await self.go.wait()
        return [sum(item) for item in items]


async def settle() -> None:
    """Let everything that can run run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_an_item_that_is_alone_is_flushed_at_once() -> None:
    flushes = Flushes()
    task = asyncio.create_task(Grouping(flushes).add("a", [1]))
    await settle()

    assert flushes.groups == [("a", [[1]])]
    flushes.go.set()
    assert await task == 1


async def test_items_that_come_during_a_flush_are_flushed_together() -> None:
    flushes = Flushes()
    grouping = Grouping(flushes)
    tasks = [asyncio.create_task(grouping.add("a", [n])) for n in range(4)]
    await settle()
    flushes.go.set()

    assert await asyncio.gather(*tasks) == [0, 1, 2, 3]
    assert [items for _, items in flushes.groups] == [[[0], [1], [2], [3]]] or [
        items for _, items in flushes.groups
    ] == [[[0]], [[1], [2], [3]]]


async def test_keys_do_not_wait_for_one_another() -> None:
    flushes = Flushes()
    grouping = Grouping(flushes)
    tasks = [asyncio.create_task(grouping.add(key, [1])) for key in "ab"]
    await settle()

    assert sorted(key for key, _ in flushes.groups) == ["a", "b"]
    flushes.go.set()
    await asyncio.gather(*tasks)


async def test_a_flush_takes_no_more_items_once_it_is_large() -> None:
    flushes = Flushes()
    grouping = Grouping(flushes)
    first = asyncio.create_task(grouping.add("a", [0]))
    await settle()
    others = [asyncio.create_task(grouping.add("a", [1] * 100)) for _ in range(5)]
    await settle()
    flushes.go.set()
    await asyncio.gather(first, *others)

    sizes = [sum(map(len, items)) for _, items in flushes.groups]
    assert sizes == [1, MOST, MOST, 100]


async def test_an_error_reaches_each_item_of_its_flush_and_no_other() -> None:
    calls = 0

    async def flush(key: str, items: Sequence[Sequence[int]]) -> list[int]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise LookupError("gone")
        return [0] * len(items)

    grouping = Grouping(flush)
    with pytest.raises(LookupError):
        await grouping.add("a", [1])
    assert await grouping.add("a", [1]) == 0


async def test_a_cancelled_waiter_does_not_disturb_the_others() -> None:
    flushes = Flushes()
    grouping = Grouping(flushes)
    tasks = [asyncio.create_task(grouping.add("a", [n])) for n in range(3)]
    await settle()
    tasks[0].cancel()
    await settle()
    flushes.go.set()

    assert await asyncio.gather(*tasks[1:]) == [1, 2]
