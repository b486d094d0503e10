"""``ctx.fetch``: one named request at the top level, through the gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plays.tools import catalogue
from runtime import play
from runtime.context import Context
from runtime.events import RunStatus
from runtime.memory import failed, hit
from runtime.ports import MemberOutcome
from runtime.program import Play

URL = "https://shop.example/orders?token=hush"
SPEC = catalogue().spec("http_fetch")
ANSWER = {
    "status": 404,
    "status_text": "Not Found",
    "url": URL,
    "headers": {"x-a": "1"},
    "body_text": '{"found": false}',
}


def answer(given: Any) -> MemberOutcome:
    return hit(ANSWER)


def fetching(*keys: str, **request: Any) -> Play:
    """A play that fetches the same under each of these names, and returns what was answered."""

    @play("fetches")
    async def fetches(ctx: Context, given: Any) -> Any:
        return [await ctx.fetch(key, URL, **request) for key in keys]

    return fetches


async def run(world: Any, what: Play, tool: Callable[[Any], MemberOutcome] = answer) -> Any:
    """Run a play; give its outcome, and the requests that were sent."""
    here = world({SPEC: tool})
    outcome = await here.run(what, {})
    return outcome, [sent.members[0]["input"] for sent in here.ports.gateway.requests]


async def test_an_answer_of_any_status_is_given_with_its_parts(world: Any) -> None:
    # rule 12.11
    outcome, _ = await run(world, fetching("orders"))
    assert outcome.result == {"value": [{**ANSWER, "ok": False}]}


@pytest.mark.parametrize(
    ("body", "parsed"), [('{"a": 1}', {"a": 1}), ("<html>", None), ("", None), ("  ", None)]
)
async def test_the_body_is_parsed_where_it_is_json(world: Any, body: str, parsed: Any) -> None:
    # rule 2.8, 12.11
    @play("parses")
    async def parses(ctx: Context, given: Any) -> Any:
        return (await ctx.fetch("a", URL)).json

    outcome, _ = await run(world, parses, lambda given: hit({**ANSWER, "body_text": body}))
    assert outcome.result == {"value": parsed}


@pytest.mark.parametrize(
    "headers",
    [
        {"X-First": 1, "ACCEPT": "a", "accept": "b"},
        [("X-First", 1), ("ACCEPT", "a"), ("accept", "b")],
    ],
)
async def test_headers_are_texts_by_lower_case_names_and_the_last_counts(
    world: Any, headers: Any
) -> None:
    # rule 2.6
    _, sent = await run(world, fetching("a", headers=headers))
    assert sent[0]["headers"] == {"x-first": "1", "accept": "b"}


async def test_the_method_is_get_unless_said_and_in_upper_case(world: Any) -> None:
    # rule 12.8
    _, sent = await run(world, fetching("a"))
    assert sent[0]["method"] == "GET"
    _, sent = await run(world, fetching("a", method="head"))
    assert sent[0]["method"] == "HEAD"


async def test_every_part_of_a_request_tells_it_apart(world: Any) -> None:
    # rule 12.8
    keyed = {"method": "POST", "headers": {"Idempotency-Key": "1"}}

    @play("many")
    async def many(ctx: Context, given: Any) -> None:
        await ctx.fetch("a", URL)
        await ctx.fetch("b", URL)
        await ctx.fetch("a", f"{URL}2")
        await ctx.fetch("a", URL, method="HEAD")
        await ctx.fetch("a", URL, headers={"accept": "text/csv"})
        for body in ({"json": {"a": 1}}, {"json": {"a": 2}}, {"data": "1"}, {"data": "2"}):
            await ctx.fetch("a", URL, **keyed, **body)

    outcome, sent = await run(world, many)
    assert outcome.status is RunStatus.COMPLETED
    assert len(sent) == 9


async def test_a_fetch_that_was_answered_is_recovered_and_nothing_is_sent(world: Any) -> None:
    # rule 11.9, 12.9
    steps: list[str] = []

    @play("resumes")
    async def resumes(ctx: Context, given: Any) -> Any:
        if not steps:
            steps.append("first")
            await ctx.fetch("before", URL)
            await ctx.fetch("after", URL)
            raise ValueError("the first time")
        return (await ctx.fetch("after", URL)).status

    here = world({SPEC: answer})
    assert (await here.run(resumes, {})).status is RunStatus.FAILED
    here.ports = here.ports.next()
    assert (await here.run(resumes, {})).result == {"value": 404}
    assert len(here.ports.gateway.requests) == 2


@pytest.mark.parametrize("headers", [None, {"Idempotency-Key": " "}, {"x-key": "1"}])
async def test_what_may_change_something_needs_a_key(world: Any, headers: Any) -> None:
    # rule 12.10
    outcome, sent = await run(world, fetching("order", method="post", headers=headers))
    assert outcome.status is RunStatus.FAILED
    assert outcome.error["message"] == (
        "ctx.fetch('order'): POST may change something on the other side, so it needs an"
        " Idempotency-Key header"
    )
    assert sent == []


@pytest.mark.parametrize("name", ["Idempotency-Key", "X-IDEMPOTENCY-KEY"])
async def test_a_key_of_either_name_is_enough(world: Any, name: str) -> None:
    # rule 12.10
    outcome, _ = await run(world, fetching("order", method="DELETE", headers={name: "7"}))
    assert outcome.status is RunStatus.COMPLETED


async def test_json_and_data_at_once_are_refused(world: Any) -> None:
    outcome, sent = await run(world, fetching("a", json={}, data=""))
    assert outcome.error["message"] == "ctx.fetch('a') has json and data: a request has one body"
    assert sent == []


async def test_a_fetch_in_a_row_is_refused_with_advice(world: Any) -> None:
    # rule 12.8
    @play("in_row")
    async def in_row(ctx: Context, given: Any) -> Any:
        rows = ctx.map("rows", [{"n": 1}])
        return await rows.step("page", lambda row, ctx: ctx.fetch("a", URL)).run()

    here = world({SPEC: answer})
    await here.run(in_row, {})
    (row,) = here.rows()
    assert row.cells["page"]["error"]["message"] == (
        "ctx.fetch was called inside a row of a map: inside a row use a tool, which is batched and"
        " limited"
    )


async def test_a_failure_names_the_fetch_and_the_cause(world: Any) -> None:
    def lost(given: Any) -> MemberOutcome:
        return failed("shop.example cannot be reached", category="network", code="connect_failed")

    outcome, _ = await run(world, fetching("orders"), lost)
    assert outcome.error.pop("line").startswith(f"{__file__}:")
    assert outcome.error.pop("play") == "fetches"
    assert outcome.error == {
        "type": "ToolFailed",
        "message": "ctx.fetch('orders') failed: shop.example cannot be reached",
        "tool": "http_fetch",
        "provider": "http",
        "category": "network",
        "code": "connect_failed",
        "attempts": 1,
        "retryable": False,
    }
