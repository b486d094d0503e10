"""The ``Receipts`` port on PostgreSQL: top-level work that happens once, and waits.

Receipts and boundaries belong to the root run, because their names are unique in its whole tree.
Deadlines are absolute on the database's clock and never move.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from plays.schemacheck import form_or_none, schema_problems, with_order
from plays.stores.connections import json_text
from plays.stores.fencing import RunWriter, Turn
from runtime.childlimits import ChildCounts, refusal
from runtime.errors import HostFailed
from runtime.ports import Boundary, BoundaryState, ChildCall, ReceiptState
from runtime.values import sanitise

Json = Any


_NOTHING: tuple[Any, ...] = (0, 0, 0, {}, 0)


class _UsedUp(Exception):
    """A limit on child plays forbids another one; ``str()`` is the sentence for a person."""


class PostgresReceipts:
    """Top-level work and waits of one run, for one participant; ``root`` is the tree's first run."""

    def __init__(self, writer: RunWriter, root: UUID) -> None:
        self._writer = writer
        self._root = root

    async def claim(
        self, name: str, input_digest: str, child: ChildCall | None = None
    ) -> ReceiptState:
        told = self._told(name) | {"digest": input_digest}

        async def write(turn: Turn) -> ReceiptState:
            await turn.number()
            await turn.cursor.execute(_CLAIM, told)
            if claimed := await turn.cursor.fetchone():
                if child is not None and claimed[0]:
                    await self._reserve(turn, child)
                return {"state": "claimed", "output": None, "error": ""}
            await turn.cursor.execute(_FIND, told)
            return _answer(name, input_digest, await turn.cursor.fetchone())

        try:
            return await self._writer.write(write)
        except _UsedUp as error:
            return {"state": "limit", "output": None, "error": str(error)}

    async def _reserve(self, turn: Turn, child: ChildCall) -> None:
        """Count a child play. Raises _UsedUp, with which the claim is undone too."""
        told = {"run": self._root, "parent": sanitise(child["parent"])[0]}
        await turn.cursor.execute(_CHILDREN, told)
        calls, descendants, of_parent, limits, rows = await turn.cursor.fetchone() or _NOTHING
        counts = ChildCounts(calls, of_parent, descendants)
        if sentence := refusal(counts, limits, rows=rows, play=child["play"]):
            raise _UsedUp(sentence)
        await turn.cursor.execute(_COUNT_CHILD, told)
        await turn.cursor.execute(_COUNT_OF_PARENT, told)

    async def complete(self, name: str, output: Json) -> None:
        await self._finish(_COMPLETE, self._told(name) | {"output": json_text(output)})

    async def fail(self, name: str, error: dict[str, Json]) -> None:
        await self._finish(_FAIL, self._told(name) | {"error": json_text(error)})

    async def wait(self, boundary: Boundary) -> BoundaryState:
        told = self._told(boundary["name"]) | sanitise(dict(boundary))[0]
        told["form"] = json_text(with_order(boundary["form"]))

        async def write(turn: Turn) -> BoundaryState:
            await turn.number()
            await turn.cursor.execute(_REGISTER, told)
            if turn.cursor.rowcount and boundary["event"] is not None:
                await _take_early(turn, told, boundary["form"])
            await turn.cursor.execute(_BOUNDARY, told)
            found = await turn.cursor.fetchone()
            assert found is not None
            status, due_at, payload = found
            if status == "timed_out":
                await turn.cursor.execute(_TIME_OUT, told)
            return {"status": status, "due_at": due_at, "payload": payload}

        return await self._writer.write(write)

    async def _finish(self, statement: str, told: dict[str, Any]) -> None:
        async def write(turn: Turn) -> None:
            await turn.number()
            await turn.cursor.execute(statement, told)
            if turn.cursor.rowcount != 1:
                raise HostFailed("only work that this run has claimed can be finished")

        await self._writer.write(write)

    def _told(self, name: str) -> dict[str, Any]:
        return {
            "run": self._root,
            "own": self._writer.participant.run,
            "name": sanitise(name)[0],
            "epoch": self._writer.participant.epoch,
        }


async def _take_early(turn: Turn, told: dict[str, Any], form: Json) -> None:
    """Answer a new wait with the oldest event that came before it and fits its form.

    What does not fit is kept as a late answer, so that a person can see it.
    """
    while True:
        await turn.cursor.execute(_OLDEST_EARLY, told)
        found = await turn.cursor.fetchone()
        if found is None:
            return
        early, payload = found
        does_fit = not schema_problems(form_or_none(form), payload)
        statement = _RECEIVE_EARLY if does_fit else _REFUSE_EARLY
        await turn.cursor.execute(statement, told | {"early": early, "why": _UNFIT})
        if does_fit:
            return


