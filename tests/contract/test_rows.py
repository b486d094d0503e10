"""The ``Rows`` port: loading, sealing, claiming, reading."""

from __future__ import annotations

import pytest

from runtime.errors import HostFailed
from runtime.ports import Cell
from tests.contract.forms import change, field_form, frame_form, group, new_rows
from tests.contract.worlds import Joined, World


async def loaded(ports: Joined, *keys: str, explicit: bool = True, path: str = "map") -> int:
    """Open a frame, load rows with these keys and seal it."""
    opened = await ports.rows.open_map(frame_form(explicit=explicit, path=path))
    await ports.rows.add_page(opened["frame"], new_rows(*keys))
    await ports.rows.seal(opened["frame"])
    return opened["frame"]


async def test_rows_are_claimed_by_position_and_once(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b", "c")
    first = await ports.rows.claim(frame, 2)
    second = await ports.rows.claim(frame, 2)
    assert [row["key"] for row in first] == ["a", "b"]
    assert [row["key"] for row in second] == ["c"]
    assert await ports.rows.claim(frame, 2) == []


async def test_a_claimed_row_brings_its_input_and_nothing_that_is_not_known(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a")
    (row,) = await ports.rows.claim(frame, 1)
    assert row == {
        "position": 0,
        "key": "a",
        "input": {"name": "a"},
        "values": {},
        "cells": {},
        "entries": {},
    }


async def test_pages_of_any_size_become_one_frame(world: World) -> None:
    ports = await world.join()
    opened = await ports.rows.open_map(frame_form())
    rows = new_rows("a", "b", "c")
    await ports.rows.add_page(opened["frame"], rows[:2])
    await ports.rows.add_page(opened["frame"], rows[2:])
    await ports.rows.add_page(opened["frame"], [])
    sealed = await ports.rows.seal(opened["frame"])
    assert sealed == {"total": 3, "duplicate_keys": 0, "duplicates": []}
    stored = await world.frame("one")
    assert stored.sealed
    assert stored.total == 3
    assert stored.row_totals == {"pending": 3}
    assert (await world.run("one"))["counters"] == {"rows": 3}


async def test_an_empty_map_seals_with_no_rows(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports)
    assert await ports.rows.claim(frame, 5) == []
    stored = await world.frame("one")
    assert (stored.sealed, stored.total, stored.row_totals) == (True, 0, {})


async def test_sealing_twice_gives_the_same(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b")
    again = await ports.rows.seal(frame)
    assert again == {"total": 2, "duplicate_keys": 0, "duplicates": []}
    assert (await world.run("one"))["counters"] == {"rows": 2}


async def test_equal_rows_are_numbered_in_input_order(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "x", "y", "x", "x", explicit=False)
    rows = await ports.rows.claim(frame, 10)
    assert [row["key"] for row in rows] == ["x", "y", "x#2", "x#3"]


async def test_duplicate_explicit_keys_are_told_and_leave_the_frame_open(world: World) -> None:
    ports = await world.join()
    opened = await ports.rows.open_map(frame_form(explicit=True))
    keys = ["a", "b", "a", "c", "b", *("a" * 6)]
    await ports.rows.add_page(opened["frame"], new_rows(*keys))
    sealed = await ports.rows.seal(opened["frame"])
    assert sealed["duplicate_keys"] == 2
    assert sealed["duplicates"] == [
        {"positions": [0, 2, 5, 6, 7], "input": {"name": "a"}},
        {"positions": [1, 4], "input": {"name": "b"}},
    ]
    assert not (await world.frame("one")).sealed
    assert await ports.rows.claim(opened["frame"], 5) == []


async def test_at_most_five_duplicate_keys_are_told_and_all_are_counted(world: World) -> None:
    ports = await world.join()
    opened = await ports.rows.open_map(frame_form(explicit=True))
    keys = [f"k{n}" for n in range(7)]
    await ports.rows.add_page(opened["frame"], new_rows(*keys, *keys))
    sealed = await ports.rows.seal(opened["frame"])
    assert sealed["duplicate_keys"] == 7
    assert [told["input"]["name"] for told in sealed["duplicates"]] == keys[:5]


async def test_an_unsealed_frame_is_loaded_again_from_nothing(world: World) -> None:
    first = await world.join()
    opened = await first.rows.open_map(frame_form())
    await first.rows.add_page(opened["frame"], new_rows("a", "b"))
    second = await world.join()
    again = await second.rows.open_map(frame_form())
    assert again == {"frame": opened["frame"], "sealed": False, "total": 0}
    await second.rows.add_page(again["frame"], new_rows("c"))
    assert (await second.rows.seal(again["frame"]))["total"] == 1
    assert [row["key"] for row in await second.rows.claim(again["frame"], 5)] == ["c"]


async def test_a_sealed_frame_keeps_its_rows(world: World) -> None:
    first = await world.join()
    frame = await loaded(first, "a", "b")
    second = await world.join()
    again = await second.rows.open_map(frame_form(field_form("other")))
    assert again == {"frame": frame, "sealed": True, "total": 2}


async def test_frames_tell_how_many_rows_are_over(world: World) -> None:
    first = await world.join()
    frame = await loaded(first, "a", "b", "c")
    await first.rows.claim(frame, 3)
    await first.records.commit(group(change(frame, 0, "completed"), change(frame, 1, "failed")))
    opened = await (await world.join()).rows.open_map(frame_form())
    assert opened["settled"] == {"completed": 1, "failed": 1}


async def test_rows_of_a_dead_participant_are_pending_again(world: World) -> None:
    first = await world.join()
    frame = await loaded(first, "a", "b", "c")
    await first.rows.claim(frame, 2)
    await first.records.commit(
        group(
            change(frame, 0, "completed", values={"email": "x"}, cells={"email": done_cell()}),
            change(frame, 1, cells={"email": {"status": "running"}}),
        )
    )
    second = await world.join()
    claimed = await second.rows.claim(frame, 5)
    assert [row["position"] for row in claimed] == [1, 2]
    stored = await world.frame("one")
    assert stored.rows[1]["cells"]["email"]["status"] == "queued"
    assert stored.row_totals == {"completed": 1, "running": 2}
    assert stored.adds_up()


async def test_a_row_that_was_given_back_is_claimed_again(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b")
    await ports.rows.claim(frame, 2)
    await ports.records.commit(group(change(frame, 1, "pending")))
    assert [row["position"] for row in await ports.rows.claim(frame, 5)] == [1]


async def test_a_claimed_row_brings_its_entries_values_and_cells(world: World) -> None:
    first = await world.join()
    frame = await loaded(first, "a", "b")
    await first.rows.claim(frame, 2)
    entry = {"name": "map/a/email/step", "frame": frame, "position": 0, "value": {"n": 1}}
    await first.records.commit(
        group(
            change(frame, 0, values={"email": "x@d.example"}, cells={"email": done_cell()}),
            entries=[entry],
        )
    )
    second = await world.join()
    row, other = await second.rows.claim(frame, 5)
    assert row["entries"] == {"map/a/email/step": {"n": 1}}
    assert row["values"] == {"email": "x@d.example"}
    assert row["cells"]["email"]["status"] == "completed"
    assert other["entries"] == {}


async def test_pages_are_read_by_position_with_their_values(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b", "c")
    await ports.rows.claim(frame, 1)
    await ports.records.commit(group(change(frame, 0, "completed", values={"email": None})))
    page = await ports.rows.read_page(frame, -1, 2)
    assert page == [
        {
            "position": 0,
            "key": "a",
            "status": "completed",
            "input": {"name": "a"},
            "values": {"email": None},
        },
        {"position": 1, "key": "b", "status": "pending", "input": {"name": "b"}, "values": {}},
    ]
    assert [row["position"] for row in await ports.rows.read_page(frame, 1, 10)] == [2]
    assert await ports.rows.read_page(frame, 2, 10) == []


async def test_what_postgresql_cannot_hold_is_replaced(world: World) -> None:
    ports = await world.join()
    opened = await ports.rows.open_map(frame_form(explicit=False))
    odd = {"name": "nul\x00 lone\ud800 tab\t line\n back\\slash \\u0000", "n": 2**70}
    await ports.rows.add_page(opened["frame"], [{"position": 0, "key": "k", "input": odd}])
    await ports.rows.seal(opened["frame"])
    (row,) = await ports.rows.claim(opened["frame"], 1)
    assert row["input"] == {
        "name": "nul\ufffd lone\ufffd tab\t line\n back\\slash \\u0000",
        "n": 2**70,
    }


async def test_a_fenced_participant_can_change_no_rows(world: World) -> None:
    first = await world.join()
    frame = await loaded(first, "a", "b")
    await world.join()
    with pytest.raises(HostFailed):
        await first.rows.claim(frame, 1)
    with pytest.raises(HostFailed):
        await first.rows.open_map(frame_form(path="another"))
    assert (await world.frame("one")).row_totals == {"pending": 2}


def done_cell() -> Cell:
    return {"status": "completed", "step": "d1", "at": 1.0}


async def test_the_first_failed_row_is_told_with_what_failed_in_it(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b", "c")
    await ports.rows.claim(frame, 3)
    assert await ports.rows.failed(frame) is None
    for position in (2, 1):
        cell: Cell = {"status": "failed", "error": {"type": "E", "message": f"no {position}"}}
        skipped: Cell = {"status": "skipped", "reason": "after email"}
        cells = {"email": cell, "verdict": skipped}
        await ports.records.commit(group(change(frame, position, "failed", cells=cells)))
    told = await (await world.join()).rows.failed(frame)
    assert told == {
        "rows": 2,
        "position": 1,
        "field": "email",
        "error": {"type": "E", "message": "no 1"},
    }
