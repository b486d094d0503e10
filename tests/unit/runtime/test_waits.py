"""Rows and runs that wait: what leaves memory, what brings it back, and what goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from runtime import admission, play
from runtime.context import Context
from runtime.events import RunStatus
from runtime.memory import VirtualClock, hit
from runtime.ports import MemberOutcome
from runtime.program import Play
from runtime.tools import ToolSpec

Make = Callable[..., ToolSpec]

DAY = 86_400.0
START = VirtualClock().now()


def numbered(count: int) -> list[dict[str, str]]:
    return [{"n": str(number)} for number in range(1, count + 1)]


def mapped(*resolvers: Any) -> Play:
    @play("mapped")
    async def mapped_play(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", await ctx.csv(given["rows"]))
        for name, resolver in zip("abc", resolvers, strict=False):
            rows = rows.step(name, resolver)
        return await rows.run()

    return mapped_play


async def approval(row: Any, ctx: Context) -> Any:
    answer = await ctx.wait_for_event("ok", event=f"ok-{row['n']}", timeout_seconds=3 * DAY)
    return answer["payload"] or answer["status"]


def only_first(resolver: Any, otherwise: Any) -> Any:
    """Give a step that does this for row 1 and that for the others."""
    return lambda row, ctx: resolver(row, ctx) if row["n"] == "1" else otherwise(row, ctx)


async def test_a_row_that_waits_shows_so_and_the_others_go_on(world: Any) -> None:
    # rule 6.14, 6.15, 6.16
    here = world(rows=numbered(3))
    outcome = await here.run(mapped(only_first(approval, lambda row, ctx: row["n"])))
    assert outcome.status is RunStatus.WAITING
    assert here.row_statuses() == ["waiting", "completed", "completed"]
    assert here.statuses("a") == ["waiting", "completed", "completed"]
    cell = here.rows()[0].cells["a"]
    assert (cell["stage"], cell["reason"]) == ("event_wait", "waits for 'ok-1'")
    assert 0 <= cell["at"] - START - 3 * DAY < 5


async def test_an_answer_brings_a_run_that_rests_back_where_it_was(world: Any) -> None:
    # rule 6.19, 12.3
    ran: list[str] = []

    def noted(row: Any) -> str:
        ran.append(row["n"])
        return str(row["n"])

    here = world(rows=numbered(3))
    program = mapped(noted, only_first(approval, lambda row, ctx: None))
    await here.run(program)
    here.ports = here.ports.next()
    here.ports.signals.deliver("ok-1", {"by": "Grace"})
    assert (await here.run(program)).status is RunStatus.COMPLETED
    assert here.values("b") == [{"by": "Grace"}, None, None]
    assert ran == ["1", "2", "3"]


async def test_an_answer_during_the_run_brings_a_parked_row_back(world: Any) -> None:
    async def busy(row: Any, ctx: Context) -> str:
        for _ in range(20):
            await ctx.sleep(30)
        return "done"

    here = world(rows=numbered(2))
    running = asyncio.ensure_future(here.run(mapped(only_first(approval, busy))))
    await here.ports.clock.advance(100)
    assert here.row_statuses() == ["waiting", "running"]
    here.ports.signals.deliver("ok-1", "yes")
    await here.ports.clock.advance(100)
    assert here.values("a") == ["yes", None]
    assert (await running).status is RunStatus.COMPLETED


async def test_a_wait_without_an_answer_ends_at_its_deadline(world: Any) -> None:  # rule 12.4
    here = world(rows=numbered(1))
    assert (await here.finish(mapped(approval))).status is RunStatus.COMPLETED
    assert here.values("a") == ["timed_out"]
    assert 0 <= here.ports.clock.now() - START - 3 * DAY < 60


async def test_a_sleep_in_a_row_is_no_failure(world: Any) -> None:  # rule 12.7
    async def rest(row: Any, ctx: Context) -> str:
        await ctx.sleep(DAY)
        return "rested"

    here = world(rows=numbered(2))
    assert (await here.run(mapped(rest))).status is RunStatus.WAITING
    here.ports = here.ports.next()
    await here.ports.clock.sleep(DAY)
    assert (await here.run(mapped(rest))).status is RunStatus.COMPLETED
    assert here.values("a") == ["rested", "rested"]


async def test_a_run_rests_for_a_long_sleep_at_its_top_level(world: Any) -> None:  # rule 12.6
    @play("top")
    async def top(ctx: Context, given: Any) -> Any:
        await ctx.sleep(-5)
        await ctx.sleep(2 * DAY)
        return "rested"

    here = world()
    assert (await here.run(top, {})).status is RunStatus.WAITING
    here.ports = here.ports.next()
    await here.ports.clock.sleep(DAY)
    assert (await here.finish(top, {})).result == {"value": "rested"}
    assert 0 <= here.ports.clock.now() - START - 2 * DAY < 60


async def test_work_at_the_top_level_keeps_the_run_from_resting(world: Any) -> None:
    async def slow() -> str:
        await here.ports.clock.sleep(500)
        return "worked"

    @play("top")
    async def top(ctx: Context, given: Any) -> Any:
        waits = ctx.wait_for_event("ok", event="ok", timeout_seconds=DAY)
        return await asyncio.gather(ctx.step("slow", slow), waits)

    here = world()
    running = asyncio.ensure_future(here.run(top, {}))
    await here.ports.clock.advance(400)
    here.ports.signals.deliver("ok", 1)
    outcome = await running
    assert outcome.result == {"value": ["worked", {"status": "received", "payload": 1}]}


async def test_a_failed_row_does_not_lose_the_waits_of_the_others(world: Any) -> None:
    # rule 6.15
    def fails(row: Any, ctx: Context) -> Any:
        raise ValueError("no")

    here = world(rows=numbered(2))
    program = mapped(only_first(approval, fails))
    assert (await here.run(program)).status is RunStatus.WAITING
    assert here.row_statuses() == ["waiting", "failed"]
    here.ports = here.ports.next()
    here.ports.signals.deliver("ok-1", "yes")
    await here.run(program)
    assert here.row_statuses() == ["completed", "failed"]


async def test_what_a_row_did_before_its_wait_is_not_done_again(
    world: Any, make_tool: Make
) -> None:
    drawn: list[int] = []

    async def ask(row: Any, ctx: Context) -> Any:
        found = await ctx.tools.execute(id="f", tool="finder", input={"n": row["n"]})
        number = await ctx.step("draw", lambda: drawn.append(1) or 7)
        await ctx.sleep(DAY)
        return [found.value(), number]

    def answer(given: Any) -> MemberOutcome:
        return hit({"email": given["n"]})

    here = world({make_tool("finder"): answer}, rows=numbered(1))
    await here.finish(mapped(ask))
    assert here.values("a") == [["1", 7]]
    assert drawn == [1]


async def test_a_provider_that_asks_for_a_long_pause_is_not_asked_before(
    world: Any, make_tool: Make
) -> None:
    # case R2
    asked: list[float] = []
    later: MemberOutcome = {
        "kind": "failed", "code": "rate_limited", "category": "rate_limit", "retryable": True,
        "message": "later", "retry_after": 3_600.0,
    }  # fmt: skip

    def answer(given: Any) -> MemberOutcome:
        asked.append(here.ports.clock.now())
        return later if len(asked) == 1 else hit({"email": "x"})

    async def ask(row: Any, ctx: Context) -> Any:
        found = await ctx.tools.execute(id="f", tool="finder", input={"n": row["n"]})
        return found.value()

    here = world({make_tool("finder"): answer}, rows=numbered(1))
    assert (await here.run(mapped(ask))).status is RunStatus.WAITING
    cell = here.rows()[0].cells["a"]
    assert (cell["status"], cell["reason"]) == ("waiting", "finder asked to wait")
    here.ports = here.ports.next()
    await here.ports.clock.sleep(here.first_due() - here.ports.clock.now())
    await here.run(mapped(ask))
    assert here.values("a") == ["x"]
    assert asked[1] - asked[0] >= 3_600.0


async def test_rows_that_wait_in_memory_make_room_for_those_that_never_ran(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "WINDOW_ROWS", 20)
    monkeypatch.setattr(admission, "CLAIM_ROWS", 5)

    async def rest(row: Any, ctx: Context) -> str:
        await ctx.sleep(55)
        return "rested"

    here = world(rows=numbered(60))
    running = asyncio.ensure_future(here.run(mapped(rest)))
    await here.ports.clock.advance(30)
    assert here.statuses("a") == ["waiting"] * 60
    assert (await running).status is RunStatus.COMPLETED
    assert here.values("a") == ["rested"] * 60


async def test_a_tool_that_never_answers_delays_only_the_rows_that_asked_it(
    world: Any, make_tool: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # rule 10.14
    monkeypatch.setattr(admission, "WINDOW_ROWS", 20)
    monkeypatch.setattr(admission, "CLAIM_ROWS", 5)

    async def ask(row: Any, ctx: Context) -> Any:
        tool = "hangs" if int(row["n"]) <= 60 else "answers"
        return (await ctx.tools.execute(id="f", tool=tool, input={"n": row["n"]})).value()

    async def hangs(members: Any) -> Any:
        await asyncio.get_running_loop().create_future()

    tools = {make_tool("hangs"): hangs, make_tool("answers"): lambda _: hit({"email": "x"})}
    here = world(tools, rows=numbered(80), limits={"max_concurrent_tool_calls": 4})
    running = asyncio.ensure_future(here.run(mapped(ask)))
    await here.ports.clock.advance(600)
    assert here.values("a")[60:] == ["x"] * 20
    assert set(here.row_statuses()[:60]) == {"running", "waiting"}
    running.cancel()
    await asyncio.wait({running})


async def test_a_pause_leaves_waiting_rows_waiting_and_a_cancel_ends_them(world: Any) -> None:
    async def busy(row: Any, ctx: Context) -> None:
        for _ in range(20):
            await ctx.sleep(30)

    here = world(rows=numbered(2))
    running = asyncio.ensure_future(here.run(mapped(only_first(approval, busy))))
    await here.ports.clock.advance(100)
    here.ports.signals.request("pause")
    assert (await running).status is RunStatus.PAUSED
    assert here.row_statuses() == ["waiting", "pending"]


async def test_an_idle_engine_sets_no_timer_but_its_deadlines(world: Any) -> None:
    slept: list[float] = []

    class Counting(VirtualClock):
        async def sleep(self, seconds: float) -> None:
            slept.append(seconds)
            await super().sleep(seconds)

    @play("top")
    async def top(ctx: Context, given: Any) -> Any:
        return await ctx.wait_for_event("ok", event="ok", timeout_seconds=59)

    here = world(clock=Counting())
    await here.run(top, {})
    assert sum(slept) < 59 * 4
    assert len(slept) < 8


async def test_a_wait_in_a_child_play_of_a_row_parks_the_row(world: Any) -> None:
    # rule 12.5
    @play("child")
    async def child(ctx: Context, given: Any) -> Any:
        return await ctx.wait_for_event("ok", event=given["event"], timeout_seconds=DAY)

    async def call(row: Any, ctx: Context) -> Any:
        return (await ctx.run_play("c", "child", {"event": f"ok-{row['n']}"}))["payload"]

    here = world(rows=numbered(2), plays={"child": {"play": child}})
    assert (await here.run(mapped(call))).status is RunStatus.WAITING
    assert here.row_statuses() == ["waiting", "waiting"]
    here.ports = here.ports.next()
    for name in ("ok-1", "ok-2"):
        here.ports.signals.deliver(name, name)
    assert (await here.run(mapped(call))).status is RunStatus.COMPLETED
    assert here.values("a") == ["ok-1", "ok-2"]
