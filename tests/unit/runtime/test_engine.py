"""How runs end: with a value, with an error, stopped by a person, a limit or the loss of the lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from runtime import play
from runtime.context import Context
from runtime.engine import RunOutcome
from runtime.errors import HostFailed
from runtime.events import RunStatus
from runtime.memory import hit
from runtime.ports import Group, MemberOutcome
from runtime.tools import ToolSpec

Make = Callable[..., ToolSpec]


async def test_what_a_play_returns_is_the_result(world: Any) -> None:
    @play("value")
    async def value(ctx: Context, given: Any) -> Any:
        ctx.log("hello")
        return {"given": given["x"]}

    here = world()
    outcome = await here.run(value, {"x": 1})
    assert outcome == RunOutcome(RunStatus.COMPLETED, {"value": {"given": 1}})
    assert RunOutcome.from_json(outcome.to_json()) == outcome
    assert here.ports.run.logs[0]["text"] == "hello"


async def test_a_result_that_is_no_json_fails_the_run(world: Any) -> None:  # rule 13.14
    @play("bad")
    async def bad(ctx: Context, given: Any) -> Any:
        return {1, 2}

    outcome = await world().run(bad, {})
    assert outcome.status is RunStatus.FAILED
    assert outcome.error["type"] == "NotJson"


@pytest.mark.parametrize(
    ("request_", "run_status", "row_status", "cell"),
    [
        ("pause", RunStatus.PAUSED, "pending", "queued"),
        ("cancel", RunStatus.CANCELLED, "cancelled", "cancelled"),
    ],
)
async def test_a_request_stops_the_run_and_keeps_what_was_found(
    world: Any, make_tool: Make, request_: str, run_status: RunStatus, row_status: str, cell: str
) -> None:
    stuck = asyncio.Event()

    async def some(given: Any) -> MemberOutcome:
        if given["n"] == "0":
            await stuck.wait()
        return hit({"email": given["n"]})

    here = world({make_tool("finder"): some}, rows=[{"n": "0"}, {"n": "1"}])
    running = asyncio.ensure_future(here.run(finding))
    await here.ports.clock.advance(10)
    here.ports.signals.request(request_)
    outcome = await running
    assert outcome.status is run_status
    assert here.row_statuses() == [row_status, "completed"]
    assert here.statuses("email") == [cell, "completed"]


@play("finding")
async def finding(ctx: Context, given: Any) -> Any:
    async def find(row: Any, ctx: Context) -> Any:
        return (await ctx.tools.execute(id="f", tool="finder", input=dict(row))).value()

    return await ctx.map("rows", await ctx.csv(given["rows"])).step("email", find).run()


async def test_an_author_who_swallows_errors_cannot_stop_a_pause(
    world: Any, make_tool: Make
) -> None:
    @play("stubborn")
    async def stubborn(ctx: Context, given: Any) -> Any:
        async def find(row: Any, ctx: Context) -> Any:
            try:
                return (await ctx.tools.execute(id="f", tool="finder", input=dict(row))).value()
            except Exception:  # noqa: BLE001 (what a careless author writes)
                return "swallowed"

        return await ctx.map("rows", await ctx.csv(given["rows"])).step("email", find).run()

    here = world(
        {
            make_tool("finder"): lambda given: {
                "kind": "failed",
                "category": "limit",
                "message": "the limit max_tool_call_count (500) is used up",
            }
        },
        rows=[{"n": "0"}],
    )
    outcome = await here.run(stubborn)
    assert (outcome.status, outcome.stop_reason) == (RunStatus.PAUSED, "limit")
    assert here.row_statuses() == ["pending"]


async def test_the_deadline_pauses_the_run_with_a_sentence(world: Any) -> None:
    @play("long")
    async def long(ctx: Context, given: Any) -> Any:
        await ctx.sleep(40)

    outcome = await world(limits={"max_runtime_seconds": 30}).run(long, {})
    assert outcome.status is RunStatus.PAUSED
    assert outcome.stop_reason == "deadline"
    assert "max_runtime_seconds (30 s) is used up" in outcome.stop_message


async def test_a_gateway_that_refuses_the_run_stops_it(world: Any, make_tool: Make) -> None:
    here = world({make_tool("finder"): lambda given: {"kind": "stopped"}}, rows=[{"n": "0"}])
    outcome = await here.run(finding)
    assert outcome.stop_reason == "lease_lost"


async def test_a_lost_lease_is_an_outcome_that_writes_nothing(world: Any, make_tool: Make) -> None:
    here = world(rows=[{"n": "0"}])
    here.ports.signals.request("lease_lost")

    @play("waits")
    async def waits(ctx: Context, given: Any) -> Any:
        await ctx.sleep(100)

    assert (await here.run(waits, {})).stop_reason == "lease_lost"


async def test_records_that_cannot_be_written_end_the_engine(world: Any) -> None:
    async def refuse(group: Group) -> int:
        raise HostFailed("the lease is lost")

    @play("pure")
    async def pure(ctx: Context, given: Any) -> Any:
        return await ctx.map("rows", await ctx.csv(given["rows"])).step("a", 1).run()

    here = world(rows=[{"n": "0"}])
    here.ports.records.commit = refuse
    with pytest.raises(HostFailed, match="the lease is lost"):
        await here.run(pure)


async def test_an_exception_in_a_play_ends_the_run_with_its_message(world: Any) -> None:  # case C13
    @play("bad")
    async def bad(ctx: Context, given: Any) -> Any:
        await asyncio.gather(ctx.step("a", lambda: 1), ctx.step("b", lambda: 1 / 0))

    outcome = await world().run(bad, {})
    line = outcome.error.pop("line")
    assert line.startswith(f"{__file__}:")
    assert outcome.error == {
        "type": "ZeroDivisionError",
        "message": "division by zero",
        "play": "bad",
    }


async def test_extract_list_reads_lists_at_any_path(world: Any) -> None:  # rule 14.5
    result = {"data": {"people": [{"a": 1, "b": 2}, "no dict", {"b": 3}]}}

    @play("lists")
    async def lists(ctx: Context, given: Any) -> Any:
        return [
            ctx.extract_list(result, "data.people"),
            ctx.extract_list(result, "data.people", ["a"]),
            ctx.extract_list([{"c": 1}], ""),
            ctx.extract_list(None, "x"),
            ctx.extract_list(result, "data"),
        ]

    outcome = await world().run(lists, {})
    assert outcome.result["value"] == [
        [{"a": 1, "b": 2}, {"b": 3}],
        [{"a": 1}, {}],
        [{"c": 1}],
        [],
        [],
    ]


async def test_a_csv_can_be_renamed_narrowed_and_read_in_pages(world: Any) -> None:
    # rule 14.6
    @play("reading")
    async def reading(ctx: Context, given: Any) -> Any:
        rows = await ctx.csv(given["rows"], rename={"n": "name"}, columns=["name"])
        return [
            await rows.count(),
            await rows.peek(1),
            rows.preview[0],
            len([row async for row in rows]),
            len(await rows.materialize()),
        ]

    here = world(rows=[{"n": str(index), "m": "x"} for index in range(1_500)])
    outcome = await here.run(reading)
    assert outcome.result["value"] == [1_500, [{"name": "0"}], {"name": "0"}, 1_500, 1_500]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rename": {"no": "x"}}, "no column 'no' to rename; the file has n, m"),
        ({"columns": ["no"]}, "no column 'no'; the file has n, m"),
        ({"rename": {"n": "m"}}, "two columns are named"),
    ],
)
async def test_columns_that_a_csv_does_not_have_are_told(
    world: Any, options: dict[str, Any], said: str
) -> None:
    @play("reading")
    async def reading(ctx: Context, given: Any) -> Any:
        return await (await ctx.csv(given["rows"], **options)).count()

    assert said in (await world(rows=[{"n": "1", "m": "2"}]).run(reading)).error["message"]


async def test_a_csv_needs_the_reference_of_an_upload(world: Any) -> None:
    @play("reading")
    async def reading(ctx: Context, given: Any) -> Any:
        return await ctx.csv("/etc/passwd")

    assert "needs the reference of an upload" in (await world().run(reading, {})).error["message"]


async def test_what_was_in_flight_at_a_stop_is_shown_and_nothing_more_is_sent(
    world: Any, make_tool: Make
) -> None:  # case B8
    async def slow(given: Any) -> MemberOutcome:
        if given["n"] == "0":
            return {"kind": "failed", "category": "limit", "message": "the limit is used up"}
        await here.ports.clock.sleep(0.5)
        return hit({"email": given["n"]})

    here = world({make_tool("finder"): slow}, rows=[{"n": str(index)} for index in range(40)])
    outcome = await here.run(finding)
    assert (outcome.status, outcome.stop_reason) == (RunStatus.PAUSED, "limit")
    sent = len(here.sent("finder"))
    assert sent == 31
    assert here.row_statuses().count("completed") == sent - 1
    assert here.row_statuses().count("pending") == 40 - (sent - 1)
    assert here.statuses("email").count("completed") == sent - 1
