"""Tools and named steps: what a call is known by, when it is sent, what its cell shows, what is recovered."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from runtime import play
from runtime.admission import WINDOW_ROWS
from runtime.context import Context
from runtime.memory import failed, hit
from runtime.ports import MemberOutcome
from tests.unit.runtime.conftest import tool
from tests.unit.runtime.programs import mapped, top

ROW = [{"n": "1"}]


def echo(given: Any) -> MemberOutcome:
    return hit({"email": given["n"]})


async def ask(ctx: Context, key: str, number: str, name: str = "finder") -> Any:
    return (await ctx.tools.execute(id=key, tool=name, input={"n": number})).value()


async def test_a_call_at_the_top_is_known_by_its_id_and_input_in_any_order(world: Any) -> None:
    # case P2
    # rule 10.2
    def asking(*numbers: str) -> Any:
        return top(lambda ctx: answers(ctx, *numbers))

    async def answers(ctx: Context, *numbers: str) -> Any:
        return [await ask(ctx, "find", number) for number in numbers]

    here = world({tool("finder"): echo})
    here.ports.gateway.ledger = Forgetful()
    assert (await here.run(asking("1", "2"))).result == {"value": ["1", "2"]}
    here.ports = here.ports.next()
    assert (await here.run(asking("2", "3", "1"))).result == {"value": ["2", "3", "1"]}
    assert [sent.members[0]["input"]["n"] for sent in here.ports.gateway.requests] == [
        "1",
        "2",
        "3",
    ]


class Forgetful(dict[Any, Any]):
    """A ledger that keeps nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


async def test_a_live_result_says_so_and_is_kept_before_the_author_gets_it(world: Any) -> None:
    # rule 10.3
    seen: list[Any] = []

    @top
    async def dies(ctx: Context) -> Any:
        result = await ctx.tools.execute(id="find", tool="finder", input={"n": "1"})
        seen.append((result.execution.source, result.execution.cached))
        seen.append([receipt.status for receipt in here.ports.run.receipts.values()])
        raise ValueError("right after it")

    here = world({tool("finder"): echo})
    await here.run(dies)
    assert seen == [("live", False), ["completed"]]


async def test_a_call_in_a_row_is_known_by_map_row_field_id_and_input(world: Any) -> None:
    # rule 10.4
    @play("two_maps")
    async def two_maps(ctx: Context, given: Any) -> Any:
        for table in ("one", "two"):
            await (
                ctx.map(table, [{"n": "1"}, {"n": "2"}])
                .step("a", lambda row, ctx: ask(ctx, "x", "same"))
                .step("b", lambda row, ctx: ask(ctx, "x", "same"))
                .step("c", lambda row, ctx: ask(ctx, "y", "same"))
                .step("d", lambda row, ctx: ask(ctx, "y", "other"))
                .run()
            )

    here = world({tool("finder"): echo})
    await here.run(two_maps)
    names = {member["name"] for sent in here.ports.gateway.requests for member in sent.members}
    assert len(names) == 2 * 2 * 4
    row = here.rows()[0]
    assert any(name.startswith(f"two_maps/map/two_maps_one/{row.key}/a/x/") for name in names)


@pytest.mark.parametrize("in_a_row", [True, False])
async def test_the_same_call_twice_at_once_is_sent_once_and_another_input_is_another_call(
    world: Any, in_a_row: bool
) -> None:
    # rule 10.5
    async def at_once(row: Any, ctx: Context) -> Any:
        return await asyncio.gather(*(ask(ctx, "find", number) for number in ("1", "2")))

    async def twice(row: Any, ctx: Context) -> Any:
        return await asyncio.gather(*(ask(ctx, "find", number) for number in ("1", "1", "2")))

    here = world({tool("finder"): echo}, rows=ROW)
    if in_a_row:
        await here.run(mapped(("email", twice)))
        assert here.values("email") == [["1", "1", "2"]]
    else:
        outcome = await here.run(top(lambda ctx: at_once(None, ctx)))
        assert outcome.result == {"value": ["1", "2"]}
    assert sum(here.sent("finder")) == 2


