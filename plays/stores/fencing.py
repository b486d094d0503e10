"""Who may write for a run, and the order of what is written.

Each write of an engine is one transaction in which it takes the run's next number. Taking it locks
the run's row, so the order of numbers is the order of commits, and it succeeds only for the
participant whose epoch is current and whose lease lives: an engine that lost its lease cannot
write at all.

The condition on the lease is read before the row lock is had, so a takeover may commit in between.
A claim takes over only leases that have run out, by the same clock that the condition compares
with, so the older reading refuses as well. A person may take the run from a living lease, and
changes the run's status with it, which is read again once the lock is had.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow

from plays.stores.connections import Cursor, Pool, json_text
from runtime.errors import HostFailed

Result = TypeVar("Result")

ENGINE = "engine"
RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Participant:
    """The right to write for a run: it holds while ``epoch`` is the current one."""

    run: UUID
    epoch: int


class LeaseLost(HostFailed):
    """Another participant has the run, or may have it: nothing was written."""


class Again(Exception):
    """The work was not committed and may be done again: the server, or the lease's renewal, is late."""


class Turn:
    """One transaction of a writer. ``sequence`` is 0 until :meth:`number` has been called."""

    cursor: Cursor

    def __init__(self, participant: Participant) -> None:
        self.participant = participant
        self.sequence = 0
        self.mark = secrets.randbits(63)

    async def number(self, counters: Mapping[str, int] | None = None) -> int:
        """Take the run's next number and add ``counters``. Raises LeaseLost, or Again.

        To be called before anything is changed that readers of the sequence see.
        """
        told = {
            "run": self.participant.run,
            "epoch": self.participant.epoch,
            "counters": json_text(counters or {}),
            "mark": self.mark,
        }
        await self.cursor.execute(_NUMBER_COUNTING if counters else _NUMBER, told)
        taken = await self.cursor.fetchone()
        if taken is None:
            await self._refuse(told)
            raise Again
        (self.sequence,) = taken
        return self.sequence

    async def count(self, counters: Mapping[str, int]) -> None:
        """Add to the run's counters, after :meth:`number`."""
        told = {"run": self.participant.run, "counters": json_text(counters)}
        await self.cursor.execute(_COUNT, told)

    async def _refuse(self, told: Mapping[str, object]) -> None:
        """Raise LeaseLost, unless the lease has only run out and the run is still this one's."""
        await self.cursor.execute(_IS_CURRENT, told)
        if await self.cursor.fetchone() is None:
            raise LeaseLost("the lease of this run is lost: another worker has taken it over")


class RunWriter:
    """Makes the writes of one participant. ``hint`` is told each committed sequence."""

    def __init__(
        self, pool: Pool, participant: Participant, hint: Callable[[int], None] = lambda _: None
    ) -> None:
        self.pool = pool
        self.participant = participant
        self._hint = hint

    async def write(self, work: Callable[[Turn], Awaitable[Result]]) -> Result:
        """Do ``work`` in one transaction; its result is given once that is committed.

        While the server is away, or the lease's renewal is late, the work waits and is done again.
        A commit whose answer was lost is looked up, so no work is ever done twice. Raises
        LeaseLost, and HostFailed for what PostgreSQL refuses.
        """
        while True:
            turn = Turn(self.participant)
            try:
                result = await self._attempt(turn, work)
            except Again:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if turn.sequence:
                self._hint(turn.sequence)
            return result

    async def now(self) -> float:
        """Give the time by the database's clock, in seconds since 1970 UTC."""
        ((moment,),) = await self.read(_NOW, {})
        return float(moment)

    async def read(self, query: str, told: Mapping[str, Any]) -> list[TupleRow]:
        """Give the rows of a query; it waits while the server is away."""
        while True:
            try:
                async with self.pool.connection() as connection:
                    return await (await connection.execute(query, told)).fetchall()
            except (psycopg.OperationalError, psycopg.InterfaceError):
                await asyncio.sleep(RETRY_SECONDS)
            except psycopg.Error as error:
                raise HostFailed(_refusal(error, "read")) from error

    async def _attempt(self, turn: Turn, work: Callable[[Turn], Awaitable[Result]]) -> Result:
        done: list[Result] = []
        try:
            async with (
                self.pool.connection() as connection,
                connection.transaction(),
                connection.cursor() as turn.cursor,
            ):
                done.append(await work(turn))
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if not (turn.sequence and await self._was_committed(turn)):
                raise Again from error
        except psycopg.Error as error:
            raise HostFailed(_refusal(error, "write")) from error
        return done[0]

    async def _was_committed(self, turn: Turn) -> bool:
        """Look for a transaction's mark, for as long as the server gives no answer.

        Its number would not do, nor PostgreSQL's: after a crash others get the same ones.
        """
        told = {"run": self.participant.run, "mark": turn.mark}
        while True:
            with contextlib.suppress(psycopg.OperationalError, psycopg.InterfaceError):
                async with self.pool.connection() as connection:
                    found = await (await connection.execute(_IS_MARKED, told)).fetchone()
                return bool(found and found[0])
            await asyncio.sleep(RETRY_SECONDS)


def _refusal(error: psycopg.Error, what: str) -> str:
    # The primary message only: details and contexts quote values.
    return f"the database refused a {what}: {error.diag.message_primary}"


_ADDED = """
    counters || coalesce((
        SELECT jsonb_object_agg(d.key, coalesce((counters ->> d.key)::numeric, 0) +
        d.value::numeric) FROM jsonb_each_text(%(counters)s::jsonb) AS d
    ), '{}')"""

_FENCE = """
    WHERE id = %(run)s AND status = 'running' AND EXISTS (
        SELECT 1 FROM plays_runparticipant AS p
        WHERE p.run_id = %(run)s AND p.role = 'engine' AND p.epoch = %(epoch)s
            AND p.lease_until > clock_timestamp()
    )
    RETURNING sequence"""

# More marks than commits that can be made while one is looked up.
_TAKEN = "sequence = sequence + 1, writes = (%(mark)s::bigint || writes)[1:100]"

# S608 below: the statements are put together from the constants above.
_NUMBER = f"UPDATE plays_run SET {_TAKEN} {_FENCE}"  # noqa: S608

_NUMBER_COUNTING = f"""
UPDATE plays_run SET {_TAKEN}, counters = {_ADDED} {_FENCE}
"""  # noqa: S608

_COUNT = f"UPDATE plays_run SET counters = {_ADDED} WHERE id = %(run)s"  # noqa: S608

_IS_CURRENT = """
    SELECT 1 FROM plays_runparticipant AS p JOIN plays_run AS r ON r.id = p.run_id
    WHERE p.run_id = %(run)s AND p.role = 'engine' AND p.epoch = %(epoch)s
        AND r.status = 'running'"""

_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"

# The lock is waited for: the transaction that is looked for may not be over yet.
_IS_MARKED = "SELECT %(mark)s = ANY(writes) FROM plays_run WHERE id = %(run)s FOR UPDATE"
