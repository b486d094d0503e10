"""Child plays: limits of the tree, turns, names, what they share with their caller and what not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from runtime import play
from runtime.context import Context
from runtime.errors import HostFailed
from runtime.events import RunStatus
from runtime.memory import hit
from runtime.program import Play
from runtime.tools import ToolSpec

Make = Callable[..., ToolSpec]


def library(**functions: Any) -> dict[str, Any]:
    return {name: {"play": play(name)(function)} for name, function in functions.items()}


def parent(function: Any) -> Play:
    return play("parent")(function)


def calling(name: str, count: int = 1) -> Play:
    """A play that runs so many children at once."""

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        calls = (ctx.run_play(f"c{number}", name, {"n": number}) for number in range(count))
        return await asyncio.gather(*calls)

    return parent_play


async def number(ctx: Context, given: Any) -> Any:
    return given["n"]


@pytest.mark.parametrize("name", ["", "  "])
async def test_a_child_play_needs_a_name(world: Any, name: str) -> None:  # rule 13.1
    outcome = await world().run(calling(name))
    assert "ctx.run_play needs a non-empty name" in outcome.error["message"]


async def test_a_play_that_the_library_does_not_hold_counts_nothing(world: Any) -> None:
    # rule 13.2, 13.7
    here = world()
    outcome = await here.run(calling("nosuch"))
    assert "nosuch" in outcome.error["message"]
    assert not here.ports.run.children
    assert not here.ports.run.receipts


async def test_recursion_and_depth_are_refused_before_anything_is_counted(world: Any) -> None:
    # rule 13.6
    async def itself(ctx: Context, given: Any) -> Any:
        return await ctx.run_play("again", "itself", given)

    here = world(plays=library(itself=itself))
    await here.run(calling("itself"))
    assert here.ports.run.children.total() == 1


async def test_ten_children_at_once_cannot_pass_a_limit_of_five(world: Any) -> None:
    # rule 13.5, 4.1, 4.2
    here = world(plays=library(number=number))
    here.ports.run.limits.update(max_child_play_calls_per_parent=5, max_child_play_calls_per_row=0)
    outcome = await here.run(calling("number", 10))
    assert outcome.status is RunStatus.PAUSED
    assert outcome.stop_reason == "limit"
    assert "max_child_play_calls_per_parent (5" in outcome.stop_message
    assert here.ports.run.children.total() == 5


async def test_a_raised_limit_lets_the_run_go_on_without_counting_twice(world: Any) -> None:
    here = world(plays=library(number=number))
    here.ports.run.limits.update(max_play_call_count=5, max_play_calls_per_row=0)
    assert (await here.run(calling("number", 10))).stop_reason == "limit"
    here.ports = here.ports.next()
    here.ports.run.limits.update(max_play_call_count=10)
    assert (await here.run(calling("number", 10))).result == {"value": list(range(10))}
    assert here.ports.run.children.total() == 10


async def test_one_count_holds_for_the_whole_tree(world: Any) -> None:  # rule 13.8
    async def two(ctx: Context, given: Any) -> Any:
        return [await ctx.run_play(f"g{each}", "number", {"n": each}) for each in range(2)]

    here = world(plays=library(number=number, two=two))
    here.ports.run.limits.update(max_descendants=5, max_descendants_per_row=0)
    outcome = await here.run(calling("two", 2))
    assert "max_descendants (5" in outcome.stop_message
    here.ports = here.ports.next()
    here.ports.run.limits.update(max_descendants=6)
    assert (await here.run(calling("two", 2))).result == {"value": [[0, 1], [0, 1]]}


async def test_a_child_is_known_by_key_and_input_and_not_by_its_order(world: Any) -> None:
    # rule 13.9
    ran: list[str] = []

    async def slow(ctx: Context, given: Any) -> Any:
        ran.append(given["n"])
        await ctx.sleep(given["seconds"])
        return given["n"]

    def order(*names: str) -> Play:
        @play("parent")
        async def parent_play(ctx: Context, given: Any) -> Any:
            return await asyncio.gather(
                *(
                    ctx.run_play("c", "slow", {"n": name, "seconds": ord(name) % 3})
                    for name in names
                )
            )

        return parent_play

    here = world(plays=library(slow=slow))
    assert (await here.run(order("a", "b", "c"))).result == {"value": ["a", "b", "c"]}
    here.ports = here.ports.next()
    assert (await here.run(order("c", "a", "b"))).result == {"value": ["c", "a", "b"]}
    assert sorted(ran) == ["a", "b", "c"]


async def test_no_more_children_run_at_once_than_the_limit(world: Any) -> None:
    # rule 4.7, 13.12
    running: list[int] = [0, 0]

    async def counted(ctx: Context, given: Any) -> Any:
        running[0] += 1
        running[1] = max(running)
        await here.ports.clock.sleep(1)
        running[0] -= 1
        if given["n"] % 2:
            raise ValueError("odd")
        return given["n"]

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        calls = (ctx.run_play(f"c{each}", "counted", {"n": each}) for each in range(9))
        return [str(each) for each in await asyncio.gather(*calls, return_exceptions=True)]

    here = world(plays=library(counted=counted), limits={"max_concurrent_play_calls": 3})
    outcome = await here.run(parent_play)
    assert outcome.status is RunStatus.COMPLETED
    assert running == [0, 3]


async def test_children_of_children_never_lock_each_other_out(world: Any) -> None:
    # rule 4.7
    async def middle(ctx: Context, given: Any) -> Any:
        calls = (ctx.run_play(f"g{each}", "leaf", {"n": each}) for each in range(3))
        return sum(await asyncio.gather(*calls))

    async def leaf(ctx: Context, given: Any) -> Any:
        await here.ports.clock.sleep(1)
        return given["n"]

    here = world(plays=library(middle=middle, leaf=leaf), limits={"max_concurrent_play_calls": 2})
    assert (await here.run(calling("middle", 4))).result == {"value": [3, 3, 3, 3]}


async def test_a_map_of_a_child_that_runs_twice_at_once_is_refused(world: Any) -> None:
    # rule 5.2
    async def mapping(ctx: Context, given: Any) -> Any:
        rows = await ctx.map("inner", [given]).step("twice", lambda row: row["n"] * 2).run()
        return (await rows.peek())[0]["twice"]

    here = world(plays=library(mapping=mapping))
    outcome = await here.run(calling("mapping", 2))
    assert "'mapping' runs more than once at this moment" in outcome.error["message"]
    assert "'inner'" in outcome.error["message"]

    alone = world(plays=library(mapping=mapping), limits={"max_concurrent_play_calls": 1})
    assert (await alone.run(calling("mapping", 2))).result == {"value": [0, 2]}


async def test_a_child_shares_the_tree_s_limits_and_requests_in_flight(
    world: Any, make_tool: Make
) -> None:
    # rule 3.2
    async def asking(ctx: Context, given: Any) -> Any:
        found = await ctx.tools.execute(id="f", tool="finder", input=given)
        return found.value()

    here = world(
        {make_tool("finder"): lambda given: hit({"email": str(given["n"])})},
        plays=library(asking=asking),
        limits={"max_concurrent_tool_calls": 2},
    )
    assert (await here.run(calling("asking", 6))).result == {"value": list("012345")}
    assert here.ports.gateway.most_in_flight <= 2


async def test_what_a_child_returns_must_be_json(world: Any) -> None:  # rule 13.14
    async def odd(ctx: Context, given: Any) -> Any:
        return {1, 2}

    outcome = await world(plays=library(odd=odd)).run(calling("odd"))
    assert "the child play 'odd' gave a set" in outcome.error["message"]


async def test_completed_work_is_taken_over_and_the_log_says_so(world: Any) -> None:
    # rule 11.1, 11.3, 11.8, 12.15
    steps: list[int] = []

    async def stepping(ctx: Context, given: Any) -> Any:
        return await ctx.step("draw", lambda: steps.append(1) or 7)

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        value = await ctx.run_play("c", "stepping", {})
        if given.get("fails"):
            raise ValueError("later")
        return value

    here = world(plays=library(stepping=stepping))
    await here.run(parent_play, {"fails": True})
    here.ports = here.ports.next()
    assert (await here.run(parent_play, {})).result == {"value": 7}
    assert steps == [1]
    told = [line["text"] for line in here.ports.run.logs]
    assert "ctx.run_play('c', 'stepping') was done before: what it gave is taken over" in told
    assert len(here.ports.run.receipts) == 2


async def test_work_that_a_pause_interrupts_stays_claimed(world: Any) -> None:
    # rule 11.5
    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        return await ctx.step("slow", lambda: here.ports.clock.sleep(100))

    here = world()
    running = asyncio.ensure_future(here.run(parent_play))
    await here.ports.clock.advance(5)
    here.ports.signals.request("pause")
    assert (await running).status is RunStatus.PAUSED
    assert [receipt.status for receipt in here.ports.run.receipts.values()] == ["claimed"]
    here.ports = here.ports.next()
    assert (await here.run(parent_play)).status is RunStatus.COMPLETED


async def test_work_whose_completion_cannot_be_stored_is_not_recorded_as_failed(
    world: Any,
) -> None:
    # rule 11.6
    async def broken(name: str, output: Any) -> None:
        raise HostFailed("the store is away")

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        return await ctx.step("draw", lambda: 7)

    here = world()
    here.ports.receipts.complete = broken
    with pytest.raises(HostFailed):
        await here.run(parent_play)
    assert [receipt.status for receipt in here.ports.run.receipts.values()] == ["claimed"]


async def test_a_refused_claim_never_does_the_work(world: Any) -> None:  # rule 11.4
    done: list[int] = []

    async def refuses(*claimed: Any) -> Any:
        return {"state": "refused", "output": None, "error": "another run has it"}

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        return await ctx.step("draw", lambda: done.append(1))

    here = world()
    here.ports.receipts.claim = refuses
    outcome = await here.run(parent_play)
    assert "another run has it" in outcome.error["message"]
    assert done == []


async def test_a_step_a_tool_and_a_child_of_one_name_have_receipts_of_their_own(
    world: Any, make_tool: Make
) -> None:
    # rule 11.7
    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        return [
            await ctx.step("same", lambda: 1),
            (await ctx.tools.execute(id="same", tool="finder", input={})).value(),
            await ctx.run_play("same", "number", {"n": 3}),
        ]

    here = world(
        {make_tool("finder"): lambda given: hit({"email": 2})}, plays=library(number=number)
    )
    assert (await here.run(parent_play)).result == {"value": [1, 2, 3]}
    assert len(here.ports.run.receipts) == 3


async def test_a_call_that_its_author_gave_up_may_be_asked_again(world: Any) -> None:
    async def slow(ctx: Context, given: Any) -> Any:
        await here.ports.clock.sleep(given["seconds"])
        return "slow"

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        first = asyncio.ensure_future(ctx.run_play("c", "slow", {"seconds": 5}))
        await here.ports.clock.sleep(1)
        first.cancel()
        await asyncio.wait({first})
        return await ctx.run_play("c", "slow", {"seconds": 5})

    here = world(plays=library(slow=slow))
    assert (await here.run(parent_play)).result == {"value": "slow"}


async def test_a_child_runs_again_in_a_parked_row_without_counting_twice(world: Any) -> None:
    async def waiting(ctx: Context, given: Any) -> Any:
        return (await ctx.wait_for_event("ok", event="ok", timeout_seconds=1e5))["status"]

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", [{"n": 1}])
        return await rows.step("a", lambda row, ctx: ctx.run_play("c", "waiting", {})).run()

    here = world(plays=library(waiting=waiting))
    assert (await here.finish(parent_play)).status is RunStatus.COMPLETED
    assert here.values("a") == ["timed_out"]
    assert here.ports.run.children.total() == 1


@pytest.mark.parametrize("interrupted", ["claim", "complete"])
async def test_work_given_up_while_the_store_answers_is_neither_lost_nor_done_twice(
    world: Any, make_tool: Make, interrupted: str
) -> None:
    # rule 11.4, 11.6
    done: list[int] = []

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        first = asyncio.ensure_future(ctx.tools.execute(id="f", tool="finder", input={}))
        await here.ports.clock.sleep(1)
        first.cancel()
        await asyncio.wait({first})
        return (await ctx.tools.execute(id="f", tool="finder", input={})).value()

    def answer(given: Any) -> Any:
        done.append(1)
        return hit({"email": "a@example.test"})

    here = world({make_tool("finder"): answer})
    receipts = here.ports.receipts
    asked = getattr(receipts, interrupted)

    async def slow(*given: Any) -> Any:
        result = await asked(*given)
        await here.ports.clock.sleep(5)
        return result

    setattr(receipts, interrupted, slow)
    assert (await here.run(parent_play)).result == {"value": "a@example.test"}
    assert done == [1]


@pytest.mark.parametrize("where", ["top", "row", "child"])
async def test_a_failing_host_is_no_failure_of_the_author_s_task_group(
    world: Any, where: str
) -> None:
    # rule 11.6
    async def groups(ctx: Context, given: Any) -> Any:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ctx.run_play("c", "number", {"n": 1}))

    @play("parent")
    async def parent_play(ctx: Context, given: Any) -> Any:
        if where == "top":
            return await groups(ctx, given)
        if where == "child":
            return await ctx.run_play("g", "groups", {})
        rows = ctx.map("rows", [{"n": 1}]).step("a", lambda row, ctx: groups(ctx, row))
        return await rows.run()

    async def broken(name: str, output: Any) -> None:
        raise HostFailed("the store is away")

    here = world(plays=library(number=number, groups=groups))
    here.ports.receipts.complete = broken
    with pytest.raises(HostFailed, match="the store is away"):
        await here.run(parent_play)
    assert {receipt.status for receipt in here.ports.run.receipts.values()} == {"claimed"}
