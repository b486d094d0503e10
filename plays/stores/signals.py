"""The ``Signals`` port on PostgreSQL: the lease is renewed each second, and the answer is the signal.

There is no other channel for pause and cancel, so a request is heard within a second by whoever
runs the run, and a worker that cannot renew hears nothing and writes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from uuid import UUID

import psycopg

from plays.stores.connections import Connection, connection_parameters
from plays.stores.fencing import Participant
from runtime.events import Request

logger = logging.getLogger(__name__)

RENEWAL_SECONDS = 1.0


class PostgresSignals:
    """Keeps one participant's lease while :meth:`keep` runs, and tells what is asked of the run.

    It has a connection of its own, so that no long write delays a renewal.
    """

    def __init__(self, participant: Participant, root: UUID, *, lease_seconds: float) -> None:
        self._participant = participant
        self._root = root
        self._lease_seconds = lease_seconds
        self._asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._events: dict[str, asyncio.Future[None]] = {}
        self._frames: dict[int, asyncio.Future[None]] = {}

    async def requested(self) -> str:
        """Wait until something is asked of the run: pause, cancel, or lease_lost."""
        return await asyncio.shield(self._asked)

    def ask_to_pause(self) -> None:
        """Let the engine stop at the next opportunity, as if a person had paused the run."""
        if not self._asked.done():
            self._asked.set_result(Request.PAUSE)

    async def event(self, name: str) -> None:
        """Wait until the boundary of this name is no longer open."""
        waiting = self._events.setdefault(name, asyncio.get_running_loop().create_future())
        await asyncio.shield(waiting)

    async def woken(self, frame: int) -> None:
        """Wait until a waiting row of this frame of the run may run again."""
        waiting = self._frames.setdefault(frame, asyncio.get_running_loop().create_future())
        await asyncio.shield(waiting)

    async def keep(self) -> None:
        """Renew the lease until it is lost or this is cancelled; while the server is away, try on."""
        while True:
            try:
                await self._keep_connected()
                return
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                logger.warning("cannot renew the lease of run %s: %s", self._participant.run, error)
                await asyncio.sleep(RENEWAL_SECONDS)

    async def _keep_connected(self) -> None:
        opening = Connection.connect(**connection_parameters(), autocommit=True)
        async with await opening as connection:
            while await self._renew(connection):
                if self._events:
                    await self._look(connection, _CHANGED, self._root, self._events)
                if self._frames:
                    await self._look(connection, _WOKEN, self._participant.run, self._frames)
                await asyncio.sleep(RENEWAL_SECONDS)

    async def _renew(self, connection: Connection) -> bool:
        """Renew the lease, pass on what is requested, and tell whether the lease is still held."""
        told = {
            "run": self._participant.run,
            "epoch": self._participant.epoch,
            "seconds": self._lease_seconds,
        }
        found = await (await connection.execute(_RENEW, told)).fetchone()
        asked = found[0] if found else Request.LEASE_LOST
        if asked != Request.NONE and not self._asked.done():
            self._asked.set_result(asked)
        return found is not None

    async def _look(
        self,
        connection: Connection,
        query: str,
        run: UUID,
        waiting: dict[Any, asyncio.Future[None]],
    ) -> None:
        """Let those go on whose boundary or frame the query finds."""
        told = {"run": run, "wanted": list(waiting)}
        for (found,) in await (await connection.execute(query, told)).fetchall():
            future = waiting.pop(found)
            if not future.done():
                future.set_result(None)


# An expired lease is renewed too, as long as nobody has taken the run: the epoch decides, and the
# claim of another worker changes it.
_RENEW = """
UPDATE plays_runparticipant AS p SET lease_until = clock_timestamp() + make_interval(secs =>
%(seconds)s) FROM plays_run AS r WHERE p.run_id = %(run)s AND p.role = 'engine' AND p.epoch =
%(epoch)s AND r.id = p.run_id RETURNING CASE r.status WHEN 'running' THEN r.requested WHEN
'cancelled' THEN 'cancel' ELSE 'pause' END
"""

_CHANGED = """
SELECT name FROM plays_boundary
WHERE run_id = %(run)s AND name = ANY(%(wanted)s::text[])
    AND (status <> 'open' OR due_at <= now())
"""

_WOKEN = """
SELECT f.id FROM plays_mapframe AS f
WHERE f.run_id = %(run)s AND f.id = ANY(%(wanted)s::bigint[]) AND EXISTS (
    SELECT 1 FROM plays_rowstate AS r
    WHERE r.frame_id = f.id AND r.status = 'waiting' AND r.wake_at <= clock_timestamp()
)
"""
