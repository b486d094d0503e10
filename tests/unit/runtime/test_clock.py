"""The clocks: the virtual one moves only while every task is blocked, the real one by itself."""

from __future__ import annotations

import asyncio
import math
import time

import pytest

from runtime.memory import SystemClock, VirtualClock

HOUR = 3600.0


async def test_sleepers_wake_in_order_and_without_waiting() -> None:
    clock = VirtualClock(0.0)
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    await asyncio.gather(sleep("late", HOUR), sleep("soon", 1.0), sleep("first", 0.5))
    assert woken == [("first", 0.5), ("soon", 1.0), ("late", HOUR)]


async def test_time_stands_still_while_something_can_run() -> None:
    clock = VirtualClock(0.0)
    seen: list[float] = []

    async def work() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
            seen.append(clock.now())

    await asyncio.gather(work(), clock.sleep(HOUR))
    assert seen == [0.0] * 50
    assert clock.now() == HOUR


async def test_who_sleeps_for_ever_is_never_woken() -> None:
    clock = VirtualClock(0.0)
    hanging = asyncio.ensure_future(clock.sleep(math.inf))
    await clock.sleep(5.0)
    assert not hanging.done()
    hanging.cancel()
    await asyncio.wait({hanging})


async def test_a_cancelled_sleeper_does_not_hold_the_others() -> None:
    clock = VirtualClock(0.0)
    cancelled = asyncio.ensure_future(clock.sleep(1.0))
    await asyncio.sleep(0)
    cancelled.cancel()
    await clock.sleep(2.0)
    assert clock.now() == 2.0


async def test_without_auto_time_moves_by_hand_only() -> None:
    clock = VirtualClock(0.0, auto=False)
    sleeping = asyncio.ensure_future(clock.sleep(10.0))
    await clock.settled()
    assert not sleeping.done()
    await clock.advance(9.0)
    assert not sleeping.done()
    await clock.advance(1.0)
    assert sleeping.done()
    assert clock.now() == 10.0


async def test_settled_waits_until_all_others_are_blocked() -> None:
    clock = VirtualClock(0.0, auto=False)
    blocker = asyncio.Event()
    steps: list[int] = []

    async def work() -> None:
        for step in range(5):
            await asyncio.sleep(0)
            steps.append(step)
        await blocker.wait()

    working = asyncio.ensure_future(work())
    await clock.settled()
    assert steps == [0, 1, 2, 3, 4]
    blocker.set()
    await working


async def test_setting_the_machines_clock_moves_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # case T4
    clock = SystemClock(1_000.0)
    monkeypatch.setattr(time, "time", lambda: 9e9)
    assert 1_000.0 <= clock.now() < 1_060.0
