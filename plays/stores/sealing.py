"""Sealing a frame: keys settled, what earlier runs know taken over, rows moved to where readers look.

All of it is set-based and one transaction. The run's number is taken last, because moving a
hundred thousand rows takes seconds in which the run's row must not be locked: a person's cancel
writes there. Until the commit no reader sees a row, so the order of numbers still is the order of
commits. The moved rows themselves carry the sequence 0: who meets a newly sealed frame reads it
from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plays.models.grid import row_id
from plays.stores.fencing import Turn
from plays.stores.known import find_earlier_rows, take_over
from plays.stores.totals import settled_rows
from runtime.errors import HostFailed
from runtime.ports import FieldForm, Sealed

DUPLICATES_TOLD = 5
"""So many duplicate keys, and so many positions of each, are named to the author."""


@dataclass(frozen=True, slots=True)
class _Frame:
    id: int
    fields: list[FieldForm]
    is_explicit: bool
    is_sealed: bool
    total: int
    row_totals: dict[str, int]


async def seal(turn: Turn, frame: int) -> Sealed:
    """Seal a frame of the writer's run; what ``runtime.ports.Rows.seal`` promises."""
    found = await _find(turn, frame)
    if found.is_sealed:
        return _sealed(found.total, found.row_totals)
    told = {
        "run": turn.participant.run,
        "frame": frame,
        "first": row_id(frame, 0),
        "end": row_id(frame + 1, 0),
    }
    if found.is_explicit:
        duplicates = await _duplicates(turn, told)
        if duplicates["duplicates"]:
            return duplicates
    else:
        await turn.cursor.execute(_SETTLE_KEYS, told)
    total = await _move(turn, found, told)
    await turn.number({"rows": total})
    await turn.cursor.execute(_EMPTY, told)
    return _sealed(total, (await _find(turn, frame)).row_totals)


def _sealed(total: int, row_totals: dict[str, int]) -> Sealed:
    sealed: Sealed = {"total": total, "duplicate_keys": 0, "duplicates": []}
    if settled := settled_rows(row_totals):
        sealed["settled"] = settled
    return sealed


async def _find(turn: Turn, frame: int) -> _Frame:
    await turn.cursor.execute(_FIND, {"run": turn.participant.run, "frame": frame})
    found = await turn.cursor.fetchone()
    if found is None:
        raise HostFailed("this run has no such map")
    return _Frame(*found)


async def _duplicates(turn: Turn, told: dict[str, Any]) -> Sealed:
    await turn.cursor.execute(_DUPLICATES, {**told, "most": DUPLICATES_TOLD})
    found = await turn.cursor.fetchall()
    return {
        "total": 0,
        "duplicate_keys": found[0][0] if found else 0,
        "duplicates": [
            {"positions": [int(p) for p in positions], "input": first}
            for _, positions, first in found
        ],
    }


async def _move(turn: Turn, frame: _Frame, told: dict[str, Any]) -> int:
    """Insert the rows in their final form, with what is known of them; give their number."""
    await turn.cursor.execute(_COUNT, told)
    (total,) = await turn.cursor.fetchone() or (0,)
    earlier = await find_earlier_rows(turn, told, total)
    if earlier is None:
        await turn.cursor.execute(_MOVE, told)
        await turn.cursor.execute(_CLOSE, {**told, "total": total})
    else:
        await take_over(turn, {**told, "total": total}, earlier, frame.fields)
    return int(total)


_FIND = """
SELECT id, fields, explicit, is_sealed, total, row_totals FROM plays_mapframe
WHERE id = %(frame)s AND run_id = %(run)s
"""

_DUPLICATES = """
SELECT count(*) OVER (), positions, (SELECT input FROM plays_loadingrow AS l WHERE l.id = d.id)
FROM (
    SELECT min(id) AS id, (array_agg(id - %(first)s ORDER BY id))[1:%(most)s] AS positions
    FROM plays_loadingrow WHERE id >= %(first)s AND id < %(end)s
    GROUP BY row_key HAVING count(*) > 1
) AS d
ORDER BY d.id LIMIT %(most)s
"""

# Equal rows without an explicit key are told apart by a number, so that no row ever vanishes.
_SETTLE_KEYS = """
UPDATE plays_loadingrow AS l SET row_key = l.row_key || '#' || same.n
FROM (
    SELECT id, row_number() OVER (PARTITION BY row_key COLLATE "C" ORDER BY id) AS n
    FROM plays_loadingrow WHERE id >= %(first)s AND id < %(end)s
) AS same
WHERE same.id = l.id AND same.n > 1
"""

_COUNT = "SELECT count(*) FROM plays_loadingrow WHERE id >= %(first)s AND id < %(end)s"

_MOVE = """
INSERT INTO plays_rowstate (
    id, frame_id, position, row_key, input, data, cells, status, sequence
)
SELECT id, %(frame)s, id - %(first)s, row_key, input, '{}', '{}', 'pending', 0
FROM plays_loadingrow WHERE id >= %(first)s AND id < %(end)s
ORDER BY id
"""

_CLOSE = """
UPDATE plays_mapframe SET is_sealed = true, total = %(total)s, totals = '{}',
    row_totals = CASE %(total)s WHEN 0 THEN '{}' ELSE jsonb_build_object('pending', %(total)s) END
WHERE id = %(frame)s
"""

_EMPTY = "DELETE FROM plays_loadingrow WHERE id >= %(first)s AND id < %(end)s"
