"""The rules of places and names, and of receipts' names (sections 3 and 11)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import play
from runtime.context import Context
from runtime.events import RunStatus
from runtime.memory import hit
from runtime.program import Play
from tests.unit.runtime.conftest import World, tool


def top(function: Any) -> Play:
    return play("top")(function)


async def test_a_run_that_is_told_nothing_has_the_defaults_and_itself_as_only_ancestor(
    world: type[World],
) -> None:
    # rule 3.1
    async def itself(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("again", "TOP", {})

    here = world()
    outcome = await here.run(top(itself), {})
    assert "top → TOP" in outcome.error["message"]
    assert not here.ports.run.counters
    assert not here.ports.run.children


@pytest.mark.parametrize(
    ("call", "operation"),
    [
        (lambda ctx: ctx.map("  ", []), "ctx.map"),
        (lambda ctx: ctx.step(" ", lambda: 1), "ctx.step"),
        (lambda ctx: ctx.tools.execute(id="", tool="finder", input={}), "ctx.tools.execute"),
        (lambda ctx: ctx.run_play("", "other", {}), "ctx.run_play"),
        (lambda ctx: ctx.fetch(" ", "https://shop.example/"), "ctx.fetch"),
    ],
)
async def test_a_blank_name_is_refused_with_the_operation_that_got_it(
    world: type[World], call: Any, operation: str
) -> None:
    # rule 3.3
    async def asks(ctx: Context, given: Any) -> Any:
        return await call(ctx)

    outcome = await world({tool("finder"): lambda _: hit({})}).run(top(asks), {})
    assert outcome.error["type"] == "KeyInvalid"
    assert outcome.error["message"].startswith(operation)


async def test_names_are_trimmed(world: type[World]) -> None:
    # rule 3.3, 11.2
    async def twice(ctx: Context, given: Any) -> Any:
        return [await ctx.step(" draw ", lambda: 1), await ctx.run_play(" c ", " other ", {})]

    async def other(ctx: Context, given: Any) -> Any:
        return 2

    here = world(plays={"other": {"play": play("other")(other)}})
    assert (await here.run(top(twice), {})).result == {"value": [1, 2]}
    here.ports = here.ports.next()

    async def again(ctx: Context, given: Any) -> Any:
        return [await ctx.step("draw", lambda: 3), await ctx.run_play("c", "other", {})]

    assert (await here.run(top(again), {})).result == {"value": [1, 2]}


async def test_two_plays_and_two_runs_never_share_a_name(world: type[World]) -> None:
    # rule 3.4
    drawn: list[int] = []

    def draw() -> int:
        drawn.append(1)
        return len(drawn)

    async def inner(ctx: Context, given: Any) -> Any:
        return await ctx.step("draw", draw)

    async def outer(ctx: Context, given: Any) -> Any:
        return [
            await ctx.step("draw", draw),
            await ctx.run_play("a", "inner", {}),
            await ctx.run_play("b", "inner", {}),
        ]

    here = world(plays={"inner": {"play": play("inner")(inner)}})
    assert (await here.run(top(outer), {})).result == {"value": [1, 2, 3]}
    here.ports = here.ports.next("run-2")
    assert (await here.run(top(outer), {})).result == {"value": [4, 5, 6]}


async def test_ctx_tool_is_ctx_tools_execute(world: type[World]) -> None:
    # rule 3.5
    async def both(ctx: Context, given: Any) -> Any:
        first = await ctx.tool(id="f", tool="finder", input={"n": 1})
        second = await ctx.tools.execute(id="f", tool="finder", input={"n": 1})
        return [first.value(), second.value(), second.execution.source]

    here = world({tool("finder"): lambda _: hit({"email": "x"})})
    assert (await here.run(top(both), {})).result == {"value": ["x", "x", "cache"]}
    assert here.sent("finder") == [1]


async def test_what_happens_is_recorded_though_nobody_watches(world: type[World]) -> None:
    # rule 3.6
    async def mapped(ctx: Context, given: Any) -> Any:
        ctx.log("began")
        return await ctx.map("rows", [{"n": 1}]).step("a", lambda row: row["n"]).run()

    here = world()
    assert (await here.run(top(mapped), {})).status is RunStatus.COMPLETED
    assert here.values("a") == [1]
    assert "began" in [line["text"] for line in here.ports.run.logs]
    assert here.ports.run.sequence > 0


async def test_work_without_a_receipt_is_pending(world: type[World]) -> None:
    # rule 11.2
    here = world()
    state = await here.ports.receipts.claim("work", "")
    assert state["state"] == "claimed"
