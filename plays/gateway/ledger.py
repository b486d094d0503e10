"""The ledger: claims calls before they are sent, and settles them after. Knows PostgreSQL, not HTTP.

A claim says in one transaction whether the run may call, what is known already, what is under way, what
its limits still allow, and takes the rest for this gateway. A settlement stores what came and turns
reservations into spending; it holds only while the claim does, so that a late answer of a call that was
taken over by somebody else changes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from plays.gateway import budgets, statements
from plays.gateway.errors import KEY_REUSED, Stopped
from plays.tools.definitions import Entry, Failure, Found, Json, LeftOut, Nothing, Tool
from plays.tools.policies import Policy
from plays.tools.wire import loads
from runtime.values import canonical_json

POOL_MIN, POOL_MAX = 1, 8
RECONNECT_SECONDS = 5.0
"""The pool doubles its pauses between attempts without end. After so long it begins anew, and who waits
for it asks again, which is what makes it begin."""
DEADLOCK_TRIES = 5
CONNECTION_OPTIONS = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
"""Planning the claim takes longer than running it, so its plan is made once per connection."""

Connection = AsyncConnection[DictRow]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a run in an epoch. ``fresh_after``: answers of other runs from before are too old."""

    run: str
    epoch: int
    fresh_after: datetime | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that wants an answer. ``lasts`` are the seconds that a claim on it holds.

    ``price`` is in credits, as exact as the ledger counts them.
    """

    key: str
    input: Json
    is_step: bool
    tool: Tool
    policy: Policy
    price: Decimal
    lasts: float

    @property
    def is_repeatable(self) -> bool:
        return self.tool.is_repeatable(self.input)


@dataclass(frozen=True, slots=True)
class Claimed:
    """This gateway must make the call now; ``attempt`` counts from 1. ``root`` is whose limits it uses."""

    asked: Asked
    claim: str
    attempt: int
    root: str
    is_retry: bool
    is_new_step: bool


@dataclass(frozen=True, slots=True)
class Known:
    """The ledger has the answer."""

    entry: Found | Nothing


@dataclass(frozen=True, slots=True)
class Busy:
    """Somebody makes this call at the moment."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The call must not be made."""

    failure: Failure


