"""Asking tools: what an author is given of an answer, and of a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtime import play
from runtime.context import Context
from runtime.errors import ToolFailed
from runtime.events import RunStatus
from runtime.memory import failed, hit, miss
from runtime.ports import MemberOutcome
from runtime.program import Play
from runtime.tools import Hit, Miss, ToolResult, ToolSpec, output_value, tool_result

Make = Callable[..., ToolSpec]
Ask = Callable[[Context], Any]


def told(result: ToolResult) -> dict[str, Any]:
    """Give what an author can see of a result."""
    return {
        "status": result.status,
        "result": result.result,
        "value": result.value(),
        "is_hit": bool(result),
        "source": result.execution.source,
    }


def asking(tool: str, given: Any) -> Ask:
    async def ask(ctx: Context) -> Any:
        return told(await ctx.tools.execute(id="ask", tool=tool, input=given))

    return ask


def at_top(ask: Ask) -> Play:
    @play("at_top")
    async def at_top_play(ctx: Context, given: Any) -> Any:
        return await ask(ctx)

    return at_top_play


def in_row(ask: Ask) -> Play:
    @play("in_row")
    async def in_row_play(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", [{"n": 1}]).step("told", lambda row, ctx: ask(ctx))
        return (await (await rows.run()).materialize())[0]["told"]

    return in_row_play


PLACES = pytest.mark.parametrize("place", [at_top, in_row])


@PLACES
@pytest.mark.parametrize("size", [0, 10])
async def test_a_result_is_completed_or_no_result_wherever_it_was_asked(
    world: Any, make_tool: Make, place: Callable[[Ask], Play], size: int
) -> None:
    # rule 10.3, 10.9
    async def value(answer: MemberOutcome) -> Any:
        here = world({make_tool("finder", size=size): lambda _: answer})
        return (await here.run(place(asking("finder", {})), {})).result["value"]

    assert await value(hit({"email": "a"})) == {
        "status": "completed",
        "result": {"email": "a"},
        "value": "a",
        "is_hit": True,
        "source": "live",
    }
    assert await value(miss()) == {
        "status": "no_result",
        "result": None,
        "value": None,
        "is_hit": False,
        "source": "live",
    }


@PLACES
@pytest.mark.parametrize("size", [0, 10])
async def test_the_catalogue_says_where_values_are_for_batches_and_single_calls_alike(
    world: Any, make_tool: Make, place: Callable[[Ask], Play], size: int
) -> None:
    # rule 10.8
    finder = make_tool("finder", size=size, getters={"email": ["missing", "contact.mail"]})
    here = world({finder: lambda _: hit({"contact": {"mail": "a"}, "email": "other"})})
    outcome = await here.run(place(asking("finder", {})), {})
    assert outcome.result["value"]["value"] == "a"


async def test_a_failure_is_asked_again_after_a_takeover_and_is_never_no_result(
    world: Any, make_tool: Make
) -> None:
    # rule 10.10
    answers = [failed("it is down"), hit({"email": "a"})]
    here = world({make_tool("finder"): lambda _: answers.pop(0)})
    ask = at_top(asking("finder", {}))
    assert (await here.run(ask, {})).status is RunStatus.FAILED
    here.ports = here.ports.next()
    assert (await here.run(ask, {})).result["value"]["value"] == "a"


async def test_a_recovered_result_differs_only_in_where_it_comes_from(
    world: Any, make_tool: Make
) -> None:
    # rule 10.7, 10.15
    stops = [True]

    async def twice(ctx: Context) -> Any:
        result = await asking("finder", {})(ctx)
        if stops:
            seen.append(result)
            stops.clear()
            raise ValueError("the first time")
        return result

    seen: list[Any] = []
    here = world({make_tool("finder"): lambda _: hit({"email": "a", "n": 2**70})})
    await here.run(at_top(twice), {})
    here.ports = here.ports.next()
    again = (await here.run(at_top(twice), {})).result["value"]
    assert seen[0]["source"] == "live"
    assert again == seen[0] | {"source": "cache"}
    assert here.ports.gateway.sent["finder"] == 1


@pytest.mark.parametrize("kind", [Hit, Miss])
def test_an_answer_that_was_paid_before_says_that_it_is_from_the_ledger(
    make_tool: Make, kind: type[Hit] | type[Miss]
) -> None:
    # rule 8.8
    finder = make_tool("finder")

    def result(source: str) -> ToolResult:
        known = {"result": {"email": "a"}} if kind is Hit else {}
        return tool_result(finder, kind(**known, source=source, call="k"))

    live, paid = result("live").execution, result("ledger").execution
    assert (live.source, live.cached) == ("live", False)
    assert (paid.source, paid.cached, paid.cache_key) == ("ledger", True, "k")


def test_paths_that_lead_nowhere_are_left_out_of_a_declaration(make_tool: Make) -> None:
    # rule 2.9
    form = make_tool("finder").to_json()
    form["getters"] = {"email": ["", " ", 7, None, "contact.mail"], "phone": ["", None]}
    form["lists"] = {"people": [" ", "found"], "others": [[]]}
    spec = ToolSpec.from_json(form)
    assert spec.getters == {"email": ["contact.mail"]}
    assert spec.lists == {"people": ["found"]}
    assert output_value(spec, {"phone": "", "contact": {"mail": "a"}}, "phone") is None
    assert output_value(spec, {"contact": {"mail": "a"}}, "email") == "a"


@PLACES
async def test_a_failure_tells_tool_message_code_and_request(
    world: Any, make_tool: Make, place: Callable[[Ask], Play]
) -> None:
    # rule 15.7
    def down(given: Any) -> MemberOutcome:
        return failed("it is down", code="provider_error") | {"request": "r-1", "provider": "acme"}

    async def ask(ctx: Context) -> Any:
        try:
            await ctx.tools.execute(id="ask", tool="finder", input={})
        except ToolFailed as error:
            return [str(error), error.tool, error.provider, error.code, error.request]

    here = world({make_tool("finder"): down})
    outcome = await here.run(place(ask), {})
    assert outcome.result["value"] == [
        "finder failed: it is down", "finder", "acme", "provider_error", "r-1",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["test_transient_500", "finder", "http_fetch"])
@pytest.mark.parametrize(("retryable", "asked"), [(True, 3), (False, 1)])
async def test_the_reply_says_whether_a_failure_may_pass_and_no_name_does(
    world: Any, make_tool: Make, name: str, retryable: bool, asked: int
) -> None:
    # rule 1.5, 1.6
    tool = make_tool(name)
    here = world({tool: lambda _: failed("no", category="upstream", retryable=retryable)})
    await here.run(at_top(asking(name, {})), {})
    assert here.sent(name) == [1] * asked


async def test_what_was_found_is_stored_while_a_call_waits_to_be_repeated(
    world: Any, make_tool: Make
) -> None:
    # rule 15.12
    stored: list[Any] = []

    def limited(given: Any) -> MemberOutcome:
        if not stored:
            stored.append(None)
            return failed("later", category="rate_limit", retryable=True, retry_after=30.0)
        stored.append(dict(here.rows()[0].values))
        return hit({"email": "b"})

    @play("two_fields")
    async def two_fields(ctx: Context, given: Any) -> Any:
        async def ask(tool: str, ctx: Context) -> Any:
            return (await ctx.tool(id="ask", tool=tool, input={})).value()

        return await (
            ctx.map("rows", [{"n": 1}])
            .step("first", lambda row, ctx: ask("finder", ctx))
            .step("second", lambda row, ctx: ask("limited", ctx))
            .run()
        )

    tools = {make_tool("finder"): lambda _: hit({"email": "a"}), make_tool("limited"): limited}
    here = world(tools)
    await here.run(two_fields, {})
    assert stored[1] == {"first": "a"}


async def test_a_permit_comes_back_however_its_request_ends(world: Any, make_tool: Make) -> None:
    # rule 4.8
    kinds = [
        failed("no"),
        failed("no", retryable=True),
        failed("later", category="rate_limit", retryable=True, retry_after=1.0),
        {"kind": "unattempted"},
        {"kind": "pending", "retry_after": 1.0},
        miss(),
    ]
    seen: set[int] = set()

    def once(given: Any) -> MemberOutcome:
        if given["n"] in seen:
            return hit({"email": "a"})
        seen.add(given["n"])
        return kinds[given["n"] % len(kinds)]  # type: ignore[return-value]

    @play("many")
    async def many(ctx: Context, given: Any) -> Any:
        async def step(row: Any, ctx: Context) -> Any:
            return (await ctx.tool(id="ask", tool="finder", input=dict(row))).value()

        return await ctx.map("rows", [{"n": n} for n in range(30)]).step("email", step).run()

    limits = {"max_concurrent_tool_calls": 2}
    here = world({make_tool("finder"): once}, limits=limits)
    await here.finish(many, {})
    assert here.ports.gateway.most_in_flight <= 2
    assert here.row_statuses().count("completed") == 25
    assert here.row_statuses().count("failed") == 5
