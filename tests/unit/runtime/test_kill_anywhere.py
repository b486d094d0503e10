"""A run that is killed at any port call, and resumed, ends as one that was not, and sends nothing twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import code_step, play, steps, tool_step, waterfall, when
from runtime.context import Context
from runtime.memory import failed, hit, miss
from runtime.ports import MemberOutcome
from tests.unit.runtime.conftest import World, tool

PORTS = ("rows", "records", "receipts", "library", "gateway")
ROWS = [{"n": str(number)} for number in range(6)]

INLINE = waterfall(
    id="inline",
    output="email",
    min_results=2,
    steps=[
        code_step("guess", lambda given, ctx: {"email": f"guess-{given['n']}"}),
        tool_step("ask", "b_email"),
    ],
)


def answer(told: Any) -> MemberOutcome:
    number = int(told["n"])
    if number % 5 == 4:
        return failed("no", category="validation")
    return miss() if number % 3 == 2 else hit({"email": f"found-{number}"})


async def named(row: Any, ctx: Context) -> Any:
    return await ctx.waterfall("email", {"n": row["n"]}, providers=["a", "b"])


async def inline(row: Any, ctx: Context) -> Any:
    return await ctx.waterfall(INLINE, {"n": row["n"]})


async def stepped(row: Any, ctx: Context) -> Any:
    return await ctx.step("draw", lambda: int(row["n"]) * 10)


async def scored(row: Any, ctx: Context) -> Any:
    return await ctx.run_play("score", "scoring", {"n": row["n"]})


async def slept(row: Any, ctx: Context) -> Any:
    await ctx.sleep(int(row["n"]) * 40)
    return "rested"


PARTS: dict[str, Any] = {
    "named": named,
    "inline": inline,
    "stepped": stepped,
    "scored": scored,
    "slept": slept,
    "nested": steps().step("deep", stepped).step("asked", named),
    "when": when(lambda row: int(row["n"]) % 2 == 0, run=named, otherwise="odd"),
}


@play("scoring")
async def scoring(ctx: Context, given: Any) -> Any:
    found = await ctx.tools.execute(id="f", tool="c_email", input=given)
    return [found.value(), await ctx.step("twice", lambda: int(given["n"]) * 2)]


@play("program")
async def program(ctx: Context, given: Any) -> Any:
    rows = ctx.map("rows", ROWS)
    for name in given["parts"]:
        rows = rows.step(name, PARTS[name])
    table = await rows.run()
    return [await ctx.step("count", lambda: len(ROWS)), await table.count()]


def new_world(paid: Counter[tuple[str, str]]) -> World:
    """Give a world; ``paid`` counts by tool and input the calls that it answers for good."""

    def counting(name: str) -> Callable[[Any], MemberOutcome]:
        def answered(given: Any) -> MemberOutcome:
            outcome = answer(given)
            paid[name, given["n"]] += outcome["kind"] != "failed"
            return outcome

        return answered

    tools = {
        tool(f"{name}_email", provider=name, size=size): counting(name) for name, size in SIZES
    }
    return World(tools, plays={"scoring": {"play": scoring}})


SIZES = (("a", 4), ("b", 0), ("c", 3))


def told(here: World) -> Any:
    cells = [
        {name: (str(cell["status"]), row.values.get(name)) for name, cell in row.cells.items()}
        for row in here.rows()
    ]
    return cells, here.row_statuses()


def kill_at(here: World, call: int, kill: Callable[[], object]) -> None:
    """Have the engine killed when it makes so many calls of its ports, before or after they are done."""
    counted = Counter[str]()

    def watched(function: Any) -> Any:
        async def asked(*args: Any) -> Any:
            counted["calls"] += 1
            if counted["calls"] == call:
                kill()
                if call % 2:
                    await asyncio.sleep(0)  # it is dead before the call is made
            return await function(*args)

        return asked

    for port in PORTS:
        held = getattr(here.ports, port)
        for name in [name for name in dir(held) if not name.startswith("_")]:
            if asyncio.iscoroutinefunction(function := getattr(held, name)):
                setattr(held, name, watched(function))


async def killed(here: World, parts: list[str], call: int) -> None:
    engine = asyncio.ensure_future(here.finish(program, {"parts": parts}))
    kill_at(here, call, engine.cancel)
    await asyncio.wait({engine})
    here.ports = here.ports.next()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(PARTS)), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 60), min_size=1, max_size=3),
)
async def test_a_run_that_is_killed_at_any_call_ends_as_one_that_was_not(
    parts: list[str], kills: list[int]
) -> None:
    calm = new_world(Counter())
    expected = await calm.finish(program, {"parts": parts})
    paid: Counter[tuple[str, str]] = Counter()
    here = new_world(paid)
    for call in kills:
        await killed(here, parts, call)
    outcome = await here.finish(program, {"parts": parts})
    assert (outcome.status, outcome.result) == (expected.status, expected.result)
    assert told(here) == told(calm)
    assert here.ports.gateway.ledger == calm.ports.gateway.ledger
    assert all(times <= 1 for times in paid.values())