Verdict = Claimed | Known | Busy | Denied


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of a claimed call: ``requests`` are those counted for it, ``size`` that of its batch."""

    claimed: Claimed
    entry: Entry
    requests: int
    latency_ms: int | None
    size: int

    @property
    def is_unsent(self) -> bool:
        """Whether the call never left for the provider, so that it takes nothing of any limit."""
        return isinstance(self.entry, Failure) and not self.entry.was_sent

    @property
    def is_in_doubt(self) -> bool:
        """Whether the provider may have done what must not be done twice."""
        is_unknown = isinstance(self.entry, Failure) and self.entry.is_unknown
        return is_unknown and not self.claimed.asked.is_repeatable

    @property
    def credits(self) -> Decimal:
        """What the call cost: the price of a hit, else nothing."""
        return self.claimed.asked.price if isinstance(self.entry, Found) else Decimal(0)


class Ledger:
    """The ledger behind one connection pool."""

    def __init__(self, database: Mapping[str, Any]) -> None:
        options = f"{database.get('options', '')} {CONNECTION_OPTIONS}".strip()
        arguments = {
            **database,
            "options": options,
            "row_factory": dict_row,
            "prepare_threshold": 0,
        }
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            kwargs=arguments,
            min_size=POOL_MIN,
            max_size=POOL_MAX,
            open=False,
            configure=_configured,
            timeout=RECONNECT_SECONDS,
            reconnect_timeout=RECONNECT_SECONDS,
            name="gateway",
        )

    async def open(self) -> None:
        """Connect. Raises PoolTimeout where the database does not answer."""
        await self._pool.open(wait=True)

    async def close(self) -> None:
        await self._pool.close()

    async def claim(self, caller: Caller, asked: Sequence[Asked]) -> list[Verdict]:
        """Judge and claim, in one transaction; one verdict per call, in order. Keys are unique.

        Raises Stopped where the run may not call; then nothing was claimed.
        """
        claim = str(uuid.uuid4())
        told = {
            "run": caller.run,
            "epoch": caller.epoch,
            "fresh_after": caller.fresh_after,
            "claim": claim,
            "keys": [one.key for one in asked],
            "asked": canonical_json([_asked_json(n, one) for n, one in enumerate(asked)]),
        }
        rows = await self._run(statements.LOCK_USAGE_OF_RUN, statements.CLAIM, told)
        if not rows or not rows[0]["may_call"]:
            raise _stopped(caller, rows[0] if rows else None)
        await self._release_left_behind(rows[0]["left_behind"] or ())
        pairs = zip(asked, rows[0]["verdicts"], strict=True)
        return [_verdict(one, claim, rows[0], verdict) for one, verdict in pairs]

    async def settle(self, settlements: Sequence[Settlement]) -> set[tuple[str, str]]:
        """Store what came; give the (key, claim) pairs that still held."""
        told = {
            "roots": list({settlement.claimed.root for settlement in settlements}),
            "keys": [settlement.claimed.asked.key for settlement in settlements],
            "done": canonical_json([_settlement_json(settlement) for settlement in settlements]),
        }
        rows = await self._run(statements.LOCK_USAGES, statements.SETTLE, told)
        return {(row["key"], row["claim"]) for row in rows}

    async def extend(self, claims: Sequence[Claimed], seconds: float) -> bool:
        """Make claims of one transaction hold for so long from now; False: some of them are lost."""
        keys = [claimed.asked.key for claimed in claims]
        told = {"keys": keys, "claim": claims[0].claim, "lasts": seconds}
        async with self._pool.connection() as connection:
            held = await (await connection.execute(statements.EXTEND, told)).fetchall()
        return len(held) == len(claims)

    async def policies(self) -> list[DictRow]:
        """Read all tool policies."""
        async with self._pool.connection() as connection:
            return await (await connection.execute(statements.POLICIES)).fetchall()

    async def _run(self, lock: str, statement: str, told: Mapping[str, Any]) -> list[DictRow]:
        """Run lock and statement as one transaction in one round trip; a deadlock is tried again."""
        for tries_left in reversed(range(DEADLOCK_TRIES)):
            try:
                return await self._run_once(lock, statement, told)
            except errors.DeadlockDetected:
                if not tries_left:
                    raise
        raise AssertionError("unreachable")

    async def _run_once(self, lock: str, statement: str, told: Mapping[str, Any]) -> list[DictRow]:
        async with self._pool.connection() as connection:
            async with connection.pipeline(), connection.transaction():
                await connection.execute(lock, told)
                cursor = await connection.execute(statement, told)
            return await cursor.fetchall()

    async def _release_left_behind(self, left_behind: Sequence[tuple[str, Json]]) -> None:
        """Give back what other runs had reserved for calls whose expired claims were taken over."""
        for root, reserved in left_behind:
            async with self._pool.connection() as connection:
                told = {"root": root, "credits": reserved}
                await connection.execute(statements.RELEASE_LEFT_BEHIND, told)


async def _configured(connection: Connection) -> None:
    set_json_loads(loads, connection)


def _asked_json(n: int, asked: Asked) -> dict[str, Json]:
    policy, tool = asked.policy, asked.tool
    return {
        "n": n,
        "key": asked.key,
        "input": tool.kept(asked.input),
        "is_step": asked.is_step,
        "tool": tool.id,
        "provider": tool.provider,
        "is_repeatable": asked.is_repeatable,
        "price": str(asked.price),
        "hit_life": policy.hit_life_seconds,
        "miss_life": policy.miss_life_seconds,
        "lasts": asked.lasts,
    }


def _settlement_json(settlement: Settlement) -> dict[str, Json]:
    claimed, entry, unsent = settlement.claimed, settlement.entry, settlement.is_unsent
    return {
        "key": claimed.asked.key,
        "claim": claimed.claim,
        "root_id": claimed.root,
        "status": _status(settlement),
        "result": entry.result if isinstance(entry, Found) else None,
        "error": _error(entry),
        "credits": str(settlement.credits),
        "reserved": str(claimed.asked.price),
        "calls_back": int(unsent),
        "retries_back": int(unsent and claimed.is_retry),
        "steps_back": int(unsent and claimed.is_new_step),
        "requests": settlement.requests,
        "latency_ms": settlement.latency_ms,
        "batch_size": settlement.size,
    }


def _status(settlement: Settlement) -> str:
    if settlement.is_in_doubt:
        return "in_doubt"
    match settlement.entry:
        case Found():
            return "completed"
        case Nothing():
            return "no_result"
        case _:
            return "failed"


def _error(entry: Entry) -> Json:
    match entry:
        case Failure():
            return {"code": entry.code, "category": entry.category, "message": entry.message}
        case LeftOut():
            return {"code": "left_out", "message": "the reply left this call out"}
        case _:
            return None


def _verdict(asked: Asked, claim: str, run: DictRow, verdict: Sequence[Json]) -> Verdict:
    word, refused_by, attempts, is_retry, is_new_step, old_status, result = verdict
    if attempts:
        return Claimed(asked, claim, attempts, run["root_id"], is_retry, is_new_step)
    if refused_by:
        return Denied(budgets.used_up(refused_by, run["limits"], int(run["rows"])))
    match word:
        case "answer":
            return Known(Found(result) if old_status == "completed" else Nothing())
        case "other":
            return Denied(KEY_REUSED)
        case "doubt":
            return Denied(in_doubt(f"an earlier call of {asked.tool.id} ended without an answer"))
        case _:
            return Busy()


def in_doubt(why: str) -> Failure:
    """Give the failure of a call of which nobody can tell whether it was carried out."""
    message = (
        f"{why}, so it may have been carried out. It is not repeated by itself: look on the other"
        " side what became of it"
    )
    return Failure("in_doubt", "internal", message, was_sent=False)


def _stopped(caller: Caller, row: DictRow | None) -> Stopped:
    if row is None:
        return Stopped("run_stopped", "there is no such run any more")
    if row["epoch"] != caller.epoch:
        return Stopped("lease_lost", "another worker has taken over this run")
    if row["status"] != "running":
        return Stopped("run_stopped", f"the run is {row['status']}, so it may not call tools")
    return Stopped("run_stopped", f"somebody asked the run to {row['requested']}")
