"""OpenTelemetry spans of requests. Without an SDK that collects them nothing is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

from runtime.calls import Call
from runtime.ports import MemberOutcome
from runtime.tools import ToolSpec

NAME = "plays.tool.execute"

_tracer = trace.get_tracer("plays")


class Spans:
    """Makes the spans of one run's requests."""

    def __init__(self, play: str, run: str) -> None:
        self._known = {"plays.play": play, "plays.run": run}

    @contextmanager
    def request(
        self, spec: ToolSpec, batch: Sequence[Call]
    ) -> Iterator[Callable[[Sequence[MemberOutcome]], None]]:
        """Open a span around a request; what it gives is to be called with the outcomes.

        The span is a child of the one that was current where its first call was asked for.
        """
        with _tracer.start_as_current_span(
            NAME, context=batch[0].context, record_exception=False
        ) as span:
            if span.is_recording():
                attempt = 1 + max(call.tries.requests for call in batch)
                span.set_attributes(
                    {
                        **self._known,
                        "plays.tool": spec.id,
                        "plays.provider": spec.provider,
                        "plays.attempt": attempt,
                        "plays.members": len(batch),
                    }
                )
            yield lambda outcomes: _tell(span, outcomes)


def _tell(span: trace.Span, outcomes: Sequence[MemberOutcome]) -> None:
    if not span.is_recording():
        return
    kinds = sorted({outcome["kind"] for outcome in outcomes})
    failures = sorted(
        {outcome.get("category", "") for outcome in outcomes if outcome["kind"] == "failed"}
    )
    span.set_attribute("plays.result.kind", kinds[0] if len(kinds) == 1 else "mixed")
    span.set_attribute("plays.status", ", ".join(failures) or "answered")
    if kinds == ["failed"]:
        span.set_status(Status(StatusCode.ERROR, ", ".join(failures)))
