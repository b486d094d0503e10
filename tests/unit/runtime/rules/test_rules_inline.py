"""Inline waterfalls: steps in turn, columns of their own, values that are enough, reasons that are kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import code_step, steps, tool_step, waterfall
from runtime.context import Context
from runtime.engine import RunOutcome
from runtime.events import RunStatus
from runtime.memory import failed, hit, miss
from runtime.ports import MemberOutcome
from runtime.program import Play, Waterfall
from runtime.tools import ToolSpec
from tests.unit.runtime.conftest import tool
from tests.unit.runtime.programs import mapped, top

ROW = [{"name": "Ada"}]


def found(given: Any) -> MemberOutcome:
    return hit({"email": f"{given['name']}@a.example"})


def nothing(given: Any) -> MemberOutcome:
    return miss()


def down(given: Any) -> MemberOutcome:
    return failed("it is down", category="upstream")


def tools(size: int = 0, **answers: Any) -> dict[ToolSpec, Any]:
    return {tool(name, size=size): answer for name, answer in answers.items()}


def emails(*of: Any, min_results: int = 1) -> Waterfall:
    return waterfall(id="w", output="email", steps=list(of), min_results=min_results)


def in_row(spec: Waterfall) -> Play:
    return mapped(("email", lambda row, ctx: ctx.waterfall(spec, dict(row))))


def at_top(spec: Waterfall) -> Play:
    return top(lambda ctx: ctx.waterfall(spec, {"name": "Ada"}))


def column(here: Any, step: str, row: int = 0) -> tuple[str, Any]:
    """The state and the value of one step's column."""
    stored = here.rows()[row]
    return str(stored.cells[f"w.{step}"]["status"]), stored.values.get(f"w.{step}")


async def test_steps_are_asked_in_order_each_in_a_column_of_its_own(world: Any) -> None:
    # rule 9.1, 9.10
    asked: list[str] = []

    def asks(name: str, answer: Any) -> Any:
        return lambda given, *_: asked.append(name) or answer

    spec = emails(
        tool_step("One", "a"), code_step("two", asks("two", " ")), tool_step("three", "b")
    )
    here = world(tools(a=asks("a", miss()), b=asks("b", hit({"email": "x"}))), rows=ROW)
    await here.run(in_row(spec))
    assert asked == ["a", "two", "b"]
    assert [column(here, step)[0] for step in ("one", "two", "three")] == [
        "missed",
        "missed",
        "completed",
    ]
    assert here.frames[0].form["fields"][0]["parts"] == ["w.one", "w.two", "w.three"]


async def test_the_steps_after_the_one_that_was_enough_are_told_as_skipped_once(
    world: Any,
) -> None:
    # rule 9.2
    spec = emails(tool_step("one", "a"), tool_step("two", "b"), tool_step("three", "b"))
    here = world(tools(a=found, b=found), rows=ROW)
    told: list[str] = []
    commit = here.ports.records.commit

    async def noting(group: Any) -> int:
        for change in group["rows"]:
            told.extend(
                name for name, cell in change["cells"].items() if cell["status"] == "skipped"
            )
        return int(await commit(group))  # fmt: skip

    here.ports.records.commit = noting
    await here.run(in_row(spec))
    assert sorted(told) == ["w.three", "w.two"]
    assert here.rows()[0].cells["w.two"]["reason"] == "one was enough"


async def test_each_tool_that_a_waterfall_asks_is_told_as_one_waterfall_step(world: Any) -> None:
    # rule 9.3
    spec = emails(tool_step("one", "a"), code_step("two", lambda given, ctx: None))

    async def both(row: Any, ctx: Context) -> Any:
        await ctx.waterfall("email", {"name": "x"}, providers=["a"])
        await ctx.tools.execute(id="plain", tool="b", input={"name": "y"})
        return await ctx.waterfall(spec, {"name": "z"})

    here = world({**tools(a=nothing, b=nothing), tool("a_email", provider="a"): nothing}, rows=ROW)
    await here.run(mapped(("email", both)))
    counted = {
        sent.tool: [member["waterfall"] for member in sent.members]
        for sent in here.ports.gateway.requests
    }
    assert counted == {"a_email": [True], "b": [False], "a": [True]}


async def test_a_code_step_that_was_run_is_not_run_again_with_another_call_between(
    world: Any,
) -> None:
    # rule 9.4
    calls: list[Any] = []

    def code(given: Any, ctx: Context) -> Any:
        calls.append(given["name"])
        return {"email": None, "ctx": type(ctx).__name__}

    spec = emails(code_step("code", code), tool_step("a", "a"))

    async def work(row: Any, ctx: Context) -> Any:
        if len(calls) < 2:
            await ctx.waterfall(spec, {"name": "other"})
        return await ctx.waterfall(spec, {"name": "Ada"})

    pending: MemberOutcome = {"kind": "pending", "retry_after": 50.0}
    here = world(tools(a=lambda g: found(g) if g["name"] == "other" else pending), rows=ROW)
    running = asyncio.ensure_future(here.run(mapped(("email", work))))
    await here.ports.clock.advance(10)
    running.cancel()
    await asyncio.wait({running})
    here.ports = here.ports.next()
    here.ports.gateway.tools = {"a": found}
    await here.run(mapped(("email", work)))
    assert calls == ["other", "Ada"]
    assert here.values("email") == ["Ada@a.example"]


