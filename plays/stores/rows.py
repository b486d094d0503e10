"""The ``Rows`` port on PostgreSQL.

Pages are copied into ``LoadingRow``, which no reader of the grid looks at; sealing moves them to
``RowState`` in one statement (``sealing``). Every statement names the frame's run, so a play
process that asks for another run's frame finds nothing.
"""

from __future__ import annotations

from typing import Any

from plays.models.grid import row_id
from plays.stores.connections import JsonText, json_text
from plays.stores.fencing import RunWriter, Turn
from plays.stores.sealing import seal
from plays.stores.totals import ROW_TOTALS_PLUS, settled_rows
from runtime.errors import HostFailed
from runtime.ports import (
    ClaimedRow,
    FailedRows,
    FrameForm,
    NewRow,
    OpenFrame,
    Sealed,
    StoredRow,
    WaitingRows,
)
from runtime.values import sanitise

Json = Any


class PostgresRows:
    """Rows of one run, for one participant."""

    def __init__(self, writer: RunWriter) -> None:
        self._writer = writer
        self._run = writer.participant.run

    async def open_map(self, frame: FrameForm) -> OpenFrame:
        async def write(turn: Turn) -> OpenFrame:
            await turn.number()
            await turn.cursor.execute(_OPEN, {**_frame_columns(frame), "run": self._run})
            await turn.cursor.execute(_FIND, {"run": self._run, "path": frame["path"]})
            found, is_sealed, total, row_totals = await turn.cursor.fetchone() or (0, False, 0, {})
            if not is_sealed:
                await turn.cursor.execute(_EMPTY, _ids(found))
            opened: OpenFrame = {"frame": found, "sealed": is_sealed, "total": total}
            if is_sealed and (settled := settled_rows(row_totals)):
                opened["settled"] = settled
            return opened

        return await self._writer.write(write)

    async def add_page(self, frame: int, rows: list[NewRow]) -> None:
        text = JsonText()
        page = "".join(_copy_line(frame, row, text) for row in rows).encode()

        async def write(turn: Turn) -> None:
            await turn.number({"replaced": text.replaced} if text.replaced else None)
            await turn.cursor.execute(_UNSEALED, {"run": self._run, "frame": frame})
            if await turn.cursor.fetchone() is None:
                raise HostFailed("rows can be added only to an unsealed map of this run")
            async with turn.cursor.copy(_COPY) as copy:
                await copy.write(page)

        await self._writer.write(write)

    async def seal(self, frame: int) -> Sealed:
        return await self._writer.write(lambda turn: seal(turn, frame))

    async def claim(self, frame: int, n: int) -> list[ClaimedRow]:
        told: dict[str, Any] = {"frame": frame, "run": self._run, "n": n}

        async def write(turn: Turn) -> list[ClaimedRow]:
            told["sequence"] = await turn.number()
            await turn.cursor.execute(_CLAIM, told)
            return [_claimed(row) for row in await turn.cursor.fetchall()]

        return await self._writer.write(write)

    async def waiting(self, frame: int) -> WaitingRows | None:
        ((rows, wake_at),) = await self._writer.read(_WAITING, {"frame": frame, "run": self._run})
        return {"rows": rows, "wake_at": wake_at} if rows else None

    async def failed(self, frame: int) -> FailedRows | None:
        found = await self._writer.read(_FAILED, {**_ids(frame), "run": self._run})
        if not found:
            return None
        ((rows, position, field, error),) = found
        return {"rows": rows, "position": position, "field": field, "error": error}

    async def read_page(self, frame: int, after: int, n: int) -> list[StoredRow]:
        told = {**_ids(frame), "run": self._run, "n": n, "first": row_id(frame, after + 1)}
        return [_stored(row) for row in await self._writer.read(_READ, told)]


def _ids(frame: int) -> dict[str, Any]:
    """Give the ids that rows of this frame may have: from ``first`` to before ``end``."""
    return {"frame": frame, "first": row_id(frame, 0), "end": row_id(frame + 1, 0)}


def _frame_columns(frame: FrameForm) -> dict[str, Any]:
    told: dict[str, Any] = sanitise(dict(frame))[0]
    return told | {name: json_text(told[name]) for name in ("columns", "fields", "key")}


def _copy_line(frame: int, row: NewRow, text: JsonText) -> str:
    """Give a row in COPY's text format, which ends cells at tabs and rows at line ends."""
    key = sanitise(row["key"])[0].translate(_ESCAPES)
    held = text(row["input"]).translate(_ESCAPES)
    return f"{row_id(frame, row['position'])}\t{key}\t{held}\n"


def _claimed(row: tuple[Any, ...]) -> ClaimedRow:
    position, key, loaded, values, cells, entries, woken = row
    claimed: ClaimedRow = {
        "position": position,
        "key": key,
        "input": loaded,
        "values": values,
        "cells": cells,
        "entries": entries or {},
    }
    if woken:
        claimed["woken"] = True
    return claimed


