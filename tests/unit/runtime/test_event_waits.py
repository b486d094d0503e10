"""Waits for events: by method and by tool, early and late, and what nobody could be asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import play
from runtime.context import Context
from runtime.errors import HostFailed
from runtime.events import RunStatus
from runtime.program import Play
from tests.unit.runtime.test_durable import in_row

ROWS = [{"n": "1"}, {"n": "2"}]


def top(function: Any) -> Play:
    return play("top")(function)


async def until_asked(here: Any, running: asyncio.Task[Any], waits: int) -> None:
    """Let the run go on until so many waits are registered."""
    while len(here.ports.run.boundaries) < waits:
        assert not running.done()
        await asyncio.sleep(0)


async def test_the_tool_event_wait_waits_for_an_event(world: Any) -> None:
    # rule 10.1
    async def approve(row: Any, ctx: Context) -> Any:
        asked = {"event": f"ok-{row['n']}", "timeout_seconds": 50, "message": "?", "form": {}}
        result = await ctx.tool(id="approval", tool="event_wait", input=asked)
        return [bool(result), result.status, result.result, result.value("payload")]

    here = world(rows=ROWS)
    running = asyncio.ensure_future(here.run(in_row(approve)))
    await until_asked(here, running, 2)
    here.ports.signals.deliver("ok-1", {"by": "Grace"})
    await running
    received = {"status": "received", "payload": {"by": "Grace"}}
    assert here.values("a") == [
        [True, "completed", received, {"by": "Grace"}],
        [False, "no_result", None, None],
    ]


async def test_the_tool_and_the_method_are_one_wait(world: Any) -> None:
    # rule 10.1, 12.3
    @top
    async def by_method(ctx: Context, given: Any) -> Any:
        return await ctx.wait_for_event("ok", event="go", timeout_seconds=50)

    @top
    async def by_tool(ctx: Context, given: Any) -> Any:
        asked = {"event": "go", "timeout_seconds": 9}
        return (await ctx.tool(id="ok", tool="event_wait", input=asked)).result

    here = world()
    here.ports.signals.deliver("go", 1)
    first = await here.run(by_method, {})
    here.ports = here.ports.next()
    assert (await here.run(by_tool, {})).result == first.result
    assert len(here.ports.run.boundaries) == 1


@pytest.mark.parametrize("asked", [{}, {"event": "e"}, [], {"event": "e", "timeout": 1}])
async def test_event_wait_says_what_it_takes(world: Any, asked: Any) -> None:
    @top
    async def waits(ctx: Context, given: Any) -> Any:
        return await ctx.tool(id="ok", tool="event_wait", input=asked)

    told = (await world().run(waits, {})).error["message"]
    assert "takes event, timeout_seconds, and if wanted message and form" in told


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"event": ""}, "event is a text of 1 to 200 characters"),
        ({"event": "e" * 201}, "event is a text of 1 to 200 characters"),
        ({"event": 5}, "event is a text of 1 to 200 characters"),
        ({"message": "m" * 10_001}, "message is a text of at most 10,000 characters"),
        ({"form": {"type": "nonsense"}}, "form is no valid JSON Schema: at type"),
        ({"form": {"type": "array"}}, "form describes an object"),
        ({"form": {"a": {1}}}, "form gave a set at a"),
        ({"timeout_seconds": float("inf")}, "at most 1,000,000,000"),
        ({"timeout_seconds": float("nan")}, "at most 1,000,000,000"),
    ],
)
async def test_what_nobody_could_be_asked_is_refused(
    world: Any, asked: dict[str, Any], sentence: str
) -> None:
    @top
    async def waits(ctx: Context, given: Any) -> Any:
        told = {"event": "e", "timeout_seconds": 1} | asked
        return await ctx.wait_for_event("ok", **told)

    here = world()
    outcome = await here.run(waits, {})
    assert outcome.status is RunStatus.FAILED
    assert sentence in outcome.error["message"]
    assert here.ports.run.boundaries == {}


async def test_an_early_event_answers_the_first_wait_for_it(world: Any) -> None:
    # case P3
    @top
    async def waits(ctx: Context, given: Any) -> Any:
        asked = {"event": "go", "timeout_seconds": 5}
        return [(await ctx.wait_for_event("ok", **asked))["payload"] for _ in range(3)]

    here = world()
    for payload in ("first", "second"):
        here.ports.signals.deliver("go", payload)
    assert (await here.run(waits, {})).result == {"value": ["first", "second", None]}


async def test_waits_are_known_by_table_row_field_and_name(world: Any) -> None:
    # rule 12.2, 12.4
    async def approve(row: Any, ctx: Context) -> Any:
        first = await ctx.wait_for_event("ok", event="a", timeout_seconds=10)
        return [first["status"], await ctx.wait_for_event("ok", event="b", timeout_seconds=10)]

    here = world(rows=ROWS)
    running = asyncio.ensure_future(here.run(in_row(approve)))
    await until_asked(here, running, 2)
    here.ports.signals.deliver("a", 1)
    await until_asked(here, running, 4)
    first = {name: found.due_at for name, found in here.ports.run.boundaries.items()}
    running.cancel()
    await asyncio.wait({running})
    here.ports = here.ports.next()
    await here.run(in_row(approve))
    again = {name: found.due_at for name, found in here.ports.run.boundaries.items()}
    assert again == first
    assert [value[0] for value in here.values("a")] == ["received", "received"]


async def test_waits_of_child_plays_are_known_by_their_place(world: Any) -> None:
    # rule 12.5
    async def asking(ctx: Context, given: Any) -> Any:
        return (await ctx.wait_for_event("ok", event=given["e"], timeout_seconds=5))["payload"]

    @top
    async def parent(ctx: Context, given: Any) -> Any:
        own = await asking(ctx, {"e": "own"})
        calls = [await ctx.run_play(key, "asking", {"e": key}) for key in ("x", "y")]
        return [own, *calls]

    here = world(plays={"asking": {"play": play("asking")(asking)}})
    for event in ("y", "own", "x"):
        here.ports.signals.deliver(event, event.upper())
    assert (await here.run(parent, {})).result == {"value": ["OWN", "X", "Y"]}
    assert len(here.ports.run.boundaries) == 3


async def test_a_wait_that_cannot_be_registered_stops_the_run(world: Any) -> None:
    # rule 12.1
    @top
    async def waits(ctx: Context, given: Any) -> Any:
        return await ctx.wait_for_event("ok", event="go", timeout_seconds=5)

    here = world()
    here.ports.store.run(here.ports.run.id).epoch += 1
    with pytest.raises(HostFailed, match="the lease of this run is lost"):
        await here.run(waits, {})
    assert here.ports.run.boundaries == {}
