"""Named waterfalls: when and with whom calls leave, what a cell shows meanwhile, what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from runtime import code_step, play, tool_step, waterfall
from runtime.activity import Activity, Worker
from runtime.calls import Call
from runtime.context import Context
from runtime.events import RunStatus
from runtime.memory import failed, hit, miss
from runtime.ports import MemberOutcome
from runtime.tools import Failed, Hit, ToolSpec
from runtime.waterfalls import DEFAULT_PROVIDERS
from tests.unit.runtime.conftest import tool
from tests.unit.runtime.programs import mapped, top

ROWS = [{"name": "Ada"}, {"name": "Bob"}]


def found(given: Any) -> MemberOutcome:
    return hit({"email": f"{given['name']}@a.example"})


def nothing(given: Any) -> MemberOutcome:
    return miss()


def email_of(*providers: str, size: int = 0, **answers: Any) -> dict[ToolSpec, Any]:
    return {tool(f"{name}_email", provider=name, size=size): answers[name] for name in answers}


def ask(*providers: str) -> Callable[..., Any]:
    return lambda row, ctx: ctx.waterfall("email", dict(row), providers=list(providers))


@pytest.mark.parametrize("in_a_row", [False, True])
async def test_a_waterfall_without_providers_asks_the_same_five_everywhere(
    world: Any, in_a_row: bool
) -> None:
    # rule 1.15
    names = ["hunter", "leadmagic", "peopledatalabs", "dropcontact", "prospeo"]
    here = world(email_of(**dict.fromkeys(names, nothing)))

    @top
    async def at_the_top(ctx: Context) -> Any:
        return await ctx.waterfall("email", {"name": "Ada"})

    in_rows = mapped(("email", lambda row, ctx: ctx.waterfall("email", dict(row))), rows=ROWS[:1])
    await here.run(in_rows if in_a_row else at_the_top)
    assert [sent.tool for sent in here.ports.gateway.requests] == [f"{n}_email" for n in names]
    assert DEFAULT_PROVIDERS == ("hunter", "leadmagic", "pdl", "dropcontact", "prospeo")


async def test_a_waterfall_at_the_top_asks_at_once(world: Any) -> None:
    # rule 8.1
    here = world(email_of(a=found, size=100))

    @top
    async def once(ctx: Context) -> Any:
        return await ctx.waterfall("email", {"name": "Ada"}, providers=["a"])

    start = here.ports.clock.now()
    assert (await here.run(once)).result == {"value": "Ada@a.example"}
    assert here.ports.gateway.requests[0].at == start


async def test_calls_of_many_waterfalls_and_maps_for_one_tool_leave_together(world: Any) -> None:
    # rule 8.2
    spec = waterfall(id="other", output="email", steps=[tool_step("a", "a_email")])

    @play("both")
    async def both(ctx: Context, given: Any) -> Any:
        def rows(begin: int) -> list[dict[str, str]]:
            return [{"name": f"n{begin + number}"} for number in range(5)]

        inline = lambda row, ctx: ctx.waterfall(spec, dict(row))  # noqa: E731
        await asyncio.gather(
            ctx.map("one", rows(0)).step("email", ask("a")).run(),
            ctx.map("two", rows(5)).step("email", inline).run(),
        )

    here = world(email_of(a=found, size=10))
    await here.run(both)
    assert here.sent("a_email") == [10]
    assert here.values("email", frame=1) == [f"n{number}@a.example" for number in range(5, 10)]


async def test_a_second_waterfall_of_one_name_is_asked_for_itself_at_the_top_too(
    world: Any,
) -> None:
    # rule 8.3
    @top
    async def twice(ctx: Context) -> Any:
        one = await ctx.waterfall("email", {"name": "One"}, providers=["a"])
        return [one, await ctx.waterfall("email", {"name": "Two"}, providers=["a"])]

    outcome = await world(email_of(a=found)).run(twice)
    assert outcome.result == {"value": ["One@a.example", "Two@a.example"]}


@pytest.mark.parametrize("names", [("One", "Two"), ("Same", "Same")])
async def test_two_waterfalls_of_one_name_at_once_both_get_their_answers(
    world: Any, names: tuple[str, str]
) -> None:
    # rule 8.4
    async def guess(given: Any, ctx: Context) -> Any:
        await here.ports.clock.sleep(1)
        return f"guess {given['name']}" if given.get("guess") else None

    steps = [code_step("guess", guess), tool_step("a", "a_email")]
    spec = waterfall(id="w", output="email", steps=steps)

    async def both(row: Any, ctx: Context) -> Any:
        return await asyncio.gather(
            *(ctx.waterfall("email", {"name": name}, providers=["a"]) for name in names),
            *(ctx.waterfall(spec, {"name": name}) for name in names),
            *(ctx.waterfall(spec, {"name": name, "guess": 1}) for name in names),
        )

    here = world(email_of(a=found), rows=ROWS[:1])
    await here.run(mapped(("email", both)))
    addresses = [f"{name}@a.example" for name in names]
    assert here.values("email") == [[*addresses, *addresses, *(f"guess {name}" for name in names)]]


async def test_a_waterfall_in_a_child_play_that_a_row_runs_gets_its_answer(world: Any) -> None:
    # rule 8.5
    async def finding(ctx: Context, given: Any) -> Any:
        return await ctx.waterfall("email", given, providers=["a", "b"])

    here = world(
        email_of(a=nothing, b=found, size=10),
        rows=ROWS,
        plays={"finding": {"play": play("finding")(finding)}},
    )
    await here.run(mapped(("email", lambda row, ctx: ctx.run_play("c", "finding", dict(row)))))
    assert here.values("email") == ["Ada@a.example", "Bob@a.example"]


async def test_while_a_waterfall_waits_its_cell_and_its_steps_show_as_queued(world: Any) -> None:
    # rule 8.6
    steps = [tool_step("one", "a_email"), tool_step("two", "b_email")]
    spec = waterfall(id="w", output="email", steps=steps)
    tools = {
        tool("a_email", provider="a", size=10, linger_seconds=30.0): nothing,
        tool("b_email", provider="b", size=10, linger_seconds=30.0): found,
    }
    here = world(tools, rows=ROWS)
    here.ports.gateway.latency = 20.0
    seen: list[list[str]] = []

    async def work(row: Any, ctx: Context) -> Any:
        if row["name"] == "Ada":
            return await ctx.waterfall(spec, dict(row))
        return await here.ports.clock.sleep(1_000)  # code that runs and may bring more calls

    running = asyncio.ensure_future(here.run(mapped(("email", work))))
    for seconds in (10, 30, 30, 30, 10):
        await here.ports.clock.advance(seconds)
        cells = here.rows()[0].cells
        seen.append([str(cells[name]["status"]) for name in ("email", "w.one", "w.two")])
    await running
    assert seen == [
        ["queued", "queued", "queued"],
        ["running", "running", "queued"],
        ["queued", "missed", "queued"],
        ["running", "missed", "running"],
        ["completed", "missed", "completed"],
    ]


async def test_every_row_is_asked_of_its_own_providers_in_its_own_order(world: Any) -> None:
    # rule 8.7
    here = world(email_of(a=nothing, b=nothing), rows=ROWS)
    orders = {"Ada": ["a", "b"], "Bob": ["b", "a"]}

    def own(row: Any, ctx: Context) -> Any:
        return ctx.waterfall("email", dict(row), providers=orders[row["name"]])

    await here.run(mapped(("email", own)))
    for row in here.rows():
        told = [attempt["provider"] for attempt in row.cells["email"]["attempts"]]
        assert told == orders[row.input["name"]]


async def test_going_on_to_the_next_provider_repeats_no_call(world: Any) -> None:
    # rule 8.9
    here = world(email_of(a=nothing, b=nothing, c=found), rows=ROWS)
    await here.run(mapped(("email", ask("a", "b", "c"))))
    sent = [member["name"] for each in here.ports.gateway.requests for member in each.members]
    names_and_tools = {
        (each.tool, member["name"]) for each in here.ports.gateway.requests for member in each.members
    }  # fmt: skip
    assert len(sent) == len(names_and_tools) == 6


async def test_a_miss_goes_on_and_a_hit_ends_the_waterfall_at_the_top_too(world: Any) -> None:
    # rule 8.11
    here = world(email_of(a=nothing, b=found, c=found))

    @top
    async def finding(ctx: Context) -> Any:
        return await ctx.waterfall("email", {"name": "Ada"}, providers=["a", "b", "c"])

    assert (await here.run(finding)).result == {"value": "Ada@a.example"}
    assert [sent.tool for sent in here.ports.gateway.requests] == ["a_email", "b_email"]


async def test_misses_of_all_are_none_at_the_top(world: Any) -> None:
    # rule 8.12
    @top
    async def finding(ctx: Context) -> Any:
        return await ctx.waterfall("email", {}, providers=["a"])

    assert (await world(email_of(a=nothing)).run(finding)).result == {"value": None}


async def test_a_call_is_answered_once() -> None:
    # rule 8.13
    call = Call("name", {}, waterfall=True, cell=None)
    waiter = call.join(Worker(Activity()))
    call.settle(Hit("first"))
    call.settle(Failed("later", "upstream"))
    assert await waiter == Hit("first")


def down(given: Any) -> MemberOutcome:
    return failed("it is down", category="upstream")


async def test_every_reason_is_told_where_nobody_had_a_value(world: Any) -> None:
    # case E4
    # rule 8.14
    @top
    async def finding(ctx: Context) -> Any:
        return await ctx.waterfall("email", {}, providers=["a", "b", "c"])

    tools = email_of(a=down, b=nothing, c=lambda _: failed("no such field", category="validation"))
    for program in (finding, mapped(("email", ask("a", "b", "c")), rows=ROWS[:1])):
        here = world(tools)
        outcome = await here.run(program)
        error = outcome.error or here.rows()[0].cells["email"]["error"]
        assert error["type"] == "WaterfallIncomplete"
        assert "a: it is down; c: no such field" in error["message"]


async def test_a_used_up_limit_is_no_reason_to_ask_the_next(world: Any) -> None:
    # rule 8.14
    used_up = lambda _: failed("the limit is used up", category="limit")  # noqa: E731

    @top
    async def finding(ctx: Context) -> Any:
        return await ctx.waterfall("email", {}, providers=["a", "b"])

    for program in (finding, mapped(("email", ask("a", "b")), rows=ROWS)):
        here = world(email_of(a=used_up, b=found))
        outcome = await here.run(program)
        assert (outcome.status, outcome.stop_reason) == (RunStatus.PAUSED, "limit")
        assert here.sent("b_email") == []


async def test_a_waterfall_at_the_top_gives_the_declared_value_and_is_recovered(
    world: Any,
) -> None:
    # rule 8.15
    spec = ToolSpec("a_email", "a", "email", getters={"email": ["person.work"]})
    here = world({spec: lambda _: hit({"person": {"work": "w@a.example"}})}, rows=ROWS[:1])

    @top
    async def finding(ctx: Context) -> Any:
        return await ctx.waterfall("email", {"name": "Ada"}, providers=["a"])

    assert (await here.run(finding)).result == {"value": "w@a.example"}
    here.ports = here.ports.next()
    assert (await here.run(finding)).result == {"value": "w@a.example"}
    await here.run(mapped(("email", ask("a"))))
    assert here.values("email") == ["w@a.example"]
    assert here.ports.gateway.sent["a_email"] == 1