async def test_a_tool_steps_input_is_made_by_map_input(world: Any) -> None:
    # rule 9.5
    spec_of_tool = ToolSpec("a", "a", "person", getters={"email": ["data.mail"]})
    asked: list[Any] = []

    def answer(given: Any) -> MemberOutcome:
        asked.append(given)
        return hit({"data": {"mail": "m@a.example"}})

    steps_of = emails(
        tool_step("none", "b"), tool_step("a", "a", lambda given: {"q": given["name"]})
    )
    for program in (in_row(steps_of), at_top(steps_of)):
        here = world({spec_of_tool: answer, tool("b"): nothing}, rows=ROW)
        outcome = await here.run(program)
        value = outcome.result.get("value") or here.values("email")[0]
        assert value == "m@a.example"
        assert here.ports.gateway.requests[0].members[0]["input"] == {"name": "Ada"}
    assert asked == [{"q": "Ada"}] * 2


async def test_a_list_is_as_many_values_as_it_has(world: Any) -> None:
    # rule 9.6
    spec = emails(tool_step("one", "a"), tool_step("two", "b"), min_results=3)
    here = world(
        tools(a=lambda _: hit({"email": ["x", "y"]}), b=lambda _: hit({"email": "z"})), rows=ROW
    )
    await here.run(in_row(spec))
    assert here.values("email") == [["x", "y", "z"]]
    assert here.statuses("email") == ["completed"]


@pytest.mark.parametrize("blank", [None, "", " \n", [], {}, [None, " "]])
async def test_a_blank_value_is_a_miss_from_a_tool_and_from_code_alike(
    world: Any, blank: Any
) -> None:
    # case E11
    # rule 9.7
    spec = emails(
        tool_step("tool", "a"), code_step("code", lambda given, ctx: blank), tool_step("last", "b")
    )
    here = world(tools(a=lambda _: hit({"email": blank}), b=found), rows=ROW)
    await here.run(in_row(spec))
    assert [column(here, step)[0] for step in ("tool", "code", "last")] == [
        "missed",
        "missed",
        "completed",
    ]
    assert here.values("email") == ["Ada@a.example"]


@pytest.mark.parametrize("value", [0, False])
async def test_zero_and_false_are_enough_from_a_tool_and_from_code(world: Any, value: Any) -> None:
    # rule 9.7
    for first in (code_step("one", lambda given, ctx: value), tool_step("one", "a")):
        here = world(tools(a=lambda _: hit({"email": value}), b=found), rows=ROW)
        await here.run(in_row(emails(first, tool_step("two", "b"))))
        assert here.values("email") == [value]


@pytest.mark.parametrize(
    ("wanted", "result"), [(1, "x"), (2, ["x", "y", "z"]), (3, ["x", "y", "z"])]
)
async def test_one_value_is_the_result_and_more_are_a_list_of_all(
    world: Any, wanted: int, result: Any
) -> None:
    # rule 9.8
    spec = emails(tool_step("one", "a"), tool_step("two", "b"), min_results=wanted)
    answers = tools(a=lambda _: hit({"email": ["x", "y", "z"]}), b=found)
    here = world(answers, rows=ROW)
    await here.run(in_row(spec))
    assert here.values("email") == [result]
    assert (await world(answers).run(at_top(spec))).result == {"value": result}


async def test_a_steps_column_shows_what_it_found_and_whose_value_was_enough(world: Any) -> None:
    # rule 9.9, 9.10
    steps_of = [tool_step("one", "a"), tool_step("two", "b"), tool_step("three", "c")]
    here = world(tools(a=found, b=found, c=found), rows=ROW)
    await here.run(in_row(emails(*steps_of, min_results=2)))
    assert column(here, "one") == ("completed", "Ada@a.example")
    assert column(here, "two") == ("completed", "Ada@a.example")
    assert column(here, "three") == ("skipped", None)
    assert here.rows()[0].cells["w.three"]["reason"] == "two was enough"


async def test_too_few_values_are_kept_at_the_top_and_beside_a_failure(world: Any) -> None:
    # rule 9.13
    steps_of = [tool_step("one", "a"), tool_step("two", "b"), tool_step("three", "c")]
    spec = emails(*steps_of, min_results=2)
    answers = tools(a=found, b=nothing, c=down)
    assert (await world(answers).run(at_top(spec))).result == {"value": ["Ada@a.example"]}
    here = world(answers, rows=ROW)
    await here.run(in_row(spec))
    cell = here.rows()[0].cells["email"]
    assert (here.values("email"), str(cell["status"])) == ([["Ada@a.example"]], "missed")
    assert cell["partial"] is True
    assert column(here, "three") == ("failed", None)


