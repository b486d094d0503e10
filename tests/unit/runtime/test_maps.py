"""Maps: keys, order, conditions, failures, reuse, takeover."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import play, steps, when
from runtime.context import Context
from runtime.errors import DuplicateStep
from runtime.events import RunStatus
from runtime.memory import hit
from runtime.ports import MemberOutcome
from runtime.program import Play
from runtime.tools import ToolSpec
from tests.unit.runtime.conftest import World, tool
from tests.unit.runtime.programs import mapped

Make = Callable[..., ToolSpec]


async def test_fields_run_in_order_and_see_those_before_them(world: Any) -> None:  # rule 6.5
    here = world(rows=[{"n": "2"}])
    await here.run(
        mapped(("a", lambda row: int(row["n"])), ("b", lambda row: row["a"] * 10), ("c", 7))
    )
    assert [here.values(name) for name in "abc"] == [[2], [20], [7]]


async def test_functions_get_as_much_as_they_ask_for(world: Any) -> None:
    # rule 7.1
    here = world(rows=[{"n": "a"}, {"n": "b"}])

    async def all_three(row: Any, ctx: Context, index: int) -> str:
        return f"{row['n']}{index}"

    await here.run(mapped(("one", lambda row: row["n"]), ("three", all_three), ("builtin", len)))
    assert here.values("three") == ["a0", "b1"]
    assert here.values("builtin") == [3, 3]


async def test_hidden_fields_are_seen_by_later_steps_and_left_out_of_the_output(world: Any) -> None:
    # rule 6.9
    here = world(rows=[{"n": "Ada"}])
    outcome = await here.run(
        mapped(("_low", lambda row: row["n"].lower()), ("twice", lambda row: row["_low"] * 2))
    )
    assert outcome.result["dataset"]["columns"] == ["n", "twice"]
    assert here.values("twice") == ["adaada"]


async def test_a_condition_that_does_not_hold_ends_as_skipped(world: Any) -> None:  # rule 7.4
    here = world(rows=[{"n": "1"}, {"n": ""}])
    condition = when(lambda row: row["n"], run=lambda row: "yes", otherwise="no")
    await here.run(mapped(("has", condition)))
    assert here.values("has") == ["yes", "no"]
    assert here.statuses("has") == ["completed", "skipped"]


async def test_a_nested_program_gives_its_visible_steps_or_what_it_returns(world: Any) -> None:
    # rule 7.2
    nested = (
        steps()
        .step("_low", lambda row: row["n"].lower())
        .step("twice", lambda row: row["_low"] * 2)
    )
    here = world(rows=[{"n": "A"}])
    await here.run(
        mapped(("one", nested), ("two", nested.returns(lambda row: row["twice"] + row["n"])))
    )
    assert here.values("one") == [{"twice": "aa"}]
    assert here.values("two") == ["aaA"]


async def test_a_step_named_like_a_column_fills_its_empty_cells_only(
    world: Any,
) -> None:  # rule 6.6
    here = world(rows=[{"email": "a@x.example"}, {"email": ""}])
    await here.run(mapped(("email", lambda row: "found")))
    assert here.values("email") == ["a@x.example", "found"]
    assert here.statuses("email") == ["cached", "completed"]


async def test_a_rows_failure_is_that_rows(world: Any) -> None:  # rule 6.11
    # case C12
    here = world(rows=[{"n": "1"}, {"n": "x"}, {"n": "3"}])
    outcome = await here.run(
        mapped(("number", lambda row: int(row["n"])), ("next", lambda row: row["number"] + 1))
    )
    assert outcome.status is RunStatus.COMPLETED
    assert here.row_statuses() == ["completed", "failed", "completed"]
    cells = here.rows()[1].cells
    assert cells["number"]["error"]["type"] == "ValueError"
    assert cells["number"]["error"]["line"].split(":")[0].endswith("test_maps.py")
    assert (str(cells["next"]["status"]), cells["next"]["reason"]) == ("skipped", "after number")


async def test_on_row_error_fail_raises_after_all_rows_settled(world: Any) -> None:
    here = world(rows=[{"n": "x"}, {"n": "1"}])
    outcome = await here.run(mapped(("number", lambda row: int(row["n"])), on_row_error="fail"))
    assert outcome.status is RunStatus.FAILED
    assert "1 of 2 rows failed" in outcome.error["message"]
    assert here.row_statuses() == ["failed", "completed"]


async def test_a_value_that_json_cannot_hold_fails_its_cell_and_names_step_and_map(
    world: Any,
) -> None:
    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("bad", lambda row: {1, 2})))
    message = here.rows()[0].cells["bad"]["error"]["message"]
    assert message.startswith("step 'bad' of map 'rows' gave a set")


async def test_a_row_is_read_only(world: Any) -> None:
    def write(row: Any) -> None:
        row["n"] = "2"

    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("bad", write)))
    assert here.rows()[0].cells["bad"]["error"]["type"] == "TypeError"


async def test_a_missing_column_names_those_that_there_are(world: Any) -> None:
    here = world(rows=[{"n": "1", "m": "2"}])
    await here.run(mapped(("bad", lambda row: row["nn"])))
    assert "the row has n, m" in here.rows()[0].cells["bad"]["error"]["message"]


async def test_duplicate_explicit_keys_stop_the_map_with_their_row_numbers(world: Any) -> None:
    rows = [{"n": str(index % 7)} for index in range(14)]
    here = world(rows=rows)
    outcome = await here.run(mapped(("a", 1), key="n"))
    assert outcome.status is RunStatus.FAILED
    message = outcome.error["message"]
    assert "7 row keys stand more than once" in message
    assert "(0) in rows 1, 8" in message
    assert message.count(" in rows ") == 5
    assert "and 2 more" in message


async def test_equal_rows_without_a_key_all_stay(world: Any) -> None:  # rule 5.14, case E12
    here = world(rows=[{"n": "1"}] * 3)
    await here.run(mapped(("a", lambda row: row["n"])))
    assert here.values("a") == ["1", "1", "1"]
    keys = [row.key for row in here.rows()]
    assert keys[1:] == [f"{keys[0]}#2", f"{keys[0]}#3"]


async def test_rows_with_blank_key_parts_are_not_equal_to_each_other(world: Any) -> None:  # case K3
    here = world(rows=[{"n": "", "m": "x"}, {"n": "", "m": "x"}])
    await here.run(mapped(("a", 1), key="n"))
    assert here.values("a") == [1, 1]
    assert any("blank part" in line["text"] for line in here.ports.run.logs)


async def test_a_key_may_be_a_function_of_row_and_index(world: Any) -> None:  # rule 5.8
    here = world(rows=[{"n": "1"}] * 3)
    await here.run(mapped(("a", 1), key=lambda row, index: [row["n"], index]))
    assert len({row.key for row in here.rows()}) == 3


async def test_a_key_on_a_computed_field_is_refused(world: Any) -> None:
    outcome = await world(rows=[{"n": "1"}]).run(mapped(("a", 1), key="a"))
    assert "which the map itself computes" in outcome.error["message"]


async def test_a_failing_key_function_names_the_row(world: Any) -> None:
    here = world(rows=[{"n": "1"}, {"n": "x"}])
    outcome = await here.run(mapped(("a", 1), key=lambda row, index: int(row["n"])))
    assert "the key function failed on row 2: ValueError" in outcome.error["message"]


def test_a_name_used_twice_is_refused() -> None:  # rule 5.4
    with pytest.raises(DuplicateStep, match="used twice"):
        steps().step("a", 1).step("a", 2)


@pytest.mark.parametrize("rows", [7, {"a": 1}, "text", None])
async def test_rows_that_are_none_are_refused(world: Any, rows: Any) -> None:
    @play("bad")
    async def bad(ctx: Context, given: Any) -> Any:
        return await ctx.map("rows", rows).step("a", 1).run()

    outcome = await world().run(bad)
    assert "give a dataset, a list or an asynchronous iterable" in outcome.error["message"]


async def test_rows_may_be_a_list_or_an_asynchronous_iterable_of_anything(world: Any) -> None:
    async def numbers() -> AsyncIterator[int]:
        for number in range(2_500):
            yield number

    here = world()
    await here.run(mapped(("next", lambda row: row["value"] + 1), rows=numbers()))
    assert here.values("next") == list(range(1, 2_501))


async def test_an_empty_map_completes(world: Any) -> None:  # rule 5.18
    outcome = await world().run(mapped(("a", 1), rows=[]))
    assert outcome.status is RunStatus.COMPLETED
    assert outcome.result["dataset"]["count"] == 0


async def test_columns_that_later_rows_bring_are_refused_where_they_cannot_be_known(
    world: Any,
) -> None:
    async def rows() -> AsyncIterator[dict[str, int]]:
        for number in range(1_001):
            yield {"n": number} if number < 1_000 else {"n": number, "new": 1}

    outcome = await world().run(mapped(("a", 1), rows=rows()))
    assert "row 1001 brings the columns new" in outcome.error["message"]


async def test_maps_chain(world: Any) -> None:
    @play("chained")
    async def chained(ctx: Context, given: Any) -> Any:
        first = await ctx.map("one", await ctx.csv(given["rows"])).step("_x", 1).step("a", 2).run()
        return await ctx.map("two", first).step("b", lambda row: [*row]).run()

    here = world(rows=[{"n": "1"}])
    outcome = await here.run(chained)
    assert here.values("b", frame=1) == [["n", "a"]]
    assert outcome.result["dataset"]["columns"] == ["n", "a", "b"]


async def test_a_map_in_a_row_is_refused(world: Any) -> None:  # rule 5.1
    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("bad", lambda row, ctx: ctx.map("inner", []))))
    assert here.rows()[0].cells["bad"]["error"]["type"] == "NestedMap"


async def test_two_maps_of_one_table_are_refused(world: Any) -> None:
    @play("same")
    async def same(ctx: Context, given: Any) -> Any:
        await ctx.map("My Table", []).step("a", 1).run()
        await ctx.map("my_table", []).step("a", 1).run()

    outcome = await world().run(same)
    assert "two maps of this play have the table 'my_table'" in outcome.error["message"]


async def test_a_second_run_takes_what_the_first_found(world: Any, make_tool: Make) -> None:
    # case C11
    asked: list[str] = []
    here = world(
        {make_tool("finder"): lambda given: note(asked, given)}, rows=[{"n": "1"}, {"n": "2"}]
    )
    program = mapped(("email", find))
    await here.run(program)
    here.ports = here.ports.next("run-2")
    await here.run(program)
    assert asked == ["1", "2"]
    assert here.values("email") == ["1", "2"]
    assert here.statuses("email") == ["cached", "cached"]
    assert here.rows()[0].cells["email"]["reason"] == "known from an earlier run"


async def test_changed_code_runs_again(world: Any, make_tool: Make) -> None:
    asked: list[str] = []
    here = world({make_tool("finder"): lambda given: note(asked, given)}, rows=[{"n": "1"}])
    await here.run(mapped(("email", find)))
    here.ports = here.ports.next("run-2")
    here.code = "code-2"
    here.ports.gateway.ledger.clear()
    await here.run(mapped(("email", find)))
    assert asked == ["1", "1"]


async def test_a_value_that_was_read_and_changed_makes_the_cell_run_again(world: Any) -> None:
    here = world()
    key = lambda row, index: row["id"]  # noqa: E731
    one = [{"id": 1, "read": "a", "unread": "x"}]
    await here.run(mapped(("low", lambda row: row["read"] * 2), rows=one, key=key))
    for rows, status in (
        ([{"id": 1, "read": "a", "unread": "y"}], "cached"),
        ([{"id": 1, "read": "b", "unread": "y"}], "completed"),
    ):
        here.ports = here.ports.next(f"run-{status}")
        await here.run(mapped(("low", lambda row: row["read"] * 2), rows=rows, key=key))
        assert here.statuses("low") == [status]


async def test_a_stale_cell_runs_again_and_a_fresh_one_does_not(world: Any) -> None:
    def program(seconds: float) -> Play:
        @play("stale")
        async def stale(ctx: Context, given: Any) -> Any:
            table = ctx.map("rows", [{"n": 1}], stale_after_seconds=seconds)
            return await table.step("a", lambda row: row["n"]).run()

        return stale

    here = world()
    await here.run(program(100))
    await here.ports.clock.advance(50)
    here.ports = here.ports.next("run-2")
    await here.run(program(100))
    assert here.statuses("a") == ["cached"]
    await here.ports.clock.advance(100)
    here.ports = here.ports.next("run-3")
    await here.run(program(100))
    assert here.statuses("a") == ["completed"]
    here.ports = here.ports.next("run-4")
    await here.run(program(0))
    assert here.statuses("a") == ["completed"]


def note(asked: list[str], given: Any) -> MemberOutcome:
    asked.append(given["n"])
    return hit({"email": given["n"]})


async def find(row: Any, ctx: Context) -> Any:
    return (await ctx.tools.execute(id="find", tool="finder", input={"n": row["n"]})).value()


@settings(max_examples=60, deadline=None)
@given(
    kills=st.lists(st.integers(0, 40), max_size=4),
    count=st.integers(1, 30),
    size=st.integers(0, 7),
)
async def test_run_kill_anywhere_resume_equals_run(kills: list[int], count: int, size: int) -> None:
    # case C10
    """Whatever step of the loop an engine dies at, the next ends with the same cells, and pays once."""
    quiet = World({tool("finder", size=size): answer}, rows=[{"n": str(i)} for i in range(count)])
    await quiet.run(durable_play([]))
    steps_run: list[str] = []
    here = World({tool("finder", size=size): answer}, rows=[{"n": str(i)} for i in range(count)])
    for ticks in kills:
        engine = asyncio.ensure_future(here.run(durable_play(steps_run)))
        for _ in range(ticks * 3):
            await asyncio.sleep(0)
        engine.cancel()
        await asyncio.wait({engine})
        here.ports = here.ports.next()
    await here.run(durable_play(steps_run))
    for field in ("once", "email", "double"):
        assert here.values(field) == quiet.values(field)
        assert here.statuses(field) == quiet.statuses(field)
    assert here.ports.gateway.sent["finder"] == count


def answer(given: Any) -> MemberOutcome:
    return hit({"email": given["n"]}) if int(given["n"]) % 3 else {"kind": "miss"}


def durable_play(steps_run: list[str]) -> Play:
    async def once(row: Any, ctx: Context) -> Any:
        return await ctx.step("once", lambda: steps_run.append(row["n"]) or row["n"])

    return mapped(
        ("once", once),
        ("email", find),
        ("double", when(lambda row: row["email"], run=lambda row: 2)),
    )


async def test_a_map_that_must_not_fail_names_its_first_failed_row_once_all_settled(
    world: Any,
) -> None:
    # rule 6.11, 6.12
    def half(row: Any) -> int:
        if int(row["n"]) % 2 == 0:
            raise ValueError(f"{row['n']} is even")
        return int(row["n"])

    @play("halves")
    async def halves(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", [{"n": str(n)} for n in range(1, 7)]).step("half", half)
        return await rows.run(on_row_error="fail")

    here = world()
    outcome = await here.run(halves, {})
    assert outcome.status is RunStatus.FAILED
    assert outcome.error["type"] == "RowsFailed"
    assert outcome.error["message"] == (
        "map 'rows': 3 of 6 rows failed, first step 'half' of row 2: 2 is even"
    )
    assert outcome.error["play"] == "halves"
    assert here.row_statuses() == ["completed", "failed"] * 3


async def test_rows_that_failed_in_an_earlier_worker_fail_the_map_too(world: Any) -> None:
    # rule 6.11
    ran: list[str] = []

    async def fails_first(row: Any, ctx: Context) -> str:
        ran.append(row["n"])
        if row["n"] == "1":
            raise ValueError("no")
        if len(ran) == 2:
            await here.ports.clock.sleep(1e6)
        return "done"

    @play("strict")
    async def strict(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", [{"n": "1"}, {"n": "2"}]).step("a", fails_first)
        return await rows.run(on_row_error="fail")

    here = world()
    running = asyncio.ensure_future(here.run(strict, {}))
    await here.ports.clock.advance(10)
    running.cancel()
    await asyncio.wait({running})
    here.ports = here.ports.next()
    outcome = await here.run(strict, {})
    assert "1 of 2 rows failed, first step 'a' of row 1: no" in outcome.error["message"]
    assert ran == ["1", "2", "2"]


async def test_an_error_in_a_nested_step_names_its_whole_path_and_line(world: Any) -> None:
    # rule 6.13
    def breaks(row: Any) -> Any:
        raise ValueError("no")

    nested = steps().step("inner", steps().step("deep", breaks))

    @play("nesting")
    async def nesting(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", [{"n": "1"}]).step("outer", nested)
        return await rows.run(on_row_error="fail")

    here = world()
    outcome = await here.run(nesting, {})
    error = here.rows()[0].cells["outer"]["error"]
    assert (error["step"], error["message"]) == ("outer.inner.deep", "no")
    assert error["line"].startswith(f"{__file__}:")
    assert "first step 'outer.inner.deep' of row 1: no" in outcome.error["message"]
