"""Failures that others had with engines of this kind, as tests of this one."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.context import Context
from runtime.memory import failed, hit, miss
from runtime.ports import MemberOutcome
from tests.unit.runtime.conftest import World, tool
from tests.unit.runtime.programs import mapped

ROWS = [{"n": str(number)} for number in range(12)]


def answer(told: Any) -> MemberOutcome:
    number = int(told["n"])
    if number % 5 == 4:
        return failed("no", category="validation")
    return miss() if number % 3 == 2 else hit({"email": told["n"]})


async def work(row: Any, ctx: Context) -> Any:
    drawn = await ctx.step("draw", lambda: int(row["n"]))
    both = await asyncio.gather(
        ctx.waterfall("email", {"n": row["n"]}, providers=["a", "b"]),
        ctx.waterfall("email", {"n": str(drawn + 100)}, providers=["b", "a"]),
        return_exceptions=True,
    )
    return [found if isinstance(found, str | None) else type(found).__name__ for found in both]


async def ran(seed: int, *, kills: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Run with latencies of this seed and kills after so many seconds; give the cells and the ledger."""
    chance = random.Random(seed)
    tools = {tool(f"{name}_email", provider=name, size=size): answer for name, size in SIZES}
    here = World(tools, rows=ROWS)
    whole = here.ports.gateway.execute

    async def late(name: str, members: list[Any]) -> list[MemberOutcome]:
        await here.ports.clock.sleep(chance.random() * 3)
        return await whole(name, members)

    here.ports.gateway.execute = late  # type: ignore[method-assign]
    for seconds in kills:
        engine = asyncio.ensure_future(here.run(mapped(("email", work))))
        await here.ports.clock.advance(seconds)  # type: ignore[attr-defined]
        engine.cancel()
        await asyncio.wait({engine})
        here.ports = here.ports.next()
    await here.run(mapped(("email", work)))
    names = {member["name"] for sent in here.ports.gateway.requests for member in sent.members}
    paid = {key: told["kind"] for key, told in here.ports.gateway.ledger.items()}
    return (here.values("email"), here.statuses("email")), (names, paid)


SIZES = (("a", 4), ("b", 0))


async def test_the_order_in_which_calls_finish_changes_neither_cells_nor_ledger() -> None:
    # case P1, P4
    first = await ran(0)
    for seed in range(1, 20):
        assert await ran(seed) == first


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 1_000), st.lists(st.integers(0, 6), max_size=3))
async def test_a_run_that_is_killed_ends_as_one_that_was_not(seed: int, kills: list[int]) -> None:
    # case C1, C10, P4
    assert (await ran(seed, kills=tuple(kills)))[0] == (await ran(0))[0]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.integers(0, 6), st.randoms())
async def test_every_call_gets_its_own_outcome_from_shuffled_and_short_replies(
    numbers: list[int], size: int, chance: random.Random
) -> None:
    # case B1, D7
    left: dict[str, int] = {}

    def sometimes(told: Any) -> MemberOutcome:
        left[told["n"]] = left.get(told["n"], -1) + 1
        if left[told["n"]] < 2 and chance.random() < 0.3:
            return {"kind": "unattempted"}
        return hit({"email": f"of {told['n']}"})

    rows = [{"n": str(number)} for number in numbers]
    here = World({tool("a_email", provider="a", size=size): sometimes}, rows=rows)
    await here.run(
        mapped(("email", lambda row, ctx: ctx.waterfall("email", dict(row), providers=["a"])))
    )
    assert here.values("email") == [f"of {number}" for number in numbers]
    assert set(here.row_statuses()) == {"completed"}
