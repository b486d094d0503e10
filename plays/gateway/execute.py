"""Orders to outcomes: answers what is known, claims the rest, makes the calls, shares them, settles them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar

import psycopg

from plays.gateway import batches
from plays.gateway.calls import CLAIM_LOST, Calls, told
from plays.gateway.configuration import Timing
from plays.gateway.grouping import Grouping
from plays.gateway.ledger import (
    Asked,
    Busy,
    Caller,
    Claimed,
    Denied,
    Known,
    Ledger,
    Settlement,
    Verdict,
)
from plays.gateway.waiting import Hints, OpenCalls, Settled
from plays.tools.definitions import Entry, Failure, Json, Tool
from plays.tools.policies import Policy

log = logging.getLogger(__name__)

Given = TypeVar("Given")

CREDIT_DIGITS = 4
IN_FLIGHT_RETRY_SECONDS = 1.0
PATIENCE_FIRST_SECONDS, PATIENCE_LAST_SECONDS = 0.1, 5.0

IN_FLIGHT = Failure(
    "in_flight",
    "rate_limit",
    "this call is under way already; its answer will be there for the same key",
    retryable=True,
    retry_after=IN_FLIGHT_RETRY_SECONDS,
    was_sent=False,
)
ANSWER_LOST = Failure(
    "store_unavailable",
    "internal",
    "the answer could not be stored: the gateway's database did not take it",
    retryable=True,
    retry_after=IN_FLIGHT_RETRY_SECONDS,
)


@dataclass(frozen=True, slots=True)
class Member:
    """One call of an order."""

    key: str
    input: Json
    is_step: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """What one request asks: calls of one tool, as one provider request where ``is_bulk``."""

    caller: Caller
    tool: Tool
    policy: Policy
    members: tuple[Member, ...]
    is_bulk: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one call ended for who asked. ``ledger``: somebody else, or an earlier request, paid for it."""

    entry: Entry
    source: Literal["live", "ledger"]
    credits: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A claimed call, and the future of its end."""

    claimed: Claimed
    future: asyncio.Future[Settled]


_Ticket = Verdict | _Opened


class Executor:
    """Carries out orders. Everything that it starts is finished by :meth:`finish`."""

    def __init__(self, ledger: Ledger, calls: Calls, hints: Hints, timing: Timing) -> None:
        self._ledger = ledger
        self._calls = calls
        self._hints = hints
        self._timing = timing
        self._open = OpenCalls()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._has_unstored = False
        self._claims: Grouping[Caller, Asked, dict[str, _Ticket]] = Grouping(self._flush_claims)
        self._settlements: Grouping[None, Settlement, list[Settled]] = Grouping(
            self._flush_settlements
        )

    async def execute(self, order: Order) -> dict[str, Outcome]:
        """Give an outcome for each key of the order.

        Raises Stopped where the run may not call. Cancelling the wait leaves the calls on their way.
        """
        return await asyncio.shield(self._task(self._execute(order), "order"))

    async def finish(self) -> None:
        """Wait until all that is under way has ended and its calls are settled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _execute(self, order: Order) -> dict[str, Outcome]:
        asked = self._asked(order)
        outcomes: dict[str, Outcome] = {}
        deadline = time.monotonic() + self._timing.wait
        waiting = await self._round(order, asked, outcomes)
        while waiting:
            event = asyncio.Event()
            with self._hints.watch([one.key for one in waiting], event):
                waiting = await self._round(order, waiting, outcomes)
                left = deadline - time.monotonic()
                if left <= 0 or not waiting:
                    break
                await _event(event, min(left, self._timing.look))
        return {one.key: outcomes.get(one.key, Outcome(IN_FLIGHT, "live")) for one in asked}

    def _task(self, work: Coroutine[Any, Any, Given], what: str) -> asyncio.Task[Given]:
        task = asyncio.create_task(work, name=f"gateway {what}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _asked(self, order: Order) -> list[Asked]:
        tool, policy, lasts = order.tool, order.policy, self._calls.lasts(order.tool)
        price = round(Decimal(str(policy.price)), CREDIT_DIGITS)
        return [
            Asked(member.key, member.input, member.is_step, tool, policy, price, lasts)
            for member in order.members
        ]

    async def _round(
        self, order: Order, asked: Sequence[Asked], outcomes: dict[str, Outcome]
    ) -> list[Asked]:
        """Ask the ledger once and wait for all that this gateway makes; give what others still make."""
        tickets = await self._claims.add(order.caller, asked)
        opened = [ticket for ticket in tickets.values() if isinstance(ticket, _Opened)]
        self._start(order, opened)
        shared: dict[str, asyncio.Future[Settled]] = {}
        for key, ticket in tickets.items():
            match ticket:
                case Known(entry):
                    outcomes[key] = Outcome(entry, "ledger")
                case Denied(failure):
                    outcomes[key] = Outcome(failure, "live")
                case Busy() if future := self._open.get(key):
                    shared[key] = future
        for ticket in opened:
            settled = await asyncio.shield(ticket.future)
            outcomes[ticket.claimed.asked.key] = Outcome(settled.entry, "live", settled.credits)
        await self._share(shared, outcomes)
        return [one for one in asked if one.key not in outcomes and one.key not in shared]

    async def _share(
        self, shared: dict[str, asyncio.Future[Settled]], outcomes: dict[str, Outcome]
    ) -> None:
        """Take part in calls that other requests to this gateway make, failures included."""
        if not shared:
            return
        await asyncio.wait(shared.values(), timeout=self._timing.wait)
        for key, future in shared.items():
            entry = future.result().entry if future.done() else IN_FLIGHT
            outcomes[key] = Outcome(entry, "ledger")

    def _start(self, order: Order, opened: Sequence[_Opened]) -> None:
        futures = {ticket.claimed.asked.key: ticket.future for ticket in opened}
        size = order.policy.batch_size if order.is_bulk else 1
        for chunk in batches.chunks(order.tool, [ticket.claimed for ticket in opened], size):
            self._task(self._make(order, chunk, futures), f"call {order.tool.id}")

    async def _make(
        self, order: Order, chunk: Sequence[Claimed], futures: dict[str, asyncio.Future[Settled]]
    ) -> None:
        try:
            settlements = await self._calls.make(
                order.tool, order.policy, chunk, is_bulk=order.is_bulk
            )
            ends = await self._settlements.add(None, settlements)
        except Exception:  # (whoever waits for these calls must hear of their end)
            log.exception("%d answers of %s could not be stored", len(chunk), order.tool.id)
            ends = [Settled(ANSWER_LOST)] * len(chunk)
        for call, settled in zip(chunk, ends, strict=True):
            self._open.settle(call.asked.key, futures[call.asked.key], settled)

    async def _flush_claims(
        self, caller: Caller, requests: Sequence[Sequence[Asked]]
    ) -> list[dict[str, _Ticket]]:
        """Claim for several requests of one caller at once; the first that asks for a key makes the call.

        Raises OperationalError while answers wait for the database: their claims may have run out, and
        whoever claimed first when it is back would pay again.
        """
        if self._has_unstored:
            raise psycopg.OperationalError("answers wait for the database")
        first = {one.key: one for request in reversed(requests) for one in reversed(request)}
        asked = [one for request in requests for one in request if first[one.key] is one]
        verdicts = await self._ledger.claim(caller, asked)
        tickets: dict[str, _Ticket] = {}
        for one, verdict in zip(asked, verdicts, strict=True):
            tickets[one.key] = self._opened(verdict)
        return [
            {
                one.key: self._ticket(tickets[one.key], is_first=first[one.key] is one)
                for one in request
            }
            for request in requests
        ]

    def _opened(self, verdict: Verdict) -> _Ticket:
        """Open the call that was claimed, before anybody else can ask for it and find it busy."""
        if isinstance(verdict, Claimed):
            return _Opened(verdict, self._open.open(verdict.asked.key))
        return verdict

    def _ticket(self, ticket: _Ticket, *, is_first: bool) -> _Ticket:
        return Busy() if isinstance(ticket, _Opened) and not is_first else ticket

    async def _flush_settlements(
        self, _: None, groups: Sequence[Sequence[Settlement]]
    ) -> list[list[Settled]]:
        held = await self._settle_patiently([one for group in groups for one in group])
        self._task(self._hints.tell([key for key, _ in held]), "hint")
        return [[_settled(one, held) for one in group] for group in groups]

    async def _settle_patiently(self, settlements: Sequence[Settlement]) -> set[tuple[str, str]]:
        """Settle, and while the database is away try again: these answers are paid for."""
        deadline = time.monotonic() + self._timing.patience
        pause = PATIENCE_FIRST_SECONDS
        while True:
            try:
                held = await self._ledger.settle(settlements)
            except psycopg.OperationalError:
                self._has_unstored = time.monotonic() + pause <= deadline
                if not self._has_unstored:
                    raise
                log.warning("%d answers wait for the database", len(settlements))
            else:
                self._has_unstored = False
                return held
            await asyncio.sleep(pause)
            pause = min(pause * 2, PATIENCE_LAST_SECONDS)


def _settled(settlement: Settlement, held: set[tuple[str, str]]) -> Settled:
    """Give a call's end; a late answer, whose call somebody else has taken over, is no answer."""
    claimed = settlement.claimed
    if (claimed.asked.key, claimed.claim) in held:
        return Settled(told(settlement), settlement.credits)
    log.warning("a late answer of %s was dropped", claimed.asked.tool.id)
    return Settled(CLAIM_LOST)


async def _event(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
