"""Named work that happens once: steps, sleeps, event waits, receipts, child plays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from runtime import play
from runtime.context import Context
from runtime.events import RunStatus
from runtime.memory import failed, hit
from runtime.ports import MemberOutcome
from runtime.program import Play
from runtime.tools import ToolSpec

Make = Callable[..., ToolSpec]


def in_row(resolver: Callable[..., Any]) -> Play:
    @play("in_row")
    async def in_row_play(ctx: Context, given: Any) -> Any:
        return await ctx.map("rows", await ctx.csv(given["rows"])).step("a", resolver).run()

    return in_row_play


async def test_a_step_at_the_top_runs_once_across_a_takeover(world: Any) -> None:
    # rule 12.14, 12.15
    calls: list[int] = []

    @play("top")
    async def top(ctx: Context, given: Any) -> Any:
        value = await ctx.step("draw", lambda: calls.append(1) or len(calls))
        if len(calls) < 2 and given.get("fail"):
            raise ValueError("later")
        return value

    here = world()
    await here.run(top, {"fail": True})
    here.ports = here.ports.next()
    outcome = await here.run(top, {})
    assert outcome.result == {"value": 1}
    assert calls == [1]


async def test_a_failed_step_is_tried_again(world: Any) -> None:
    tries: list[int] = []

    def shaky() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return 7

    @play("top")
    async def top(ctx: Context, given: Any) -> Any:
        return await ctx.step("shaky", shaky)

    here = world()
    assert (await here.run(top, {})).status is RunStatus.FAILED
    here.ports = here.ports.next()
    assert (await here.run(top, {})).result == {"value": 7}


async def test_a_repeated_key_is_another_occurrence(world: Any) -> None:  # rule 12.12
    async def twice(row: Any, ctx: Context) -> Any:
        return [await ctx.step("s", lambda: 1), await ctx.step("s", lambda: 2)]

    here = world(rows=[{"n": "1"}])
    await here.run(in_row(twice))
    assert here.values("a") == [[1, 2]]


async def test_two_steps_of_one_name_at_once_are_refused(world: Any) -> None:
    # rule 12.14
    async def both(row: Any, ctx: Context) -> Any:
        async def slow() -> int:
            await asyncio.sleep(0)
            return 1

        return await asyncio.gather(ctx.step("s", slow), ctx.step("s", slow))

    here = world(rows=[{"n": "1"}])
    await here.run(in_row(both))
    assert here.rows()[0].cells["a"]["error"]["type"] == "DuplicateName"


async def test_a_step_that_gives_no_json_names_itself(world: Any) -> None:  # rule 2.10
    here = world(rows=[{"n": "1"}])
    await here.run(in_row(lambda row, ctx: ctx.step("bad", lambda: {1})))
    assert "ctx.step('bad') gave a set" in here.rows()[0].cells["a"]["error"]["message"]


async def test_a_sleep_ends_at_its_first_deadline_across_a_takeover(world: Any) -> None:
    here = world(rows=[{"n": "1"}])

    async def wait(row: Any, ctx: Context) -> Any:
        await ctx.sleep(100)
        return "rested"

    start = here.ports.clock.now()
    running = asyncio.ensure_future(here.run(in_row(wait)))
    await here.ports.clock.advance(60)
    running.cancel()
    await asyncio.wait({running})
    here.ports = here.ports.next()
    await here.run(in_row(wait))
    assert here.values("a") == ["rested"]
    assert 100 <= here.ports.clock.now() - start < 110


async def test_an_answer_ends_a_wait_and_no_answer_times_out(world: Any) -> None:
    async def approve(row: Any, ctx: Context) -> Any:
        return await ctx.wait_for_event("ok", event=f"approve-{row['n']}", timeout_seconds=50)

    here = world(rows=[{"n": "1"}, {"n": "2"}])
    running = asyncio.ensure_future(here.run(in_row(approve)))
    await here.ports.clock.advance(5)
    here.ports.signals.deliver("approve-1", {"by": "Grace"})
    await running
    assert here.values("a") == [
        {"status": "received", "payload": {"by": "Grace"}},
        {"status": "timed_out", "payload": None},
    ]


async def test_a_top_level_tool_call_has_a_receipt(world: Any, make_tool: Make) -> None:
    # rule 10.3, 10.7
    @play("top")
    async def top(ctx: Context, given: Any) -> Any:
        result = await ctx.tools.execute(id="find", tool="finder", input={"n": 1})
        return [result.value(), result.execution.source]

    here = world({make_tool("finder"): lambda given: hit({"email": "x"})})
    assert (await here.run(top, {})).result == {"value": ["x", "live"]}
    here.ports = here.ports.next()
    assert (await here.run(top, {})).result == {"value": ["x", "cache"]}
    assert here.sent("finder") == [1]


async def test_a_failed_top_level_call_raises_what_an_author_can_catch(
    world: Any, make_tool: Make
) -> None:
    from runtime import ToolFailed

    @play("top")
    async def top(ctx: Context, given: Any) -> Any:
        try:
            await ctx.tools.execute(id="find", tool="finder", input={"n": 1})
        except ToolFailed as error:
            return [error.provider, error.category, error.attempts]

    here = world({make_tool("finder"): lambda given: failed("bad input", category="validation")})
    assert (await here.run(top, {})).result == {"value": ["finder", "validation", 1]}


async def test_an_unknown_tool_and_run_javascript_are_refused(world: Any) -> None:
    for tool, said in (
        ("nosuch", "there is no tool 'nosuch'"),
        ("run_javascript", "as a step of the play"),
    ):

        @play("top")
        async def top(ctx: Context, given: Any, tool: str = tool) -> Any:
            return await ctx.tools.execute(id="x", tool=tool, input={})

        assert said in (await world().run(top, {})).error["message"]


def child(name: str, function: Any) -> dict[str, Any]:
    return {name: {"play": play(name)(function)}}


async def test_a_child_play_returns_its_value_and_may_run_maps(world: Any) -> None:
    async def scoring(ctx: Context, given: Any) -> Any:
        table = (
            await ctx.map("scores", given["names"])
            .step("size", lambda row: len(row["value"]))
            .run()
        )
        return [row["size"] async for row in table]

    @play("parent")
    async def parent(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("score", "scoring", {"names": ["a", "bb"]})

    here = world(plays=child("scoring", scoring))
    assert (await here.run(parent, {})).result == {"value": [1, 2]}


async def test_a_child_play_in_a_row_stands_at_its_own_top_level(
    world: Any, make_tool: Make
) -> None:
    # rule 13.11
    async def asking(ctx: Context, given: Any) -> Any:
        result = await ctx.tools.execute(id="find", tool="finder", input=given)
        mapped = await ctx.map("inner", [given]).step("b", lambda row: row["n"] + "!").run()
        return [result.value(), (await mapped.peek())[0]["b"]]

    here = world(
        {make_tool("finder"): lambda given: hit({"email": given["n"]})},
        rows=[{"n": "1"}, {"n": "2"}],
        plays=child("asking", asking),
        limits={"max_concurrent_play_calls": 1},
    )
    await here.run(in_row(lambda row, ctx: ctx.run_play("c", "asking", {"n": row["n"]})))
    assert here.values("a") == [["1", "1!"], ["2", "2!"]]


async def test_recursion_and_depth_are_refused(world: Any) -> None:  # rule 13.3, 13.4
    async def itself(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("again", " ITSELF ", {})

    @play("parent")
    async def parent(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("c", "itself", {})

    here = world(plays=child("itself", itself))
    assert "parent → itself → ITSELF" in (await here.run(parent, {})).error["message"]

    async def deeper(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("c", "last", {})

    here = world(
        plays=child("deeper", deeper) | child("last", itself), limits={"max_play_call_depth": 1}
    )

    @play("outer")
    async def outer(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("c", "deeper", {})

    assert "max_play_call_depth is 1" in (await here.run(outer, {})).error["message"]
    here.limits = {"max_play_call_depth": 0}
    assert "max_play_call_depth is 0" in (await here.run(parent, {})).error["message"]


async def test_a_failing_child_fails_with_its_reason(world: Any) -> None:
    async def bad(ctx: Context, given: Any) -> Any:
        raise ValueError("no luck")

    @play("parent")
    async def parent(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("c", "bad", {})

    outcome = await world(plays=child("bad", bad)).run(parent, {})
    assert outcome.error["message"] == (
        "the child play 'bad' (called as 'c') failed: ValueError: no luck"
    )
    assert outcome.error["play"] == "parent"
    cause = outcome.error["cause"]
    assert (cause["type"], cause["message"]) == ("ValueError", "no luck")
    assert cause["line"].startswith(f"{__file__}:")
    assert cause["line"] != outcome.error["line"]


def echo(given: Any) -> MemberOutcome:
    return hit({"email": given["n"]})
