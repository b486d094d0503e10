"""Reading orders and writing answers: the gateway's protocol. Pure.

    single   {"payload": {...}}                                    Idempotency-Key in the headers
    batch    {"payload": {"requests": [{"key", "input", "waterfall"?}...]}}

Both may carry ``fresh_after`` (ISO 8601) beside ``payload``, and ``X-Deepline-Waterfall: 1`` for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from plays.gateway.errors import KEY_REUSED, Refused, error_json, refusal, status_of
from plays.gateway.execute import Member, Outcome
from plays.tools.definitions import Failure, Found, LeftOut, Nothing, Tool
from plays.tools.wire import Answer, Json, json_answer, loads
from runtime.values import sanitise

KEY_MAX = 64
MEMBERS_MAX = 1000

LEFT_OUT = Failure(
    "left_out", "upstream", "the provider's reply left this call out", retryable=True
)
"""What a single call is told that shares the call of a batch."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body. ``repeats``: positions of members whose key another one has with another input."""

    members: list[Member]
    fresh_after: datetime | None
    repeats: frozenset[int] = frozenset()


def read_body(body: bytes, headers: Mapping[str, str], *, is_batch: bool) -> Body:
    """Read the members of a request, their inputs sanitised. Raises Refused with status 400."""
    try:
        told = loads(body)
    except ValueError:
        raise _bad("the body is not JSON") from None
    if not isinstance(told, dict) or not isinstance(told.get("payload"), dict):
        raise _bad('the body needs "payload", an object')
    is_step = headers.get("x-deepline-waterfall") == "1"
    payload = sanitise(told["payload"])[0]
    if is_batch:
        members = _batch(payload.get("requests"), is_step=is_step)
    else:
        members = [Member(_key(headers.get("idempotency-key")), payload, is_step)]
    return Body(members, _moment(told.get("fresh_after")), _repeats(members))


def single_answer(tool: Tool, member: Member, outcome: Outcome, request: Request) -> Answer:
    """Give the answer to a single call."""
    entry = LEFT_OUT if isinstance(outcome.entry, LeftOut) else outcome.entry
    if isinstance(entry, Failure):
        return failure_answer(status_of(entry), entry, request, provider=tool.provider)
    told = {**_definite(entry, outcome), "call": member.key, **request.metadata(tool)}
    return json_answer(200, told, request.headers())


def batch_answer(
    tool: Tool, body: Body, outcomes: Mapping[str, Outcome], request: Request
) -> Answer:
    """Give the answer to a batch: one entry per member, in order."""
    reused = Outcome(KEY_REUSED, "live")
    results = [
        _entry(tool, member, reused if at in body.repeats else outcomes[member.key], request)
        for at, member in enumerate(body.members)
    ]
    return json_answer(200, {"results": results, **request.metadata(tool)}, request.headers())


def failure_answer(
    status: int, failure: Failure, request: Request, *, provider: str = ""
) -> Answer:
    """Give the answer that tells a failure; ``Retry-After`` is exact to the millisecond."""
    headers = request.headers()
    if failure.retry_after is not None:
        headers["retry-after"] = f"{max(0.001, failure.retry_after):.3f}"
    told = error_json(failure, provider=provider, request_id=request.id)
    return json_answer(status, {"error": told}, headers)


@dataclass(frozen=True, slots=True)
class Request:
    """What every answer to one request carries."""

    id: str
    wants_metadata: bool = False

    def headers(self) -> dict[str, str]:
        return {"x-request-id": self.id}

    def metadata(self, tool: Tool) -> dict[str, Json]:
        """Give ``_metadata.tool`` where it was asked for: how values are found in a result."""
        if not self.wants_metadata:
            return {}
        spec = tool.spec
        lists = [path for paths in spec.lists.values() for path in paths]
        told = {
            "toolId": spec.id,
            "resultIdentityGetters": {name: list(paths) for name, paths in spec.getters.items()},
            "listExtractorPaths": lists,
            "listIdentityGetters": {name: list(paths) for name, paths in spec.lists.items()},
        }
        return {"_metadata": {"tool": told}}


def _entry(tool: Tool, member: Member, outcome: Outcome, request: Request) -> dict[str, Json]:
    entry = outcome.entry
    told: dict[str, Json] = {"key": member.key, "call": member.key}
    if isinstance(entry, Failure):
        error = error_json(entry, provider=tool.provider, request_id=request.id)
        return {**told, "status": "failed", "result": None, "error": error, "credits": 0.0}
    if isinstance(entry, LeftOut):
        return {**told, "status": "unattempted", "result": None, "error": None, "credits": 0.0}
    return {**told, **_definite(entry, outcome), "error": None}


def _definite(entry: Found | Nothing, outcome: Outcome) -> dict[str, Json]:
    return {
        "status": "completed" if isinstance(entry, Found) else "no_result",
        "result": entry.result if isinstance(entry, Found) else None,
        "credits": float(outcome.credits),
        "source": outcome.source,
    }


def _batch(requests: Any, *, is_step: bool) -> list[Member]:
    if not isinstance(requests, list) or not requests:
        raise _bad('the payload of a batch needs "requests", a list with at least one entry')
    if len(requests) > MEMBERS_MAX:
        raise refusal(413, "batch_too_large", f"a batch holds at most {MEMBERS_MAX} requests")
    return [_member(told, is_step=is_step) for told in requests]


def _member(told: Any, *, is_step: bool) -> Member:
    if not isinstance(told, dict) or not isinstance(told.get("input"), dict):
        raise _bad('each of "requests" needs "key" and "input", an object')
    return Member(_key(told.get("key")), told["input"], is_step or told.get("waterfall") is True)


def _key(key: Any) -> str:
    is_key = (
        isinstance(key, str) and 0 < len(key) <= KEY_MAX and key.isascii() and key.isprintable()
    )
    if not is_key:
        raise _bad(
            f"each call needs an idempotency key of 1 to {KEY_MAX} printable ASCII characters"
        )
    return str(key)


def _repeats(members: Sequence[Member]) -> frozenset[int]:
    first: dict[str, Member] = {}
    return frozenset(
        at
        for at, member in enumerate(members)
        if first.setdefault(member.key, member).input != member.input
    )


def _moment(told: Any) -> datetime | None:
    if told is None:
        return None
    try:
        moment = datetime.fromisoformat(told)
    except (TypeError, ValueError):
        raise _bad('"fresh_after" must be a date and time in ISO 8601') from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _bad(message: str) -> Refused:
    return refusal(400, "bad_request", message)