async def test_a_call_that_waits_for_its_batch_shows_as_queued_with_its_tool(world: Any) -> None:
    # rule 10.6
    here = world({tool("finder", size=10, linger_seconds=30.0): echo}, rows=[*ROW, {"n": "busy"}])

    async def work(row: Any, ctx: Context) -> Any:
        if row["n"] == "busy":
            return await here.ports.clock.sleep(60)  # code that runs and may bring more calls
        return await ask(ctx, "find", row["n"])

    running = asyncio.ensure_future(here.run(mapped(("email", work))))
    await here.ports.clock.advance(10)
    cell = here.rows()[0].cells["email"]
    assert (str(cell["status"]), cell["stage"], cell["provider"]) == ("queued", "finder", "finder")
    await running
    assert here.values("email") == ["1", None]


async def test_a_recovered_result_says_that_it_was_not_live_in_a_batch_too(world: Any) -> None:
    # rule 10.7
    async def sources(row: Any, ctx: Context) -> Any:
        result = await ctx.tools.execute(id="find", tool="finder", input={"n": row["n"]})
        return [result.value(), result.execution.source, result.execution.cached]

    here = world({tool("finder", size=2): echo}, rows=[{"n": "1"}, {"n": "2"}])
    await here.run(mapped(("email", sources)))
    assert here.values("email") == [["1", "live", False], ["2", "live", False]]
    here.ports = here.ports.next("run-2")
    here.code = "code-2"
    await here.run(mapped(("email", sources)))
    assert here.values("email") == [["1", "ledger", True], ["2", "ledger", True]]


async def test_a_tool_that_is_rate_limited_delays_only_its_own_calls(world: Any) -> None:
    # rule 10.14
    def limited(given: Any) -> MemberOutcome:
        if here.ports.clock.now() < start + 50:
            return failed("later", category="rate_limit", retryable=True, retry_after=50.0)
        return echo(given)

    async def work(row: Any, ctx: Context) -> Any:
        name = "limited" if int(row["n"]) < 40 else "finder"
        found = await ask(ctx, "find", row["n"], name)
        done[name].append(here.ports.clock.now() - start)
        return found

    done: dict[str, list[float]] = {"limited": [], "finder": []}
    rows = [{"n": str(number)} for number in range(80)]
    here = world({tool("limited", size=10): limited, tool("finder", size=10): echo}, rows=rows)
    start = here.ports.clock.now()
    await here.run(mapped(("email", work)))
    assert here.values("email") == [row["n"] for row in rows]
    assert max(done["finder"]) < 5 < 50 <= min(done["limited"])


async def test_a_repeated_step_name_at_the_top_is_its_next_occurrence(world: Any) -> None:
    # rule 12.12
    @top
    async def twice(ctx: Context) -> Any:
        return [await ctx.step("s", lambda: 1), await ctx.step("s", lambda: 2)]

    here = world()
    assert (await here.run(twice)).result == {"value": [1, 2]}
    assert list(here.ports.run.receipts) == ["top/step/s", "top/step/s#2"]


async def test_one_step_name_in_two_fields_is_two_steps_whichever_is_reused(world: Any) -> None:
    # rule 12.13
    def program(second: int) -> Any:
        return mapped(
            ("a", lambda row, ctx: ctx.step("s", lambda: "of a")),
            ("b", lambda row, ctx: ctx.step("s", lambda: f"of b {second}")),
            ("c", waits),
        )

    async def waits(row: Any, ctx: Context) -> Any:
        await ctx.sleep(30)
        return "rested"

    here = world(rows=ROW)
    running = asyncio.ensure_future(here.run(program(1)))
    await here.ports.clock.advance(10)
    running.cancel()
    await asyncio.wait({running})
    for cell in here.rows()[0].cells.values():
        cell["step"] = "another code"  # both fields run again, and find their steps by name
    here.ports = here.ports.next()
    await here.run(program(2))
    assert (here.values("a"), here.values("b")) == (["of a"], ["of b 1"])


