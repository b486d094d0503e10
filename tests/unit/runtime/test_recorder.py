"""The recorder: groups, newest states, order, back-pressure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.activity import Activity, Worker
from runtime.events import CellStatus
from runtime.memory import VirtualClock
from runtime.ports import Cell, Group
from runtime.recorder import FULL_ENTRIES, GATHER_ENTRIES, LOG_LINES_MAX, Recorder
from runtime.rows import RowRun


class Book:
    """A Records port that keeps its groups and takes a second for each."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.groups: list[tuple[float, Group]] = []

    async def commit(self, group: Group) -> int:
        self.groups.append((self.clock.now(), group))
        await self.clock.sleep(1.0)
        return len(self.groups)


@pytest.fixture
async def writing() -> Any:
    clock = VirtualClock()
    book = Book(clock)
    recorder = Recorder(book, clock)
    running = asyncio.ensure_future(recorder.run())
    yield recorder, book, clock
    running.cancel()
    await asyncio.wait({running})


def row(position: int = 0) -> RowRun:
    claimed: Any = {
        "position": position, "key": "k", "input": {}, "values": {}, "cells": {}, "entries": {}
    }  # fmt: skip
    return RowRun(claimed, frame=1, place="p", worker=Worker(Activity()))


async def test_a_state_that_is_no_longer_true_is_never_written(writing: Any) -> None:
    recorder, book, _ = writing
    ada = row()
    recorder.cell(ada, "email", Cell(status=CellStatus.QUEUED))
    recorder.cell(ada, "email", Cell(status=CellStatus.RUNNING))
    recorder.cell(ada, "email", Cell(status=CellStatus.COMPLETED), "x")
    assert recorder.statistics().waiting == 1
    await recorder.committed()
    ((_, group),) = book.groups
    assert group["rows"][0]["cells"] == {"email": {"status": "completed"}}
    assert group["rows"][0]["values"] == {"email": "x"}


async def test_a_group_leaves_after_a_tenth_of_a_second(writing: Any) -> None:
    recorder, book, clock = writing
    start = clock.now()
    recorder.log("one")
    await clock.advance(0.05)
    recorder.log("two")
    await clock.advance(5)
    ((at, group),) = book.groups
    assert at - start == pytest.approx(0.1)
    assert [line["text"] for line in group["logs"]] == ["one", "two"]


async def test_a_full_group_leaves_at_once(writing: Any) -> None:
    recorder, book, clock = writing
    start = clock.now()
    for position in range(GATHER_ENTRIES):
        recorder.cell(row(position), "a", Cell(status=CellStatus.COMPLETED))
    await clock.advance(0.01)
    assert book.groups[0][0] == start
    assert len(book.groups[0][1]["rows"]) == GATHER_ENTRIES


async def test_whoever_waits_gets_its_commit_at_once_and_with_what_is_in_flight(
    writing: Any,
) -> None:
    recorder, book, clock = writing
    recorder.entry("one", 1, None)
    first = asyncio.ensure_future(recorder.committed())
    await clock.advance(0.5)
    assert not first.done()
    in_flight = asyncio.ensure_future(recorder.committed())
    await clock.advance(1)
    assert first.done()
    assert in_flight.done()
    assert len(book.groups) == 1


async def test_rows_wait_while_too_much_is_uncommitted(writing: Any) -> None:  # case M1
    recorder, _, clock = writing
    recorder.log("in flight")
    await clock.advance(0.2)
    for position in range(FULL_ENTRIES):
        recorder.cell(row(position), "a", Cell(status=CellStatus.COMPLETED))
    room = asyncio.ensure_future(recorder.room())
    await clock.advance(0.1)
    assert not room.done()
    await clock.advance(2)
    assert room.done()


async def test_the_log_is_bounded_and_says_so(writing: Any) -> None:  # rule 14.1
    recorder, book, _ = writing
    for number in range(LOG_LINES_MAX + 50):
        recorder.log(str(number))
    await recorder.committed()
    lines = [line for _, group in book.groups for line in group["logs"]]
    assert len(lines) == LOG_LINES_MAX
    assert "more than 10,000 log lines" in lines[-1]["text"]


async def test_counters_are_deltas(writing: Any) -> None:
    recorder, book, _ = writing
    recorder.count("members", 3)
    recorder.count("members", 4)
    await recorder.committed()
    recorder.count("members")
    await recorder.committed()
    assert [group["counters"] for _, group in book.groups] == [{"members": 7}, {"members": 1}]
    assert recorder.statistics().groups == 2
