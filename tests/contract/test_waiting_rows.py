"""Rows that wait: how they leave memory, and what brings them back."""

from __future__ import annotations

import asyncio
import time

from runtime.ports import Boundary
from tests.contract.forms import change, frame_form, group, new_rows
from tests.contract.worlds import Joined, MemoryWorld, World


def now(world: World) -> float:
    return world.ports.clock.now() if isinstance(world, MemoryWorld) else time.time()


async def loaded(ports: Joined, *keys: str) -> int:
    frame = (await ports.rows.open_map(frame_form()))["frame"]
    await ports.rows.add_page(frame, new_rows(*keys))
    await ports.rows.seal(frame)
    return frame


async def parked(world: World, ports: Joined, frame: int, position: int, seconds: float) -> None:
    waits = change(frame, position, "waiting", cells={"email": {"status": "waiting"}})
    await ports.records.commit(group({**waits, "wake_at": now(world) + seconds}))


def row_wait(frame: int, position: int) -> Boundary:
    return {
        "name": f"map/{position}/ok",
        "seconds": 3_600.0,
        "event": "ok",
        "frame": frame,
        "position": position,
        "message": None,
        "form": None,
    }


async def test_a_waiting_row_is_claimed_when_it_is_due_after_the_pending_ones(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b", "c")
    await ports.rows.claim(frame, 2)
    await parked(world, ports, frame, 0, 0.0)
    await parked(world, ports, frame, 1, 3_600.0)
    claimed = await ports.rows.claim(frame, 5)
    assert [(row["key"], row.get("woken")) for row in claimed] == [("c", None), ("a", True)]
    assert (await world.frame("one")).row_totals == {"running": 2, "waiting": 1}
    assert (await world.frame("one")).adds_up()


async def test_the_store_tells_how_many_rows_wait_and_until_when(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b")
    assert await ports.rows.waiting(frame) is None
    await ports.rows.claim(frame, 2)
    await parked(world, ports, frame, 0, 500.0)
    await parked(world, ports, frame, 1, 100.0)
    told = await ports.rows.waiting(frame)
    assert told is not None
    assert told["rows"] == 2
    assert abs(told["wake_at"] - now(world) - 100.0) < 60.0


async def test_an_answer_wakes_its_row_at_once(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b")
    await ports.rows.claim(frame, 2)
    for position in (0, 1):
        await ports.receipts.wait({**row_wait(frame, position), "event": f"ok-{position}"})
        await parked(world, ports, frame, position, 3_600.0)
    woken = asyncio.ensure_future(ports.signals.woken(frame))
    await asyncio.sleep(0)
    assert not woken.done()
    await world.deliver("one", "ok-1", True)
    await woken
    assert [row["key"] for row in await ports.rows.claim(frame, 5)] == ["b"]


async def test_an_answer_that_meets_a_row_on_its_way_to_wait_is_not_lost(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a")
    await ports.rows.claim(frame, 1)
    await ports.receipts.wait(row_wait(frame, 0))
    await world.deliver("one", "ok", True)
    await parked(world, ports, frame, 0, 3_600.0)
    assert [row["key"] for row in await ports.rows.claim(frame, 1)] == ["a"]


async def test_a_takeover_leaves_waiting_rows_waiting(world: World) -> None:
    first = await world.join()
    frame = await loaded(first, "a", "b")
    await first.rows.claim(frame, 2)
    await parked(world, first, frame, 0, 3_600.0)
    second = await world.join()
    assert [row["key"] for row in await second.rows.claim(frame, 5)] == ["b"]
    assert (await world.frame("one")).rows[0]["cells"]["email"]["status"] == "waiting"


async def test_who_waits_for_rows_is_woken_when_one_is_due(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a")
    await ports.rows.claim(frame, 1)
    await parked(world, ports, frame, 0, 1.0)
    await ports.signals.woken(frame)
    assert [row["key"] for row in await ports.rows.claim(frame, 1)] == ["a"]
