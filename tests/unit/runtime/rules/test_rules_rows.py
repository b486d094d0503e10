"""Rows and cells: counts, order, what a field keeps, what it shows while it runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.context import Context
from runtime.identity import content_parts, row_key
from runtime.memory import hit
from runtime.ports import MemberOutcome
from tests.unit.runtime.programs import mapped, rows_of, top


async def test_a_maps_total_is_its_rows_and_settled_ones_count_as_done(world: Any) -> None:
    # rule 6.1
    here = world(rows=[{"n": "1"}, {"n": "x"}, {"n": "3"}])
    await here.run(mapped(("a", lambda row: int(row["n"]))))
    here.ports = here.ports.next("retry", selection={"rows": "failed"}, retry_of="run-1")
    seen: list[dict[str, int]] = []

    def count(row: Any) -> int:
        seen.append(here.frames[0].row_totals())
        return 0

    await here.run(mapped(("a", count)))
    assert here.frames[0].total == 3
    assert seen == [{"completed": 2, "running": 1}]


async def test_fields_of_a_row_run_in_order_while_rows_run_side_by_side(world: Any) -> None:
    # rule 6.5
    began: list[str] = []

    def noting(field: str) -> Any:
        async def step(row: Any, ctx: Context) -> str:
            began.append(f"{field}{row['n']}")
            await here.ports.clock.sleep(1)
            return f"{row.get('a', '')}{field}"

        return step

    here = world(rows=[{"n": "1"}, {"n": "2"}])
    await here.run(mapped(("a", noting("a")), ("b", noting("b"))))
    assert began == ["a1", "a2", "b1", "b2"]
    assert here.values("b") == ["ab", "ab"]


@pytest.mark.parametrize("kept", [0, False, [], {}, "x", 0.0])
async def test_a_cell_that_is_not_blank_is_kept_and_shown_as_cached(world: Any, kept: Any) -> None:
    # rule 6.6
    here = world()
    await here.run(mapped(("email", lambda row: "found"), rows=[{"email": kept}]))
    assert (here.values("email"), here.statuses("email")) == ([kept], ["cached"])


@pytest.mark.parametrize("blank", ["", " \t", None])
async def test_a_blank_cell_of_the_input_is_filled(world: Any, blank: Any) -> None:
    # rule 6.6
    here = world()
    await here.run(mapped(("email", lambda row: "found"), rows=[{"email": blank}]))
    assert (here.values("email"), here.statuses("email")) == (["found"], ["completed"])


async def test_a_field_that_runs_shows_so_and_its_value_comes_with_its_completion(
    world: Any,
) -> None:
    # rule 6.7
    here = world(rows=[{"n": "1"}])

    async def slow(row: Any, ctx: Context) -> str:
        await here.ports.clock.sleep(60)
        return "done"

    running = asyncio.ensure_future(here.run(mapped(("quick", 1), ("slow", slow))))
    await here.ports.clock.advance(30)
    assert here.statuses("quick") == ["completed"]
    assert here.statuses("slow") == ["running"]
    assert "slow" not in here.rows()[0].values
    assert here.row_statuses() == ["running"]
    await running
    assert (here.statuses("slow"), here.values("slow")) == (["completed"], ["done"])


async def test_a_step_that_gives_nothing_stores_none(world: Any) -> None:
    # rule 6.8
    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("nothing", lambda row: None), ("seen", lambda row: row["nothing"])))
    assert here.rows()[0].values == {"nothing": None, "seen": None}
    assert here.statuses("nothing") == ["completed"]


async def test_a_rows_output_is_its_input_and_its_visible_fields(world: Any) -> None:
    # rule 6.9
    @top
    async def program(ctx: Context) -> Any:
        table = ctx.map("t", [{"n": "A", "_given": 1}]).step("_low", lambda row: row["n"].lower())
        return await rows_of(await table.step("both", lambda row: row["n"] + row["_low"]).run())

    assert (await world().run(program)).result == {"value": [{"n": "A", "_given": 1, "both": "Aa"}]}


async def test_a_rows_key_is_made_once_of_its_input(world: Any) -> None:
    # rule 6.17
    made: list[int] = []

    def by_index(row: Any, index: int) -> int:
        made.append(index)
        return index

    @top
    async def program(ctx: Context) -> Any:
        rows = [{"n": "a", "email": ""}, {"n": "b", "email": ""}]
        table = ctx.map("t", rows, key=by_index).step("email", lambda row: "filled")
        await (await table.step("_x", 1).run()).materialize()

    here = world()
    await here.run(program)
    assert made == [0, 1]
    keys = [row.key for row in here.rows()]
    here.ports = here.ports.next()
    await here.run(program)
    assert [row.key for row in here.rows()] == keys


async def test_a_row_that_comes_back_with_its_fields_filled_is_the_same_row(world: Any) -> None:
    # case E12
    # rule 6.17
    here = world()
    await here.run(mapped(("email", "e"), ("_x", 1), rows=[{"n": "a"}]))
    first = here.rows()[0].key
    here.ports = here.ports.next("run-2")
    await here.run(mapped(("email", "e"), ("_x", 1), rows=[{"n": "a", "email": "e"}]))
    assert here.rows()[0].key == first
    parts = content_parts({"n": "a", "email": "e"}, ["email", "_x"])
    assert first == row_key(here.frames[0].form["table"], parts)


async def test_between_two_calls_a_cell_shows_as_running_again(world: Any, make_tool: Any) -> None:
    # rule 10.11
    here = world({make_tool("finder"): echo}, rows=[{"n": "1"}])

    async def twice(row: Any, ctx: Context) -> Any:
        await ctx.tools.execute(id="one", tool="finder", input={"n": "1"})
        await here.ports.clock.sleep(60)
        return (await ctx.tools.execute(id="two", tool="finder", input={"n": "2"})).value()

    running = asyncio.ensure_future(here.run(mapped(("email", twice))))
    await here.ports.clock.advance(30)
    cell = here.rows()[0].cells["email"]
    assert (str(cell["status"]), cell.get("stage", "")) == ("running", "")
    await running
    assert here.values("email") == ["2"]


def echo(given: Any) -> MemberOutcome:
    return hit({"email": given["n"]})
