"""The sandbox's tools as the gateway and the engine know them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

from plays.tools.definitions import (
    Ask,
    Bulk,
    Entry,
    Failure,
    Found,
    LeftOut,
    Nothing,
    ProviderReply,
    ProviderRequest,
    Service,
    Tool,
    Unreadable,
)
from plays.tools.failures import clipped, failure_for, failure_of
from plays.tools.sandbox.rules import canonical
from runtime.tools import BatchForm, OutputKind, ToolSpec

Json = Any

PREFIX = "/sandbox/"
ATTEMPTS_HEADER = "x-sandbox-attempts"

SERVICE = Service("sandbox", failure_of)

BATCH_SIZES = {
    "sandbox_a_email_finder": 100,
    "sandbox_b_email_finder": 50,
    "sandbox_email_verifier": 100,
    "sandbox_company_enrichment": 25,
}
BATCHES = {f"{tool_id}_batch": tool_id for tool_id in BATCH_SIZES}
"""Tool ids by batch operation."""

TIMEOUT_SECONDS = 15.0
"""Three times what the slowest answer takes."""


def _request(path: str, content: Json, asks: Sequence[Ask]) -> ProviderRequest:
    attempts = ",".join(str(ask.attempt) for ask in asks)
    return ProviderRequest(PREFIX + path, content, headers={ATTEMPTS_HEADER: attempts})


def _read(reply: ProviderReply) -> Entry:
    told = reply.json()
    if not isinstance(told, dict | None):
        raise Unreadable("the result is no object")
    return Nothing() if told is None else Found(told)


def _split(reply: ProviderReply, asks: Sequence[Ask]) -> list[Entry]:
    told = reply.json()
    results = told.get("results") if isinstance(told, dict) else None
    if not isinstance(results, list) or len(results) > len(asks):
        raise Unreadable("the reply holds no list of results that fits the request")
    if any(isinstance(result, dict) and "input" in result for result in results):
        return _by_echo(results, asks)
    entries = [_entry(result) for result in results]
    return entries + [LeftOut()] * (len(asks) - len(entries))


def _by_echo(results: Sequence[Json], asks: Sequence[Ask]) -> list[Entry]:
    """Match results to asks by the input that each echoes; equal inputs take equal results in turn."""
    found: dict[str, deque[Entry]] = defaultdict(deque)
    for result in results:
        if not isinstance(result, dict) or "input" not in result:
            raise Unreadable("the reply echoes some inputs and not others")
        told = {name: value for name, value in result.items() if name != "input"}
        found[canonical(result["input"])].append(_entry(told or None))
    matches = (found[canonical(ask.input)] for ask in asks)
    return [match.popleft() if match else LeftOut() for match in matches]


def _entry(told: Json) -> Entry:
    if told is None:
        return Nothing()
    if isinstance(told, dict) and isinstance(told.get("error"), dict):
        return _failure(told["error"])
    return Found(told)


def _failure(told: Json) -> Failure:
    status, message = told.get("status"), told.get("message")
    if not isinstance(status, int) or not isinstance(message, str):
        raise Unreadable("an error in the reply has no status or no message")
    return failure_for(status, clipped(message))


def _tool(
    tool_id: str,
    output: str,
    price: float,
    *,
    provider: str = "sandbox",
    kind: OutputKind = "scalar",
) -> Tool:
    size = BATCH_SIZES.get(tool_id)
    operation = f"{tool_id}_batch"
    spec = ToolSpec(
        tool_id,
        provider,
        output,
        kind,
        getters={output: [output]},
        lists={output: [output]} if kind == "list" else {},
        price=price,
        batch=BatchForm(operation, size) if size else None,
    )
    return Tool(
        spec,
        SERVICE,
        request=lambda ask: _request(tool_id, ask.input, [ask]),
        read=_read,
        bulk=Bulk(
            lambda asks: _request(operation, {"requests": [ask.input for ask in asks]}, asks),
            _split,
        )
        if size
        else None,
        bucket=tool_id if provider == "test" else "",
        timeout_seconds=TIMEOUT_SECONDS,
    )


TOOLS = (
    _tool("sandbox_a_email_finder", "email", 0.2, provider="sandbox_a"),
    _tool("sandbox_b_email_finder", "email", 0.4, provider="sandbox_b"),
    _tool("sandbox_c_email_finder", "email", 0.6, provider="sandbox_c"),
    _tool("sandbox_email_verifier", "verdict", 0.1),
    _tool("sandbox_mobile_finder", "mobile", 1.0),
    _tool("sandbox_company_enrichment", "company", 0.3, kind="object"),
    _tool("sandbox_people_search", "people", 0.5, kind="list"),
    _tool("test_company_search", "company", 0.0, provider="test", kind="object"),
    _tool("test_rate_limit", "echo", 0.0, provider="test", kind="object"),
    _tool("test_transient_500", "echo", 0.0, provider="test", kind="object"),
)
