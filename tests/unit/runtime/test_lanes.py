"""Lanes: what leaves when, what is shared, what is repeated, what is dropped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from runtime import play, steps
from runtime.context import Context
from runtime.events import RunStatus
from runtime.memory import failed, hit, miss
from runtime.ports import MemberOutcome
from runtime.program import Play
from runtime.tools import ToolSpec

Make = Callable[..., ToolSpec]
Rows = list[dict[str, str]]


def people(count: int) -> Rows:
    return [{"name": f"n{index}"} for index in range(count)]


def echo(given: Any) -> MemberOutcome:
    return hit({"email": given["name"]})


def asking(*tools: str) -> Play:
    """A play that asks each tool in a field of its own."""

    @play("asking")
    async def asking_play(ctx: Context, given: Any) -> Any:
        table = ctx.map("rows", await ctx.csv(given["rows"]))
        for name in tools:
            table = table.step(name, ask(name))
        return await table.run()

    return asking_play


def ask(name: str) -> Callable[..., Any]:
    async def step(row: Any, ctx: Context) -> Any:
        result = await ctx.tools.execute(id="ask", tool=name, input={"name": row["name"]})
        return result.value()

    return step


async def test_calls_of_many_rows_leave_in_full_batches(world: Any, make_tool: Make) -> None:
    finder = make_tool("finder", size=10)
    here = world({finder: echo}, rows=people(95))
    outcome = await here.run(asking("finder"))
    assert outcome.status is RunStatus.COMPLETED
    assert here.sent("finder") == [10] * 9 + [5]
    assert here.values("finder") == [f"n{index}" for index in range(95)]


async def test_a_tool_without_a_batch_form_is_asked_at_once(world: Any, make_tool: Make) -> None:
    here = world({make_tool("single"): echo}, rows=people(7))
    await here.run(asking("single"))
    assert here.sent("single") == [1] * 7


async def test_no_more_requests_are_in_flight_than_permitted(world: Any, make_tool: Make) -> None:
    # rule 1.12, 4.8, 15.4
    here = world(
        {make_tool("single"): echo}, rows=people(50), limits={"max_concurrent_tool_calls": 4}
    )
    await here.run(asking("single"))
    assert here.ports.gateway.most_in_flight == 3  # one stays free for another tool


async def test_calls_whose_grouping_inputs_differ_do_not_share_a_batch(
    world: Any, make_tool: Make
) -> None:
    from runtime.tools import BatchForm

    finder = ToolSpec(
        "finder", "finder", "email", batch=BatchForm("finder_batch", 10, ("country",))
    )
    rows = [{"name": f"n{index}", "country": "se" if index % 2 else "no"} for index in range(10)]
    here = world({finder: echo}, rows=rows)

    async def step(row: Any, ctx: Context) -> Any:
        return (await ctx.tools.execute(id="ask", tool="finder", input=dict(row))).value()

    @play("grouped")
    async def grouped(ctx: Context, given: Any) -> Any:
        return await ctx.map("rows", await ctx.csv(given["rows"])).step("email", step).run()

    await here.run(grouped)
    for sent in here.ports.gateway.requests:
        assert len({member["input"]["country"] for member in sent.members}) == 1
    assert sorted(here.sent("finder")) == [5, 5]


async def test_a_tool_that_never_answers_delays_only_the_rows_that_ask_it(
    world: Any, make_tool: Make
) -> None:
    never = asyncio.Event()

    async def hang(given: Any) -> MemberOutcome:
        await never.wait()
        return miss()

    finder, hanging = make_tool("finder", size=5), make_tool("hanging")
    here = world(
        {finder: echo, hanging: hang}, rows=people(60), limits={"max_concurrent_tool_calls": 4}
    )

    @play("mixed")
    async def mixed(ctx: Context, given: Any) -> Any:
        async def step(row: Any, ctx: Context) -> Any:
            tool = "hanging" if int(row["name"][1:]) < 40 else "finder"
            return (await ctx.tools.execute(id="ask", tool=tool, input=dict(row))).value()

        return await ctx.map("rows", await ctx.csv(given["rows"])).step("email", step).run()

    running = asyncio.ensure_future(here.run(mixed))
    await here.ports.clock.advance(60)
    assert [status for status in here.row_statuses() if status == "completed"] == ["completed"] * 20
    here.ports.signals.request("cancel")
    outcome = await running
    assert outcome.status is RunStatus.CANCELLED
    assert here.row_statuses().count("completed") == 20


async def test_a_transient_failure_is_repeated_and_the_others_are_not(
    world: Any, make_tool: Make
) -> None:
    # rule 1.5, 8.10
    seen: dict[str, int] = {}

    def flaky(given: Any) -> MemberOutcome:
        count = seen[given["name"]] = seen.get(given["name"], 0) + 1
        if given["name"] == "n3" and count < 3:
            return failed("broken", category="upstream", retryable=True)
        return echo(given)

    here = world({make_tool("finder", size=5): flaky}, rows=people(5))
    await here.run(asking("finder"))
    assert here.values("finder") == ["n0", "n1", "n2", "n3", "n4"]
    assert seen == {"n0": 1, "n1": 1, "n2": 1, "n3": 3, "n4": 1}


async def test_a_cancel_during_a_back_off_ends_at_once_and_blames_no_provider(
    world: Any, make_tool: Make
) -> None:
    # case X3, X4
    def later(given: Any) -> MemberOutcome:
        return failed("busy", category="upstream", retryable=True, retry_after=20.0)

    here = world({make_tool("finder", size=5): later}, rows=people(5))
    began = here.ports.clock.now()
    running = asyncio.ensure_future(here.run(asking("finder")))
    await here.ports.clock.advance(5)
    here.ports.signals.request("cancel")
    outcome = await running
    assert outcome.status is RunStatus.CANCELLED
    assert here.ports.clock.now() - began < 20
    assert len(here.sent("finder")) == 1
    assert set(here.row_statuses()) == {"cancelled"}
    assert not [cell for cell in here.statuses("finder") if cell == "failed"]


async def test_after_three_attempts_the_cell_fails_with_the_providers_words(
    world: Any, make_tool: Make
) -> None:
    # rule 1.5, 15.7
    here = world(
        {make_tool("finder"): lambda _: failed("it is down", category="upstream", retryable=True)},
        rows=people(1),
    )
    await here.run(asking("finder"))
    assert here.sent("finder") == [1, 1, 1]
    error = here.rows()[0].cells["finder"]["error"]
    assert error["message"] == "finder failed: it is down"
    assert error["attempts"] == 3


async def test_a_rate_limit_holds_the_whole_lane_until_the_time_that_was_told(
    world: Any, make_tool: Make
) -> None:  # case R4
    told: list[float] = []

    def limited(given: Any) -> MemberOutcome:
        # rule 15.5
        if not told:
            told.append(here.ports.clock.now())
            return failed("slow down", category="rate_limit", retryable=True, retry_after=30.0)
        return echo(given)

    here = world({make_tool("finder"): limited}, rows=people(40))
    await here.run(asking("finder"))
    late = [sent.at for sent in here.ports.gateway.requests if sent.at > told[0]]
    assert late
    assert min(late) >= told[0] + 30.0
    assert here.values("finder") == [f"n{index}" for index in range(40)]


async def test_a_call_that_a_reply_leaves_out_is_sent_three_times(
    world: Any, make_tool: Make
) -> None:
    # rule 8.10
    here = world({make_tool("finder"): lambda _: {"kind": "unattempted"}}, rows=people(1))
    await here.run(asking("finder"))
    assert here.sent("finder") == [1, 1, 1]
    assert "left this call out" in here.rows()[0].cells["finder"]["error"]["message"]


async def test_a_pending_call_is_repeated_when_it_is_due(world: Any, make_tool: Make) -> None:
    answers: list[MemberOutcome] = [{"kind": "pending", "retry_after": 120.0}, hit({"email": "x"})]
    here = world({make_tool("finder"): lambda _: answers.pop(0)}, rows=people(1))
    await here.finish(asking("finder"))
    first, second = here.ports.gateway.requests
    assert second.at - first.at >= 120.0
    assert here.values("finder") == ["x"]


async def test_one_durable_name_asked_twice_at_once_is_one_call(
    world: Any, make_tool: Make
) -> None:
    # rule 10.5
    here = world({make_tool("finder"): echo}, rows=people(1))

    async def twice(row: Any, ctx: Context) -> Any:
        ask = {"id": "ask", "tool": "finder", "input": dict(row)}
        both = await asyncio.gather(ctx.tools.execute(**ask), ctx.tools.execute(**ask))
        return [result.value() for result in both]

    @play("twice")
    async def twice_play(ctx: Context, given: Any) -> Any:
        return await ctx.map("rows", await ctx.csv(given["rows"])).step("email", twice).run()

    await here.run(twice_play)
    assert here.values("email") == [["n0", "n0"]]
    assert here.sent("finder") == [1]


async def test_a_cancelled_call_is_never_sent(world: Any, make_tool: Make) -> None:
    here = world({make_tool("finder", size=10): echo, make_tool("other"): echo}, rows=people(2))

    async def give_up(row: Any, ctx: Context) -> Any:
        call = ctx.tools.execute(id="ask", tool="finder", input=dict(row))
        task = asyncio.ensure_future(call)
        await asyncio.sleep(0)
        task.cancel()
        return (await ctx.tools.execute(id="ask", tool="other", input=dict(row))).value()

    @play("giving_up")
    async def giving_up(ctx: Context, given: Any) -> Any:
        return await ctx.map("rows", await ctx.csv(given["rows"])).step("email", give_up).run()

    await here.run(giving_up)
    assert here.sent("finder") == []
    assert here.values("email") == ["n0", "n1"]


@pytest.mark.parametrize("category", ["authentication", "billing", "quota", "limit"])
async def test_a_failure_that_would_meet_every_row_pauses_the_run_once(
    world: Any, make_tool: Make, category: str
) -> None:  # case E3, L3, R3
    # rule 8.14
    here = world(
        {make_tool("finder", size=5): lambda _: failed("the account is empty", category=category)},
        rows=people(20),
    )
    outcome = await here.run(asking("finder"))
    assert outcome.status is RunStatus.PAUSED
    assert outcome.stop_reason == ("limit" if category == "limit" else "provider")
    assert outcome.stop_message == "the account is empty"
    assert set(here.row_statuses()) == {"pending"}


async def test_a_large_map_fills_its_batches_although_its_last_rows_trickle_in(
    world: Any, make_tool: Make
) -> None:
    chance = random.Random(7)

    def some(given: Any) -> MemberOutcome:
        return echo(given) if chance.random() < 0.5 else miss()

    first, second = make_tool("a_email", provider="a", size=100), make_tool("b_email", provider="b")
    verifier = make_tool("verifier", size=100)
    here = world({first: some, second: some, verifier: echo}, rows=people(6_000))

    @play("trickling")
    async def trickling(ctx: Context, given: Any) -> Any:
        async def verify(row: Any, ctx: Context) -> Any:
            if row["email"] is None:
                return None
            return (
                await ctx.tools.execute(id="v", tool="verifier", input={"name": row["email"]})
            ).value()

        return await (
            ctx.map("rows", await ctx.csv(given["rows"]))
            .step("email", lambda row, ctx: ctx.waterfall("email", dict(row), providers=["a", "b"]))
            .step("verdict", verify)
            .run()
        )

    await here.run(trickling)
    for name in ("a_email", "verifier"):
        sizes = here.sent(name)
        assert sum(sizes) / (len(sizes) * 100) > 0.95, sizes


async def test_a_call_that_cuts_replies_short_fails_alone(world: Any, make_tool: Make) -> None:
    # rule 8.10
    here = world({make_tool("finder", size=5): echo}, rows=people(5))
    whole = here.ports.gateway.execute

    async def cut(tool: str, members: list[Any]) -> list[MemberOutcome]:
        outcomes = await whole(tool, members)
        names = [member["input"]["name"] for member in members]
        first = names.index("n1") if "n1" in names else len(names)
        return outcomes[:first] + [{"kind": "unattempted"}] * (len(names) - first)

    here.ports.gateway.execute = cut
    await here.run(asking("finder"))
    assert here.values("finder") == ["n0", None, "n2", "n3", "n4"]
    assert here.row_statuses() == ["completed", "failed", "completed", "completed", "completed"]


async def test_calls_tell_how_old_an_answer_may_be_and_leave_with_those_that_agree(
    world: Any, make_tool: Make
) -> None:
    def ask(row: Any, ctx: Context) -> Any:
        return ctx.tools.execute(id="f", tool="finder", input={"n": row["n"]})

    async def child(ctx: Context, given: Any) -> Any:
        return (await ctx.tools.execute(id="f", tool="finder", input=given)).value()

    @play("ages")
    async def ages(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", [{"n": "1"}, {"n": "2"}], stale_after_seconds=3600)
        rows = rows.step("hourly", ask).step(
            "always", steps().step("s", ask), stale_after_seconds=0
        )
        return await rows.step("child", lambda row, ctx: ctx.run_play("c", "child", {"n": 3})).run()

    library = {"child": {"play": play("child")(child)}}
    here = world({make_tool("finder", size=10): lambda _: hit({"email": "x"})}, plays=library)
    assert (await here.run(ages, {})).status == "completed"
    told = [
        [member.get("stale_after_seconds") for member in sent.members]
        for sent in here.ports.gateway.requests
    ]
    assert told == [[3600, 3600], [0, 0], [3600, 3600]]
