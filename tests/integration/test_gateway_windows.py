"""Windows of a provider in Valkey: however many ask, no span of time holds too many requests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import redis
from redis.asyncio import Redis

from plays.gateway.windows import MICRO, NoSlot, Slot, Windows
from plays.tools.policies import Bucket

HOLD = 600.0


@pytest.fixture
async def windows(valkey: redis.Redis, key_prefix: str) -> AsyncIterator[Windows]:
    connection = Redis.from_url(os.environ["REDIS_URL"])
    yield Windows(connection, key_prefix)
    await connection.aclose()


def moments(valkey: redis.Redis, seconds: str) -> list[float]:
    """Give the times of all slots that were given, in order, by Valkey's own clock."""
    (name,) = valkey.keys(f"*:{seconds}")
    return [score / MICRO for _, score in valkey.zrange(name, 0, -1, withscores=True)]


@pytest.mark.parametrize(("most", "seconds"), [(1, 2.0), (5, 10.0), (7, 3.0)])
async def test_no_span_of_a_window_holds_more_requests_than_it_may(
    windows: Windows, valkey: redis.Redis, most: int, seconds: float
) -> None:
    # case R5, R8, R9
    bucket = Bucket("acme", ((most, seconds),))
    asked = [windows.take([bucket], hold=HOLD, lasts=1.0) for _ in range(60)]
    slots = await asyncio.gather(*asked)
    assert all(isinstance(slot, Slot) for slot in slots)
    given = moments(valkey, f"{seconds:g}s")
    assert len(given) == 60
    spans = [later - first for first, later in zip(given, given[most:], strict=False)]
    assert min(spans) >= seconds - 1e-5  # (Valkey keeps microseconds as floats)
    assert given[-1] - given[0] <= 60 / most * seconds + 1


async def test_several_windows_hold_together(windows: Windows, valkey: redis.Redis) -> None:
    # case R9
    bucket = Bucket("acme", ((3, 1.0), (5, 20.0)))
    for _ in range(20):
        await windows.take([bucket], hold=HOLD, lasts=1.0)
    for most, seconds in bucket.windows:
        given = moments(valkey, f"{seconds:g}s")
        spans = [later - first for first, later in zip(given, given[most:], strict=False)]
        assert min(spans) >= seconds - 1e-5


async def test_whoever_would_wait_too_long_is_told_the_exact_time(windows: Windows) -> None:
    bucket = Bucket("acme", ((1, 100.0),))
    assert isinstance(await windows.take([bucket], hold=10.0, lasts=1.0), Slot)
    late = await windows.take([bucket], hold=10.0, lasts=1.0)
    assert isinstance(late, NoSlot)
    assert 90 < late.retry_after <= 100


async def test_a_wait_that_was_asked_for_holds_for_everybody_and_is_never_shortened(
    windows: Windows,
) -> None:
    # case R2, R4
    bucket = Bucket("acme")
    await windows.penalise("acme", 300.0)
    await windows.penalise("acme", 5.0)
    late = await windows.take([bucket], hold=10.0, lasts=1.0)
    assert isinstance(late, NoSlot)
    assert late.retry_after > 290


async def test_requests_at_a_time_are_leases_that_come_back(windows: Windows) -> None:
    # case R8
    bucket = Bucket("acme", concurrency=2)
    slots = await asyncio.gather(*(windows.take([bucket], hold=1.0, lasts=60.0) for _ in range(5)))
    taken = [slot for slot in slots if isinstance(slot, Slot)]
    assert len(taken) == 2
    await windows.give_back(taken[0])
    assert isinstance(await windows.take([bucket], hold=1.0, lasts=60.0), Slot)
    assert await windows.take([bucket], hold=1.0, lasts=60.0) is None