async def test_a_step_that_is_done_is_recovered_and_one_that_runs_is_refused_at_the_top(
    world: Any,
) -> None:
    # rule 12.14
    ran: list[int] = []

    async def slow() -> int:
        ran.append(1)
        await here.ports.clock.sleep(1)
        return 7

    @top
    async def both(ctx: Context) -> Any:
        found = await asyncio.gather(
            ctx.step("s", slow), ctx.step("s", slow), return_exceptions=True
        )
        return [item if isinstance(item, int) else type(item).__name__ for item in found]

    here = world()
    assert (await here.run(both)).result == {"value": [7, "DuplicateName"]}
    here.ports = here.ports.next()
    assert (await here.run(top(lambda ctx: ctx.step("s", slow)))).result == {"value": 7}
    assert ran == [1]


async def test_a_step_at_the_top_has_a_receipt_and_one_in_a_row_has_none(world: Any) -> None:
    # rule 12.15
    here = world(rows=ROW)
    await here.run(top(lambda ctx: ctx.step("s", lambda: 1)))
    assert {name: each.status for name, each in here.ports.run.receipts.items()} == {
        "top/step/s": "completed"
    }
    there = world(rows=ROW)
    await there.run(mapped(("a", lambda row, ctx: ctx.step("s", lambda: 1))))
    assert there.ports.run.receipts == {}


@pytest.mark.parametrize(
    ("result", "path", "fields", "rows"),
    [
        ([{"a": 1}, 7, [1], None], "", None, [{"a": 1}]),
        ({"x": {"y": [{"a": 1, "b": 2}]}}, "x.y", ["a", "c"], [{"a": 1}]),
        ({"x": [[{"a": 1}]]}, "x.0", None, [{"a": 1}]),
        ({"x": {}}, "x", None, []),
        ("text", "x", None, []),
        (None, "", None, []),
    ],
)
async def test_extract_list_gives_the_dictionaries_of_a_list(
    world: Any, result: Any, path: str, fields: Any, rows: Any
) -> None:
    # rule 14.5
    @top
    async def lists(ctx: Context) -> Any:
        return ctx.extract_list(result, path, fields)

    assert (await world().run(lists)).result == {"value": rows}


async def test_extract_list_reads_a_tools_result(world: Any) -> None:
    # rule 14.5
    @top
    async def lists(ctx: Context) -> Any:
        return ctx.extract_list(await ctx.tool(id="f", tool="finder", input={}), "people")

    here = world({tool("finder"): lambda _: hit({"people": [{"name": "Ada"}]})})
    assert (await here.run(lists)).result == {"value": [{"name": "Ada"}]}


async def test_plain_code_gives_the_event_loop_its_turns(world: Any) -> None:
    # rule 1.2
    turns = [0]

    async def turning() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    here = world(rows=[{"n": str(number)} for number in range(6_000)])
    turner = asyncio.ensure_future(turning())
    await here.run(mapped(("turn", lambda row: turns[0])))
    turner.cancel()
    rows_in_a_turn = Counter(here.values("turn"))
    assert max(rows_in_a_turn.values()) <= WINDOW_ROWS


async def test_a_dataset_shows_its_first_ten_rows(world: Any) -> None:
    # rule 1.13
    @top
    async def previews(ctx: Context) -> Any:
        found = await ctx.csv("upload:1")
        table = await ctx.map("t", found).step("a", 1).run()
        return [found.preview, table.preview, len(await table.peek())]

    rows = [{"n": str(number)} for number in range(25)]
    outcome = await world(rows=rows).run(previews)
    assert outcome.result == {"value": [rows[:10], [{**row, "a": 1} for row in rows[:10]], 10]}


async def test_more_rows_than_permits_wait_and_neither_fail_nor_miss(world: Any) -> None:
    # rule 1.12
    here = world({tool("single"): echo}, rows=[{"n": str(number)} for number in range(120)])
    await here.run(mapped(("email", lambda row, ctx: ask(ctx, "f", row["n"], "single"))))
    assert here.ports.gateway.most_in_flight == 31
    assert here.values("email") == [str(number) for number in range(120)]