def _stored(row: tuple[Any, ...]) -> StoredRow:
    position, key, status, loaded, values = row
    return {"position": position, "key": key, "status": status, "input": loaded, "values": values}


_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})

_OPEN = """
INSERT INTO plays_mapframe (
    run_id, path, "table", title, description, columns, fields, key, explicit,
    is_sealed, total, totals, row_totals, created_at
) VALUES (
    %(run)s, %(path)s, %(table)s, %(title)s, %(description)s, %(columns)s, %(fields)s, %(key)s,
    %(explicit)s, false, 0, '{}', '{}', now()
)
ON CONFLICT (run_id, path) DO UPDATE SET
    "table" = excluded."table", title = excluded.title, description = excluded.description,
    columns = excluded.columns, fields = excluded.fields, key = excluded.key,
    explicit = excluded.explicit
WHERE NOT plays_mapframe.is_sealed
"""

_FIND = """
SELECT id, is_sealed, total, row_totals FROM plays_mapframe
WHERE run_id = %(run)s AND path = %(path)s
"""

_EMPTY = "DELETE FROM plays_loadingrow WHERE id >= %(first)s AND id < %(end)s"

_UNSEALED = """
SELECT 1 FROM plays_mapframe WHERE id = %(frame)s AND run_id = %(run)s AND NOT is_sealed
"""

_COPY = "COPY plays_loadingrow (id, row_key, input) FROM STDIN"

_CLAIM = f"""
WITH pending AS MATERIALIZED (
    SELECT r.id FROM plays_rowstate AS r
    WHERE r.frame_id = %(frame)s AND r.status = 'pending'
        AND EXISTS (SELECT 1 FROM plays_mapframe WHERE id = %(frame)s AND run_id = %(run)s)
    ORDER BY r.position LIMIT %(n)s FOR UPDATE SKIP LOCKED
), woken AS MATERIALIZED (
    SELECT r.id FROM plays_rowstate AS r
    WHERE r.frame_id = %(frame)s AND r.status = 'waiting' AND r.wake_at <= clock_timestamp()
        AND EXISTS (SELECT 1 FROM plays_mapframe WHERE id = %(frame)s AND run_id = %(run)s)
    ORDER BY r.wake_at LIMIT %(n)s - (SELECT count(*) FROM pending) FOR UPDATE SKIP LOCKED
), chosen AS (
    SELECT id, 'pending' AS status FROM pending UNION ALL SELECT id, 'waiting' FROM woken
), claimed AS (
    UPDATE plays_rowstate AS r SET status = 'running', sequence = %(sequence)s, wake_at = NULL
    FROM chosen WHERE r.id = chosen.id
    RETURNING r.position, r.row_key, r.input, r.data, r.cells, chosen.status AS old_status
), row_delta AS (
    SELECT %(frame)s::bigint AS frame, s.status, sum(s.n) AS n
    FROM claimed AS c, LATERAL (VALUES (c.old_status, -1), ('running', 1)) AS s (status, n)
    GROUP BY s.status
), counted AS (
    UPDATE plays_mapframe AS m SET row_totals = {ROW_TOTALS_PLUS}
    WHERE m.id IN (SELECT frame FROM row_delta)
)
SELECT c.position, c.row_key, c.input, c.data, c.cells, e.entries, c.old_status = 'waiting'
FROM claimed AS c LEFT JOIN LATERAL (
    SELECT jsonb_object_agg(e.name, e.value) AS entries FROM plays_checkpointentry AS e
    WHERE e.run_id = %(run)s AND e.frame_id = %(frame)s AND e.position = c.position
) AS e ON true
ORDER BY c.old_status = 'waiting', c.position
"""  # noqa: S608  # put together from constants

_WAITING = """
SELECT count(*), extract(epoch FROM min(r.wake_at))::float8 FROM plays_rowstate AS r
WHERE r.frame_id = %(frame)s AND r.status = 'waiting'
    AND EXISTS (SELECT 1 FROM plays_mapframe WHERE id = %(frame)s AND run_id = %(run)s)
"""

_FAILED = """
SELECT (m.row_totals ->> 'failed')::bigint, r.position, c.key, c.value -> 'error'
FROM plays_mapframe AS m
JOIN LATERAL (
    SELECT position, cells FROM plays_rowstate
    WHERE id >= %(first)s AND id < %(end)s AND status = 'failed' ORDER BY id LIMIT 1
) AS r ON true
JOIN LATERAL jsonb_each(r.cells) AS c ON c.value ->> 'status' = 'failed'
    AND NOT c.value ? 'part_of'
WHERE m.id = %(frame)s AND m.run_id = %(run)s AND m.row_totals ? 'failed' LIMIT 1
"""

_READ = """
SELECT r.position, r.row_key, r.status, r.input, r.data FROM plays_rowstate AS r
WHERE r.id >= %(first)s AND r.id < %(end)s
    AND EXISTS (SELECT 1 FROM plays_mapframe WHERE id = %(frame)s AND run_id = %(run)s)
ORDER BY r.id LIMIT %(n)s
"""