def _answer(name: str, digest: str, found: tuple[Any, ...] | None) -> ReceiptState:
    assert found is not None
    status, done_with, output = found
    if status != "completed":
        return _refused(f"{name} is running already: give each of two calls at once its own name")
    if done_with != digest:
        return _refused(f"{name} was done before with another input: give the call another name")
    return {"state": "completed", "output": output, "error": ""}


def _refused(error: str) -> ReceiptState:
    return {"state": "refused", "output": None, "error": error}


_CLAIM = """
INSERT INTO plays_receipt AS r (run_id, name, input_digest, status, epoch, claimed_at)
VALUES (%(run)s, %(name)s, %(digest)s, 'claimed', %(epoch)s, now())
ON CONFLICT (run_id, name) DO UPDATE SET
    input_digest = excluded.input_digest, status = 'claimed', epoch = excluded.epoch,
    error = NULL, claimed_at = now(), finished_at = NULL
WHERE r.status = 'failed' OR (r.status = 'claimed' AND r.epoch <> excluded.epoch)
RETURNING xmax = 0 AS is_new
"""

_CHILDREN = """
SELECT u.play_calls, u.descendants, coalesce(c.play_calls, 0), r.limits,
    coalesce((r.counters ->> 'rows')::bigint, 0)
FROM plays_runusage AS u JOIN plays_run AS r ON r.id = u.run_id
LEFT JOIN plays_childusage AS c ON c.run_id = u.run_id AND c.parent = %(parent)s
WHERE u.run_id = %(run)s FOR UPDATE OF u
"""

_COUNT_CHILD = """
UPDATE plays_runusage SET play_calls = play_calls + 1, descendants = descendants + 1
WHERE run_id = %(run)s
"""

_COUNT_OF_PARENT = """
INSERT INTO plays_childusage AS c (run_id, parent, play_calls) VALUES (%(run)s, %(parent)s, 1)
ON CONFLICT (run_id, parent) DO UPDATE SET play_calls = c.play_calls + 1
"""

_FIND = """
SELECT status, input_digest, output FROM plays_receipt WHERE run_id = %(run)s AND name = %(name)s
"""

_COMPLETE = """
UPDATE plays_receipt SET status = 'completed', output = %(output)s, finished_at = now()
WHERE run_id = %(run)s AND name = %(name)s AND status = 'claimed' AND epoch = %(epoch)s
"""

_FAIL = """
UPDATE plays_receipt SET status = 'failed', error = %(error)s, finished_at = now()
WHERE run_id = %(run)s AND name = %(name)s AND status = 'claimed' AND epoch = %(epoch)s
"""

_REGISTER = """
INSERT INTO plays_boundary (
    run_id, name, event, frame_id, position, due_at, status, message, form, created_at
)
SELECT %(run)s, %(name)s, %(event)s, (
        SELECT id FROM plays_mapframe WHERE id = %(frame)s AND run_id = %(own)s
    ), %(position)s, now() + make_interval(secs => %(seconds)s), 'open', %(message)s, %(form)s,
    now()
ON CONFLICT (run_id, name) DO NOTHING
"""

_UNFIT = "It came before the wait for it, and does not fit the form of that wait."

_OLDEST_EARLY = """
SELECT id, payload FROM plays_earlyanswer WHERE run_id = %(run)s AND event = %(event)s
ORDER BY id LIMIT 1
"""

_RECEIVE_EARLY = """
WITH early AS (DELETE FROM plays_earlyanswer WHERE id = %(early)s RETURNING payload, at, by_id)
UPDATE plays_boundary SET status = 'received', payload = early.payload, answered_at = early.at,
    answered_by_id = early.by_id
FROM early WHERE run_id = %(run)s AND name = %(name)s
"""

_REFUSE_EARLY = """
WITH early AS (DELETE FROM plays_earlyanswer WHERE id = %(early)s RETURNING payload, at, by_id)
INSERT INTO plays_lateanswer (run_id, boundary_id, event, payload, why, at, by_id)
SELECT %(run)s, b.id, %(event)s, early.payload, %(why)s, early.at, early.by_id
FROM early, plays_boundary AS b WHERE b.run_id = %(run)s AND b.name = %(name)s
"""

# A play that was told that its wait is over is never told otherwise.
_TIME_OUT = """
UPDATE plays_boundary SET status = 'timed_out'
WHERE run_id = %(run)s AND name = %(name)s AND status = 'open'
"""

_BOUNDARY = """
SELECT CASE
        WHEN status <> 'open' THEN status
        WHEN due_at > now() THEN 'open'
        WHEN event IS NULL THEN 'due'
        ELSE 'timed_out'
    END, extract(epoch FROM due_at)::float8, payload
FROM plays_boundary WHERE run_id = %(run)s AND name = %(name)s
"""
