"""Claimed calls on their way: a slot in the provider's windows, the request, and what its refusal means.

What is sent here is paid for, so it runs in tasks that outlive the request which asked for it; a gateway that
is told to stop waits for them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import psycopg
from redis.exceptions import RedisError

from plays.gateway import batches
from plays.gateway.configuration import Timing
from plays.gateway.ledger import Claimed, Ledger, Settlement, in_doubt
from plays.gateway.transport import Transport
from plays.gateway.windows import NoSlot, Slot, Windows
from plays.tools.definitions import Entry, Failure, Found, ProviderReply, ProviderRequest, Tool
from plays.tools.policies import Policy
from runtime.values import sanitise

log = logging.getLogger(__name__)

NO_WINDOWS = Failure(
    "limits_unavailable",
    "internal",
    "the gateway cannot reach the server that holds the providers' limits",
    retryable=True,
    retry_after=1.0,
    was_sent=False,
)
CLAIM_LOST = Failure(
    "claim_lost",
    "internal",
    "the call took so long that somebody else has taken it over",
    retryable=True,
    was_sent=False,
)


@dataclass(slots=True)
class _Trip:
    """What one chunk of calls cost on its way."""

    requests: int = 0
    started: float = 0.0

    @property
    def latency_ms(self) -> int | None:
        return round((time.monotonic() - self.started) * 1000) if self.started else None


class Calls:
    """Makes claimed calls of tools."""

    def __init__(
        self, ledger: Ledger, windows: Windows, transport: Transport, timing: Timing
    ) -> None:
        self._ledger = ledger
        self._windows = windows
        self._transport = transport
        self._timing = timing

    def lasts(self, tool: Tool) -> float:
        """Give the seconds for which a claim on a call of this tool must hold."""
        return self._timing.hold + tool.timeout_seconds + self._timing.margin

    async def make(
        self, tool: Tool, policy: Policy, calls: Sequence[Claimed], *, is_bulk: bool
    ) -> list[Settlement]:
        """Make calls as one request (``is_bulk``) or a single call; give how each ended, in order."""
        trip = _Trip()

        async def send(
            request: ProviderRequest, members: Sequence[Claimed]
        ) -> ProviderReply | Failure:
            return await self._send(tool, policy, request, members, trip)

        made = await self._entries(tool, calls, send, is_bulk=is_bulk)
        entries = [_storable(entry) for entry in made]
        return [
            Settlement(
                call,
                entry,
                requests=trip.requests if index == 0 else 0,
                latency_ms=trip.latency_ms,
                size=len(calls),
            )
            for index, (call, entry) in enumerate(zip(calls, entries, strict=True))
        ]

    async def _entries(
        self, tool: Tool, calls: Sequence[Claimed], send: batches.SendCalls, *, is_bulk: bool
    ) -> list[Entry]:
        try:
            if is_bulk:
                return await batches.entries_of_bulk(tool, calls, send)
            return [await batches.entry_of_single(tool, calls[0], send)]
        except (
            Exception
        ):  # (a provider's folder may stumble over any reply; its calls must be settled)
            log.exception("the code of %s failed", tool.id)
            failure = Failure(
                "provider_code_failed",
                "internal",
                f"the gateway's code for {tool.id} failed",
                is_unknown=True,
            )
            return [failure] * len(calls)

    async def _send(
        self,
        tool: Tool,
        policy: Policy,
        request: ProviderRequest,
        members: Sequence[Claimed],
        trip: _Trip,
    ) -> ProviderReply | Failure:
        if trip.requests and not await self._extended(tool, members):
            return CLAIM_LOST
        slot = await self._slot(tool, policy)
        if isinstance(slot, Failure):
            return slot
        trip.requests += 1
        trip.started = trip.started or time.monotonic()
        try:
            reply = await self._transport.send(tool.service, request, tool.timeout_seconds)
        finally:
            await self._give_back(slot)
        failure = reply if isinstance(reply, Failure) else tool.service.failure(reply)
        if failure is None:
            return reply
        await self._learn(tool, failure)
        return failure

    async def _extended(self, tool: Tool, members: Sequence[Claimed]) -> bool:
        try:
            return await self._ledger.extend(members, self.lasts(tool))
        except psycopg.OperationalError:
            return False

    async def _slot(self, tool: Tool, policy: Policy) -> Slot | Failure:
        lasts = tool.timeout_seconds + self._timing.margin
        try:
            slot = await self._windows.slot(policy.buckets, hold=self._timing.hold, lasts=lasts)
        except RedisError as error:
            log.warning("no slot for %s: %s", tool.id, error)
            return NO_WINDOWS
        return _no_slot(tool, slot) if isinstance(slot, NoSlot) else slot

    async def _give_back(self, slot: Slot) -> None:
        try:
            await self._windows.give_back(slot)
        except RedisError as error:
            log.warning("a lease ends by itself: %s", error)

    async def _learn(self, tool: Tool, failure: Failure) -> None:
        if failure.category == "rate_limit" and failure.retry_after:
            try:
                await self._windows.penalise(tool.limits_bucket, failure.retry_after)
            except RedisError as error:
                log.warning(
                    "other gateways do not hear that %s is limited: %s", tool.provider, error
                )


def _storable(entry: Entry) -> Entry:
    """Give an entry as the ledger can hold it, so that it is answered now as it will be ever after."""
    match entry:
        case Found(result):
            return Found(sanitise(result)[0])
        case Failure():
            return replace(entry, message=sanitise(entry.message)[0])
        case _:
            return entry


def told(settlement: Settlement) -> Entry:
    """Give the entry with which a settlement is answered: doubt where nobody can tell what happened."""
    entry = settlement.entry
    if isinstance(entry, Failure) and settlement.is_in_doubt:
        return replace(in_doubt(entry.message), was_sent=True)
    return entry


def _no_slot(tool: Tool, slot: NoSlot) -> Failure:
    if slot.is_quota:
        message = f"the daily quota that is set for {tool.provider} is used up"
        return Failure("quota_used_up", "quota", message, False, slot.retry_after, was_sent=False)
    message = f"{tool.provider} takes no more requests for {slot.retry_after:.3f} s"
    return Failure("rate_limited", "rate_limit", message, True, slot.retry_after, was_sent=False)