async def test_two_rows_may_run_two_different_waterfalls_of_one_id(world: Any) -> None:
    # rule 9.15
    specs = {
        "Ada": emails(tool_step("one", "a"), min_results=1),
        "Bob": emails(tool_step("other", "b"), tool_step("third", "c"), min_results=2),
    }
    here = world(tools(size=10, a=found, b=found, c=found), rows=[*ROW, {"name": "Bob"}])
    await here.run(mapped(("email", lambda row, ctx: ctx.waterfall(specs[row["name"]], dict(row)))))
    assert here.values("email") == ["Ada@a.example", ["Bob@a.example", "Bob@a.example"]]
    assert "w.other" not in here.rows()[0].cells
    assert column(here, "other", row=1)[0] == "completed"


def raises(given: Any, *_: Any) -> Any:
    raise ValueError("no such thing")


FAILING = [
    tool_step("bad", "down"),
    code_step("bad", raises),
    tool_step("bad", "a", raises),
    tool_step("bad", "a", lambda given: {1, 2}),
]


@pytest.mark.parametrize("bad", FAILING, ids=["tool", "code", "map_input", "input"])
async def test_a_failing_step_goes_on_to_the_next_at_the_top_and_in_a_row(
    world: Any, bad: Any
) -> None:
    # rule 9.16
    spec = emails(bad, tool_step("good", "a"))
    answers = tools(a=found, down=down)
    assert (await world(answers).run(at_top(spec))).result == {"value": "Ada@a.example"}
    here = world(answers, rows=ROW)
    await here.run(in_row(spec))
    assert here.values("email") == ["Ada@a.example"]
    assert column(here, "bad")[0] == "failed"


@pytest.mark.parametrize("bad", FAILING, ids=["tool", "code", "map_input", "input"])
async def test_a_failing_steps_reason_is_told_where_nobody_has_a_value(
    world: Any, bad: Any
) -> None:
    # rule 9.17
    spec = emails(bad, tool_step("none", "nothing"))
    answers = tools(a=found, down=down, nothing=nothing)
    here = world(answers, rows=ROW)
    await here.run(in_row(spec))
    in_cell = here.rows()[0].cells["email"]["error"]["message"]
    at_the_top: RunOutcome = await world(answers).run(at_top(spec))
    assert at_the_top.error["message"] == in_cell
    reason = here.rows()[0].cells["w.bad"]["error"]["message"]
    assert f"could not ask everybody: bad: {reason}" in in_cell


async def test_a_code_step_runs_in_its_row(world: Any) -> None:
    # rule 9.18
    async def code(given: Any, ctx: Context) -> Any:
        await ctx.step("once", lambda: 1)
        answer = await ctx.tools.execute(id="inner", tool="a", input=given)
        return answer.value()

    spec = emails(code_step("code", code))
    here = world(tools(size=5, a=found), rows=[{"name": f"n{number}"} for number in range(10)])
    committed: list[str] = []
    commit = here.ports.records.commit

    async def noting(group: Any) -> int:
        committed.extend(entry["name"] for entry in group["entries"])
        return int(await commit(group))

    here.ports.records.commit = noting
    await here.run(
        mapped(("email", steps().step("in", lambda row, ctx: ctx.waterfall(spec, dict(row)))))
    )
    assert here.sent("a") == [5, 5]
    assert here.ports.run.receipts == {}
    for row in here.rows():
        place = f"mapped/map/mapped_rows/{row.key}/email.in"
        assert f"{place}/step/once" in committed
        names = [m["name"] for sent in here.ports.gateway.requests for m in sent.members]
        assert len([name for name in names if name.startswith(f"{place}/inner/")]) == 1


async def test_a_provider_that_a_person_left_out_is_not_asked_by_any_waterfall(world: Any) -> None:
    spec = emails(tool_step("one", "a"), tool_step("two", "b"))
    here = world({tool("a", unusable="switched off"): found, tool("b"): found}, rows=ROW)
    await here.run(in_row(spec))
    assert here.sent("a") == []
    assert here.rows()[0].cells["w.one"]["reason"] == "switched off"
    nobody = world({tool("a", unusable="switched off"): found}, rows=ROW)
    await nobody.run(in_row(emails(tool_step("one", "a"))))
    assert "has nobody to ask" in nobody.rows()[0].cells["email"]["error"]["message"]


@pytest.mark.parametrize(("request_", "state"), [("pause", "queued"), ("cancel", "cancelled")])
async def test_a_stop_leaves_no_steps_column_behind_as_running(
    world: Any, request_: str, state: str
) -> None:
    here = world(tools(a=found, b=found), rows=ROW)
    here.ports.gateway.latency = 1e9
    running = asyncio.ensure_future(
        here.run(in_row(emails(tool_step("one", "a"), tool_step("two", "b"))))
    )
    await here.ports.clock.advance(10)
    assert column(here, "one")[0] == "running"
    here.ports.signals.request(request_)
    outcome = await running
    assert outcome.status in (RunStatus.PAUSED, RunStatus.CANCELLED)
    assert [column(here, step)[0] for step in ("one", "two")] == [state, state]
