"""Spans around requests, as somebody who collects them sees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags

from runtime.context import Context
from runtime.memory import failed, hit, miss
from tests.unit.runtime.programs import mapped, top

AUTHORS_SPAN = SpanContext(0x1, 0x2, is_remote=False, trace_flags=TraceFlags(1))


class SeenSpan(NonRecordingSpan):
    """A span that remembers what is told to it."""

    def __init__(self, name: str, parent: int) -> None:
        super().__init__(AUTHORS_SPAN)
        self.name = name
        self.parent = parent
        self.attributes: dict[str, Any] = {}
        self.status: Any = None

    def is_recording(self) -> bool:
        return True

    def set_attributes(self, attributes: Any) -> None:
        self.attributes.update(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.status = status.status_code


class SeeingTracer:
    """A tracer that keeps its spans."""

    def __init__(self) -> None:
        self.spans: list[SeenSpan] = []

    @contextmanager
    def start_as_current_span(
        self, name: str, *, context: Any, **options: Any
    ) -> Iterator[SeenSpan]:
        parent = trace.get_current_span(context).get_span_context().span_id
        self.spans.append(SeenSpan(name, parent))
        yield self.spans[-1]


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> SeeingTracer:
    tracer = SeeingTracer()
    monkeypatch.setattr("runtime.spans._tracer", tracer)
    return tracer


def find(row: Any, ctx: Context) -> Any:
    return ctx.waterfall("email", {"n": row["n"]}, providers=["a"])


async def test_a_request_is_a_span_with_what_it_was_and_gave(
    world: Any, make_tool: Any, tracer: SeeingTracer
) -> None:
    # rule 15.3
    here = world({make_tool("a_email", provider="a", size=10): lambda call: hit({"email": "x"})})
    await here.run(mapped(("email", find), rows=[{"n": n} for n in range(4)]))
    (span,) = tracer.spans
    assert span.name == "plays.tool.execute"
    assert span.attributes == {
        "plays.play": "mapped",
        "plays.run": "run-1",
        "plays.tool": "a_email",
        "plays.provider": "a",
        "plays.attempt": 1,
        "plays.members": 4,
        "plays.result.kind": "hit",
        "plays.status": "answered",
    }
    assert span.status is None


async def test_a_span_tells_attempts_failures_and_mixed_results(
    world: Any, make_tool: Any, tracer: SeeingTracer
) -> None:
    # rule 15.3
    async def two_maps(ctx: Context) -> Any:
        await ctx.map("one", [{"n": 0}]).step("email", find).run()
        await ctx.map("two", [{"n": 0}, {"n": 1}]).step("email", find).run()

    answers = iter([failed("secret", retryable=True), miss(), hit({"email": "x"}), miss()])
    here = world({make_tool("a_email", provider="a", size=2): lambda call: next(answers)})
    await here.run(top(two_maps))
    told = [
        (span.attributes["plays.attempt"], span.attributes["plays.result.kind"],
         span.attributes["plays.status"], span.status)
        for span in tracer.spans
    ]  # fmt: skip
    assert told == [
        (1, "failed", "upstream", StatusCode.ERROR),
        (2, "miss", "answered", None),
        (1, "mixed", "answered", None),
    ]


async def test_a_span_is_a_child_of_the_authors_own(
    world: Any, make_tool: Any, tracer: SeeingTracer
) -> None:
    # rule 15.3
    async def asks(ctx: Context) -> Any:
        authors = trace.set_span_in_context(NonRecordingSpan(AUTHORS_SPAN))
        token = context.attach(authors)
        try:
            await ctx.tools.execute(id="a", tool="look", input={"n": 1})
        finally:
            context.detach(token)
        await ctx.tools.execute(id="b", tool="look", input={"n": 1})

    here = world({make_tool("look"): lambda call: miss()})
    await here.run(top(asks))
    assert [span.parent for span in tracer.spans] == [AUTHORS_SPAN.span_id, 0]


async def test_nothing_is_told_where_nobody_collects_spans(world: Any, make_tool: Any) -> None:
    # rule 15.3
    here = world({make_tool("a_email", provider="a"): lambda call: hit({"email": "x"})})
    await here.run(mapped(("email", find), rows=[{"n": 1}]))
    assert here.values("email") == ["x"]
