"""Step programs: what a resolver may be, nested programs, conditions."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import steps, when
from runtime.context import Context
from runtime.memory import hit
from tests.unit.runtime.programs import mapped


async def test_a_function_gets_the_row_ctx_and_index_as_many_as_it_takes(world: Any) -> None:
    # rule 7.1
    here = world(rows=[{"n": "a"}, {"n": "b"}])

    async def late(row: Any, ctx: Context, index: int, extra: str = "!") -> str:
        return f"{row['n']}{index}{extra}"

    nested = steps().step("in", lambda row, ctx, index: index).returns(lambda row: [row["in"]])
    held = when(lambda row, ctx, index: index == 1, run=lambda row, ctx: type(ctx).__name__)
    await here.run(mapped(("late", late), ("nested", nested), ("held", held), ("none", list)))
    assert here.values("late") == ["a0!", "b1!"]
    assert here.values("nested") == [[0], [1]]
    assert here.values("held") == [None, "Context"]


async def test_a_function_that_asks_for_more_is_refused_before_any_row_runs(world: Any) -> None:
    # rule 7.1
    here = world(rows=[{"n": "a"}])
    outcome = await here.run(mapped(("a", lambda row, ctx, index, more: 1)))
    assert "asks for 4 arguments" in outcome.error["message"]
    assert here.frames == []


async def test_a_nested_steps_durable_names_hold_the_whole_path_of_the_field(
    world: Any, make_tool: Any
) -> None:
    # rule 7.3
    here = world({make_tool("finder"): lambda given: hit({"email": 1})}, rows=[{"n": "a"}])
    committed: list[str] = []
    commit = here.ports.records.commit

    async def noting(group: Any) -> int:
        committed.extend(entry["name"] for entry in group["entries"])
        return int(await commit(group))

    here.ports.records.commit = noting

    async def ask(row: Any, ctx: Context) -> Any:
        await ctx.step("once", lambda: 1)
        return (await ctx.tools.execute(id="find", tool="finder", input={})).value()

    await here.run(mapped(("outer", steps().step("mid", steps().step("inner", ask)))))
    place = f"mapped/map/mapped_rows/{here.rows()[0].key}/outer.mid.inner"
    assert committed == [f"{place}/step/once"]
    assert here.ports.gateway.requests[0].members[0]["name"].startswith(f"{place}/find/")


@pytest.mark.parametrize("condition", [lambda row: False, lambda row: None, lambda row: ""])
async def test_a_condition_that_does_not_hold_is_skipped_to_the_end(
    world: Any, condition: Any
) -> None:
    # rule 7.4
    here = world(rows=[{"n": "a"}])
    await here.run(
        mapped(
            ("told", when(condition, run=lambda row: 1, otherwise="no")),
            ("untold", when(condition, run=lambda row: 1)),
            ("later", lambda row: [row["told"], row["untold"]]),
        )
    )
    assert [here.statuses(name) for name in ("told", "untold")] == [["skipped"], ["skipped"]]
    assert here.values("later") == [["no", None]]
    assert here.row_statuses() == ["completed"]


@pytest.mark.parametrize("constant", [7, "text", None, [1, {"a": None}], False])
async def test_a_resolver_that_is_no_function_is_the_value_of_every_row(
    world: Any, constant: Any
) -> None:
    # rule 7.5
    here = world(rows=[{"n": "a"}, {"n": "b"}])
    await here.run(mapped(("same", constant)))
    assert here.values("same") == [constant, constant]


async def test_plain_code_is_found_out_by_running_it(world: Any, make_tool: Any) -> None:
    # rule 7.6
    here = world({make_tool("finder"): lambda given: hit({"email": 1})}, rows=[{"n": "a"}])

    def hides(row: Any, ctx: Context) -> Any:
        ask = getattr(ctx, "to" + "ol")
        return ask(id="find", tool="finder", input={}) if row["n"] else 0

    await here.run(mapped(("found", hides), ("words", lambda row: "await ctx.tools.execute(...)")))
    assert here.values("found")[0]["result"] == {"email": 1}
    assert here.values("words") == ["await ctx.tools.execute(...)"]


async def test_an_error_in_plain_code_is_its_steps_and_the_other_rows_go_on(world: Any) -> None:
    # case C12
    # rule 7.7
    here = world(rows=[{"n": str(number)} for number in range(5)])
    await here.run(mapped(("before", 1), ("inverse", lambda row: 6 / (int(row["n"]) - 2))))
    assert here.row_statuses() == ["completed", "completed", "failed", "completed", "completed"]
    failed = here.rows()[2].cells
    assert failed["inverse"]["error"]["type"] == "ZeroDivisionError"
    assert str(failed["before"]["status"]) == "completed"
