"""Calls in, provider requests out, one entry per call back. Knows a tool's declaration, not how it is sent.

Only what a provider refuses as invalid is divided, until the calls that it really refuses stand alone; after
any other failure the whole request may be sent again, since nothing says which call is to blame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from plays.gateway.ledger import Claimed
from plays.tools.definitions import (
    Ask,
    Bulk,
    Entry,
    Failure,
    ProviderReply,
    ProviderRequest,
    Tool,
    Unreadable,
)
from plays.tools.failures import unreadable
from runtime.values import canonical_json

SendCalls = Callable[[ProviderRequest, Sequence[Claimed]], Awaitable[ProviderReply | Failure]]
"""Sends a request that holds these calls; gives the reply that answers, or the failure."""


def chunks(tool: Tool, calls: Sequence[Claimed], size: int) -> Iterator[list[Claimed]]:
    """Divide calls into requests: at most ``size`` calls each, whose ``group_by`` inputs agree."""
    names = tool.spec.batch.group_by if tool.spec.batch else ()
    groups: dict[str, list[Claimed]] = {}
    for call in calls:
        group = canonical_json([call.asked.input.get(name) for name in names]) if names else ""
        groups.setdefault(group, []).append(call)
    for members in groups.values():
        for start in range(0, len(members), size):
            yield members[start : start + size]


async def entry_of_single(tool: Tool, call: Claimed, send: SendCalls) -> Entry:
    """Make one call by itself."""
    ask = _ask(call)
    reply = await send(tool.request(ask), [call])
    if isinstance(reply, Failure):
        return reply
    try:
        return tool.read(reply)
    except Unreadable as error:
        return unreadable(f"{tool.provider} sent a reply that cannot be read: {error}")


async def entries_of_bulk(tool: Tool, calls: Sequence[Claimed], send: SendCalls) -> list[Entry]:
    """Make calls as one request, or as several where the provider refuses it as invalid; in order."""
    assert tool.bulk is not None
    asks = [_ask(call) for call in calls]
    reply = await send(tool.bulk.request(asks), calls)
    if isinstance(reply, Failure):
        is_divisible = reply.category == "validation" and reply.was_sent and len(calls) > 1
        return await _halves(tool, calls, send) if is_divisible else [reply] * len(calls)
    try:
        return _checked(tool, tool.bulk, reply, asks)
    except Unreadable as error:
        return [unreadable(f"{tool.provider} sent a reply that cannot be read: {error}")] * len(
            calls
        )


async def _halves(tool: Tool, calls: Sequence[Claimed], send: SendCalls) -> list[Entry]:
    middle = len(calls) // 2
    first, second = await asyncio.gather(
        entries_of_bulk(tool, calls[:middle], send), entries_of_bulk(tool, calls[middle:], send)
    )
    return [_as_sent(entry) for entry in (*first, *second)]


def _as_sent(entry: Entry) -> Entry:
    """Say of a part for which there was no slot that it was sent before, as part of the whole."""
    return replace(entry, was_sent=True) if isinstance(entry, Failure) else entry


def _checked(tool: Tool, bulk: Bulk, reply: ProviderReply, asks: Sequence[Ask]) -> list[Entry]:
    entries = bulk.split(reply, asks)
    if len(entries) != len(asks):
        raise Unreadable(f"{len(entries)} entries were read for {len(asks)} calls of {tool.id}")
    return entries


def _ask(call: Claimed) -> Ask:
    return Ask(call.asked.input, call.attempt)
