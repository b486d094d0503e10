"""Waterfalls: who is asked, in which order, and what comes of hits, misses and failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import code_step, play, tool_step, waterfall
from runtime.context import Context
from runtime.errors import HostFailed, PlayError
from runtime.events import RunStatus
from runtime.memory import failed, hit, miss
from runtime.ports import MemberOutcome
from runtime.program import Play, Waterfall
from runtime.tools import ToolSpec
from tests.unit.runtime.conftest import World, tool

Make = Callable[..., ToolSpec]
ROW = [{"name": "Ada"}]


def found(given: Any) -> MemberOutcome:
    return hit({"email": f"{given['name']}@a.example"})


def nothing(given: Any) -> MemberOutcome:
    return miss()


def broken(given: Any) -> MemberOutcome:
    return failed("it is down", category="upstream", retryable=False)


def named(*providers: str) -> Play:
    @play("named")
    async def named_play(ctx: Context, given: Any) -> Any:
        return await (
            ctx.map("rows", await ctx.csv(given["rows"]))
            .step(
                "email",
                lambda row, ctx: ctx.waterfall("email", dict(row), providers=list(providers)),
            )
            .run()
        )

    return named_play


def inline(spec: Waterfall) -> Play:
    @play("inline")
    async def inline_play(ctx: Context, given: Any) -> Any:
        return await (
            ctx.map("rows", await ctx.csv(given["rows"]))
            .step("email", lambda row, ctx: ctx.waterfall(spec, dict(row)))
            .run()
        )

    return inline_play


def provider_tools(**answers: Callable[[Any], MemberOutcome]) -> dict[ToolSpec, Any]:
    return {tool(f"{name}_email", provider=name): answer for name, answer in answers.items()}


async def test_the_first_value_wins_and_nobody_else_is_asked(world: Any) -> None:
    # rule 8.11
    here = world(provider_tools(a=nothing, b=found, c=found), rows=ROW)
    await here.run(named("a", "b", "c"))
    assert here.values("email") == ["Ada@a.example"]
    assert here.sent("c_email") == []
    attempts = here.rows()[0].cells["email"]["attempts"]
    assert [(each["provider"], each["status"]) for each in attempts] == [
        ("a", "no_result"),
        ("b", "completed"),
    ]


async def test_definite_misses_of_all_are_a_missed_cell(world: Any) -> None:  # rule 8.12
    here = world(provider_tools(a=nothing, b=nothing), rows=ROW)
    outcome = await here.run(named("a", "b"))
    assert here.values("email") == [None]
    assert here.statuses("email") == ["missed"]
    assert here.row_statuses() == ["completed"]
    assert outcome.status is RunStatus.COMPLETED


async def test_a_failure_is_never_told_as_a_miss(world: Any) -> None:  # rule 8.14, case R11, E4
    here = world(provider_tools(a=broken, b=nothing), rows=ROW)
    await here.run(named("a", "b"))
    assert here.statuses("email") == ["failed"]
    error = here.rows()[0].cells["email"]["error"]
    assert error["type"] == "WaterfallIncomplete"
    assert "a: it is down" in error["message"]


async def test_a_failing_provider_does_not_stop_the_next_from_being_asked(world: Any) -> None:
    here = world(provider_tools(a=broken, b=found), rows=ROW)
    await here.run(named("a", "b"))
    assert here.statuses("email") == ["completed"]


async def test_a_whole_object_is_no_hit_of_a_scalar_output(world: Any) -> None:  # rule 2.17
    here = world(provider_tools(a=lambda _: hit({"person": {"id": 7}}), b=found), rows=ROW)
    await here.run(named("a", "b"))
    assert here.values("email") == ["Ada@a.example"]


async def test_providers_that_cannot_be_used_are_left_out(world: Any) -> None:
    tools = {
        tool("a_email", provider="a", unusable="no credentials"): found,
        tool("b_email", provider="b"): found,
    }
    here = world(tools, rows=ROW)
    await here.run(named("a", "b"))
    assert here.sent("a_email") == []
    assert here.values("email") == ["Ada@a.example"]


async def test_a_waterfall_with_nobody_to_ask_says_so(world: Any) -> None:
    here = world({tool("a_email", provider="a", unusable="off"): found}, rows=ROW)
    await here.run(named("a"))
    assert "has nobody to ask" in here.rows()[0].cells["email"]["error"]["message"]


async def test_of_the_usual_providers_those_without_the_tool_are_left_out(world: Any) -> None:
    # rule 1.15
    @play("usual")
    async def usual(ctx: Context, given: Any) -> Any:
        table = ctx.map("rows", await ctx.csv(given["rows"]))
        return await table.step("email", lambda row, ctx: ctx.waterfall("email", dict(row))).run()

    tools = {tool("hunter_email", provider="hunter"): nothing}
    tools[tool("peopledatalabs_email", provider="peopledatalabs")] = found
    here = world(tools, rows=ROW)
    await here.run(usual)
    assert here.values("email") == ["Ada@a.example"]
    assert here.sent("hunter_email") == [1]


async def test_a_provider_that_an_author_names_must_have_the_tool(world: Any) -> None:
    here = world(provider_tools(a=found), rows=ROW)
    await here.run(named("a", "nobody"))
    assert here.rows()[0].cells["email"]["error"]["type"] == "UnknownTool"


async def test_every_row_carries_its_own_providers(world: Any) -> None:  # rule 8.7
    here = world(provider_tools(a=found, b=found), rows=[{"name": "Ada"}, {"name": "Bob"}])

    @play("own")
    async def own(ctx: Context, given: Any) -> Any:
        return await (
            ctx.map("rows", await ctx.csv(given["rows"]))
            .step(
                "email",
                lambda row, ctx: ctx.waterfall(
                    "email", dict(row), providers=["a" if row["name"] == "Ada" else "b"]
                ),
            )
            .run()
        )

    await here.run(own)
    assert (here.sent("a_email"), here.sent("b_email")) == ([1], [1])


async def test_a_second_call_with_another_input_is_another_call(world: Any) -> None:  # rule 8.3
    here = world(provider_tools(a=found), rows=ROW)

    @play("again")
    async def again(ctx: Context, given: Any) -> Any:
        async def both(row: Any, ctx: Context) -> Any:
            one = await ctx.waterfall("email", {"name": "One"}, providers=["a"])
            return [one, await ctx.waterfall("email", {"name": "Two"}, providers=["a"])]

        return await ctx.map("rows", await ctx.csv(given["rows"])).step("email", both).run()

    await here.run(again)
    assert here.values("email") == [["One@a.example", "Two@a.example"]]


async def test_an_inline_waterfall_shows_each_step_in_a_column(world: Any) -> None:
    # rule 9.1, 9.2
    spec = waterfall(
        id="work", output="email", steps=[tool_step("a", "a_email"), code_step("guess", guess),
                                          tool_step("b", "b_email")],
    )  # fmt: skip
    here = world(provider_tools(a=nothing, b=found), rows=ROW)
    await here.run(inline(spec))
    cells = here.rows()[0].cells
    assert [str(cells[f"work.{step}"]["status"]) for step in ("a", "guess", "b")] == [
        "missed",
        "completed",
        "skipped",
    ]
    assert here.values("email") == ["guess@a.example"]
    assert cells["work.a"]["part_of"] == "email"


def guess(given: Any, ctx: Any) -> Any:
    return {"email": "guess@a.example"}


async def test_a_code_step_runs_once_across_a_takeover(world: Any) -> None:  # rule 9.4
    calls: list[str] = []

    def once(given: Any, ctx: Any) -> Any:
        calls.append(given["name"])

    spec = waterfall(
        id="w", output="email", steps=[code_step("once", once), tool_step("a", "a_email")]
    )
    here = world(provider_tools(a=lambda _: {"kind": "pending", "retry_after": 30.0}), rows=ROW)
    import asyncio

    running = asyncio.ensure_future(here.run(inline(spec)))
    await here.ports.clock.advance(10)
    running.cancel()
    await asyncio.wait({running})
    here.ports = here.ports.next()
    here.ports.gateway.tools = {"a_email": found}
    await here.run(inline(spec))
    assert calls == ["Ada"]
    assert here.values("email") == ["Ada@a.example"]


async def test_too_few_values_are_kept_and_marked_partial(world: Any) -> None:  # rule 9.13
    spec = waterfall(
        id="w",
        output="email",
        min_results=3,
        steps=[tool_step("a", "a_email"), tool_step("b", "b_email")],
    )
    here = world(provider_tools(a=found, b=nothing), rows=ROW)
    await here.run(inline(spec))
    assert here.values("email") == [["Ada@a.example"]]
    cell = here.rows()[0].cells["email"]
    assert str(cell["status"]) == "missed"
    assert cell["partial"] is True


async def test_enough_values_are_a_list_and_lists_are_spread(world: Any) -> None:  # rule 9.6, 9.8
    spec = waterfall(
        id="w",
        output="email",
        min_results=2,
        steps=[tool_step("a", "a_email"), tool_step("b", "b_email")],
    )
    here = world(provider_tools(a=lambda _: hit({"email": ["x", "", "y", "z"]}), b=found), rows=ROW)
    await here.run(inline(spec))
    assert here.values("email") == [["x", "y", "z"]]
    assert here.sent("b_email") == []


async def test_an_error_of_a_code_step_goes_on_to_the_next_and_keeps_its_reason(world: Any) -> None:
    # rule 9.17
    def bad(given: Any, ctx: Any) -> Any:
        raise ValueError("no such thing")

    spec = waterfall(
        id="w", output="email", steps=[code_step("bad", bad), tool_step("a", "a_email")]
    )
    here = world(provider_tools(a=nothing), rows=ROW)
    await here.run(inline(spec))
    assert "bad: ValueError: no such thing" in here.rows()[0].cells["email"]["error"]["message"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": " ", "output": "x", "steps": [tool_step("a", "t")]},
        {"id": "w", "output": "", "steps": [tool_step("a", "t")]},
        {"id": "w", "output": "x", "steps": []},
        {"id": "w", "output": "x", "steps": ["a"]},
        {"id": "w", "output": "x", "steps": [tool_step("a", "t")], "min_results": 0},
        {"id": "w", "output": "x", "steps": [tool_step("a", "t"), tool_step("a", "u")]},
    ],
)
def test_a_waterfall_that_could_not_run_is_refused(wrong: dict[str, Any]) -> None:  # rule 2.12
    with pytest.raises(PlayError):
        waterfall(**wrong)


@given(
    st.lists(st.sampled_from(["hit", "miss", "fail"]), min_size=1, max_size=5), st.integers(1, 3)
)
async def test_waterfalls_agree_with_a_naive_model(script: list[str], wanted: int) -> None:
    answers = {"hit": found, "miss": nothing, "fail": broken}
    tools = {tool(f"t{index}"): answers[kind] for index, kind in enumerate(script)}
    here = World(tools, rows=ROW)
    steps = [tool_step(f"s{index}", f"t{index}") for index in range(len(script))]
    await here.run(inline(waterfall(id="w", output="email", min_results=wanted, steps=steps)))
    status, value = naive(script, wanted)
    assert here.statuses("email") == [status]
    assert here.values("email") == [value]


def naive(script: list[str], wanted: int) -> tuple[str, Any]:
    values: list[str] = []
    for kind in script:
        if kind == "hit":
            values.append("Ada@a.example")
        if len(values) == wanted:
            return "completed", values[0] if wanted == 1 else values
    if values:
        return "missed", values
    return ("failed", None) if "fail" in script else ("missed", None)


async def test_a_failure_of_this_side_does_not_buy_elsewhere(world: Any) -> None:
    # case E9
    def lost(given: Any) -> MemberOutcome:
        return failed("the gateway failed", category="internal")

    here = world(provider_tools(a=lost, b=found), rows=ROW)
    await here.run(named("a", "b"))
    assert here.statuses("email") == ["failed"]
    assert "a: the gateway failed" in here.rows()[0].cells["email"]["error"]["message"]
    assert here.sent("b_email") == []


async def test_a_world_that_fails_does_not_buy_elsewhere(world: Any) -> None:
    # case E9
    async def gone(tool: str, members: list[Any]) -> list[MemberOutcome]:
        asked.append(tool)
        raise HostFailed("the answer cannot be stored")

    asked: list[str] = []
    here = world(provider_tools(a=found, b=found), rows=ROW)
    here.ports.gateway.execute = gone
    with pytest.raises(HostFailed):
        await here.run(named("a", "b"))
    assert asked == ["a_email"]
