"""Values: digests, what a step may give, where a tool's value is found."""

from __future__ import annotations

import datetime
import hashlib
import math
from typing import Any

import pytest

from runtime import code_step, steps, tool_step, waterfall, when
from runtime.context import Context
from runtime.errors import PlayError
from runtime.events import RunStatus
from runtime.identity import call_name, row_key
from runtime.memory import hit
from runtime.tools import ToolSpec, output_value
from runtime.values import digest
from tests.unit.runtime.programs import mapped, top

LOOP: list[Any] = []
LOOP.append(LOOP)


def test_a_digest_is_the_sha256_of_the_canonical_text() -> None:
    # rule 2.1
    text = '{"a":"é","b":[1,null]}'
    assert digest({"b": [1, None], "a": "é"}) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("one", "other"), [("Aa", "BB"), ("AaAa", "BBBB"), ("AaBB", "BBAa")])
def test_texts_that_collide_in_a_weak_hash_are_told_apart(one: str, other: str) -> None:
    # rule 2.1
    assert digest(one) != digest(other)
    assert row_key("t", [one]) != row_key("t", [other])
    assert call_name("p", "k", {"q": one}) != call_name("p", "k", {"q": other})


async def test_only_what_steps_made_is_a_nested_program(world: Any) -> None:
    # rule 2.3
    like = {"kind": "steps", "steps": [{"name": "a", "resolver": 1}]}
    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("like", like), ("nested", steps().step("a", 1))))
    assert here.values("like") == [like]
    assert here.values("nested") == [{"a": 1}]


async def test_only_what_when_made_is_a_condition(world: Any) -> None:
    # rule 2.4
    like = {"kind": "conditional", "when": True, "run": 7}
    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("like", like), ("held", when(lambda row: True, run=7))))
    assert here.values("like") == [like]
    assert here.values("held") == [7]


def test_a_conditions_predicate_must_be_a_function() -> None:
    # rule 2.4
    with pytest.raises(PlayError, match="needs a function of the row"):
        when(True, run=1)  # type: ignore[arg-type]


async def test_a_map_takes_key_and_stale_after_seconds_and_no_other_option(world: Any) -> None:
    # rule 2.5
    @top
    async def right(ctx: Context) -> Any:
        table = ctx.map("t", [{"n": 1}], key="n", stale_after_seconds=60)
        return await (await table.step("a", 1).run()).count()

    @top
    async def wrong(ctx: Context) -> Any:
        return ctx.map("t", [], description="none")  # type: ignore[call-arg]

    assert (await world().run(right)).result == {"value": 1}
    outcome = await world().run(wrong)
    assert outcome.status is RunStatus.FAILED
    assert "unexpected keyword argument 'description'" in outcome.error["message"]


@pytest.mark.parametrize(
    "bad",
    [math.nan, {1}, b"x", datetime.date(2024, 1, 2), object(), LOOP, {"deep": [math.inf]}],
    ids=["nan", "set", "bytes", "date", "object", "cycle", "deep"],
)
async def test_a_value_that_json_cannot_hold_is_refused_with_the_steps_name(
    world: Any, bad: Any
) -> None:
    # rule 2.10
    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("plain", lambda row: bad)))
    assert "step 'plain'" in here.rows()[0].cells["plain"]["error"]["message"]
    there = world(rows=[{"n": "1"}])
    await there.run(mapped(("a", lambda row, ctx: ctx.step("named", lambda: bad))))
    assert "ctx.step('named')" in there.rows()[0].cells["a"]["error"]["message"]


@pytest.mark.parametrize("wanted", [0, -1, 1.5, "2", True, None])
def test_min_results_is_a_whole_number_of_at_least_one(wanted: Any) -> None:
    # rule 2.12
    with pytest.raises(PlayError, match="min_results of at least 1"):
        waterfall(id="w", output="x", steps=[tool_step("a", "t")], min_results=wanted)


async def test_what_waterfall_did_not_make_is_never_taken_for_a_name(world: Any) -> None:
    # rule 2.12
    @top
    async def wrong(ctx: Context) -> Any:
        spec: Any = {"id": "w", "output": "", "steps": []}
        return await ctx.waterfall(spec, {})

    assert "needs a waterfall's name, or what waterfall(...) gave" in (
        await world().run(wrong)
    ).error["message"]  # fmt: skip


@pytest.mark.parametrize(
    "wrong", ["hunter", {"kind": "code", "id": "a", "run": print}, ("a", "tool"), None]
)
def test_a_waterfalls_step_is_a_code_step_or_a_tool_step(wrong: Any) -> None:
    # rule 2.13
    with pytest.raises(PlayError, match="no tool_step or code_step"):
        waterfall(id="w", output="x", steps=[wrong])


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"email": "a@x.example", "score": 9}, "a@x.example"),
        ({"email": None, "score": 9}, None),
        ({"score": 9}, {"score": 9}),
        ("a@x.example", "a@x.example"),
        (0, 0),
    ],
)
async def test_a_code_step_gives_the_entry_of_the_outputs_name_or_all_of_it(
    world: Any, result: Any, value: Any
) -> None:
    # rule 2.14
    spec = waterfall(id="w", output="email", steps=[code_step("c", lambda given, ctx: result)])
    here = world(rows=[{"n": "1"}])
    await here.run(mapped(("email", lambda row, ctx: ctx.waterfall(spec, {}))))
    assert here.values("email") == [value]


FINDER = ToolSpec("t", "p", "email", getters={"email": ["data.work", "data.private"]})
COMPANY = ToolSpec("t", "p", "company", "object")
PEOPLE = ToolSpec("t", "p", "people", "list")


@pytest.mark.parametrize(
    ("spec", "result", "value"),
    [
        (FINDER, {"data": {"work": " ", "private": "p@x.example"}, "email": "e"}, "p@x.example"),
        (FINDER, {"data": {}, "email": "e@x.example"}, "e@x.example"),
        (FINDER, {"data": {}, "email": ""}, None),
        (FINDER, {"data": {"name": "Ada"}}, None),
        (FINDER, "e@x.example", None),
        (COMPANY, {"name": "Ada & Co"}, {"name": "Ada & Co"}),
        (COMPANY, {"company": {}, "name": "Ada & Co"}, None),
        (COMPANY, {}, None),
        (PEOPLE, [{"name": "Ada"}], [{"name": "Ada"}]),
        (PEOPLE, {"name": "Ada"}, None),
    ],
)
def test_a_tools_value_is_looked_for_in_one_order(spec: ToolSpec, result: Any, value: Any) -> None:
    # rule 2.17
    assert output_value(spec, result, spec.output) == value


async def test_a_whole_person_is_no_email(world: Any, make_tool: Any) -> None:
    # rule 2.17
    here = world({make_tool("a_email", provider="a"): lambda _: hit({"person": {"id": 7}})})
    program = mapped(
        ("email", lambda row, ctx: ctx.waterfall("email", {}, providers=["a"])), rows=[{}]
    )
    await here.run(program)
    assert (here.values("email"), here.statuses("email")) == ([None], ["missed"])
