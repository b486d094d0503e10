"""The ``Records`` port on PostgreSQL: a group of results as one transaction.

One statement patches all rows of the group and keeps the frames' counts; nothing is written per
row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from plays.models.grid import row_id
from plays.stores.connections import JsonText
from plays.stores.fencing import RunWriter, Turn
from plays.stores.totals import ROW_TOTALS_PLUS, TOTALS_PLUS
from runtime.events import RowStatus
from runtime.ports import Group, RowChange
from runtime.tracesteps import PREVIEW_RESULTS

Json = Any

Part = tuple[int, str, str]
"""A frame, a field of it, and the column of one step of that field's waterfall."""

LONGEST_LOG = 10_000
"""Log lines that are kept of a run; the oldest go first."""

LARGEST_TRACE = 1_000
"""Steps that are kept of a run's trace; the newest are left out."""


class PostgresRecords:
    """What is recorded of one run, by one participant."""

    def __init__(self, writer: RunWriter) -> None:
        self._writer = writer
        self._parts: set[Part] = set()

    async def commit(self, group: Group) -> int:
        """Write the group as one transaction; raises LeaseLost where it may not be written."""
        changes = merged(group["rows"])
        parts = _parts(changes.values()) - self._parts

        async def write(turn: Turn) -> int:
            sequence = await turn.number(group["counters"])
            text = JsonText()
            await _patch_rows(turn, changes, text)
            await _store_entries(turn, group, text)
            await _drop_entries(turn, changes)
            await _append_logs(turn, group, text)
            await _trace(turn, group, text)
            await _add_parts(turn, parts)
            if text.replaced:
                await turn.count({"replaced": text.replaced})
            return sequence

        sequence = await self._writer.write(write)
        self._parts |= parts
        return sequence


def merged(changes: Iterable[RowChange]) -> dict[int, RowChange]:
    """Give one change per row, by row id; later ones win."""
    by_row: dict[int, RowChange] = {}
    for change in changes:
        key = row_id(change["frame"], change["position"])
        first = by_row.get(key)
        by_row[key] = change if first is None else _joined(first, change)
    return by_row


def _joined(first: RowChange, then: RowChange) -> RowChange:
    return {
        **then,
        "status": then["status"] if then["status"] is not None else first["status"],
        "values": {**first["values"], **then["values"]},
        "cells": {**first["cells"], **then["cells"]},
    }


def _parts(changes: Iterable[RowChange]) -> set[Part]:
    return {
        (change["frame"], cell["part_of"], name)
        for change in changes
        for name, cell in change["cells"].items()
        if "part_of" in cell
    }


async def _patch_rows(turn: Turn, changes: dict[int, RowChange], text: JsonText) -> None:
    if not changes:
        return
    told = patch_json(turn.sequence, changes.items())
    await turn.cursor.execute(
        PATCH,
        {"run": turn.participant.run, "sequence": turn.sequence, "changes": text(told)},
    )


def patch_json(sequence: int, changes: Iterable[tuple[int, RowChange]]) -> list[dict[str, Json]]:
    """Give changes by row id as ``PATCH`` reads them, their cells under this sequence."""
    return [
        {
            "id": row,
            "status": change["status"],
            "wake_at": change.get("wake_at"),
            "data": change["values"],
            "cells": {
                name: {**cell, "sequence": sequence} for name, cell in change["cells"].items()
            },
        }
        for row, change in changes
    ]


async def _store_entries(turn: Turn, group: Group, text: JsonText) -> None:
    entries = {entry["name"]: entry for entry in group["entries"]}
    if not entries:
        return
    told = {"run": turn.participant.run, "entries": text(list(entries.values()))}
    await turn.cursor.execute(_UPSERT_ENTRIES, told)


async def _drop_entries(turn: Turn, changes: dict[int, RowChange]) -> None:
    """Remove the entries of completed rows: their cells hold what came of them."""
    done = [change for change in changes.values() if change["status"] == RowStatus.COMPLETED]
    if not done:
        return
    told = {
        "run": turn.participant.run,
        "frames": [change["frame"] for change in done],
        "positions": [change["position"] for change in done],
    }
    await turn.cursor.execute(_DELETE_ENTRIES, told)


async def _add_parts(turn: Turn, parts: set[Part]) -> None:
    """Note the columns of waterfalls' steps that were not seen before."""
    for frame, field, part in sorted(parts):
        told = {"run": turn.participant.run, "frame": frame, "field": field, "part": part}
        await turn.cursor.execute(_ADD_PART, told)


async def _append_logs(turn: Turn, group: Group, text: JsonText) -> None:
    """Add log lines, and drop what is beyond the longest log."""
    lines = group["logs"][-LONGEST_LOG:]
    if not lines:
        return
    told = {"run": turn.participant.run, "sequence": turn.sequence, "most": LONGEST_LOG}
    await turn.cursor.execute(_APPEND_LOGS, {**told, "lines": text(lines)})
    await turn.cursor.execute(_TRIM_LOGS, told)


async def _trace(turn: Turn, group: Group, text: JsonText) -> None:
    """Make the steps of the trace that are new, and add to those that are there."""
    steps = {step["key"]: step for step in group["trace"][:LARGEST_TRACE]}
    if not steps:
        return
    told = {"run": turn.participant.run, "sequence": turn.sequence}
    found = {"steps": text(list(steps.values())), "kept": PREVIEW_RESULTS}
    await turn.cursor.execute(_UPSERT_TRACE, {**told, **found})
    await turn.cursor.execute(_TRIM_TRACE, {**told, "most": LARGEST_TRACE})


# One document and not arrays of texts: psycopg escapes every text of an array by itself.
PATCH = f"""
WITH change AS MATERIALIZED (
    SELECT c.id, c.status, c.wake_at, c.data, c.cells
    FROM jsonb_to_recordset(%(changes)s::jsonb)
        AS c (id bigint, status text, wake_at float8, data jsonb, cells jsonb)
    JOIN plays_mapframe AS f ON f.id = c.id >> 32 AND f.run_id = %(run)s
), met AS MATERIALIZED (
    SELECT r.id >> 32 AS frame, r.status AS old_status, r.cells AS old_cells, change.status,
        change.cells
    FROM change JOIN plays_rowstate AS r ON r.id = change.id
), patched AS (
    UPDATE plays_rowstate AS r
    SET data = r.data || change.data,
        cells = r.cells || change.cells,
        status = coalesce(change.status, r.status),
        -- An answer that came while the row was on its way here has set an earlier moment.
        wake_at = CASE WHEN change.status = 'waiting'
            THEN least(r.wake_at, to_timestamp(change.wake_at)) ELSE r.wake_at END,
        sequence = %(sequence)s
    FROM change WHERE r.id = change.id
), cell_delta AS MATERIALIZED (
    SELECT met.frame, f.key AS field, s.status, sum(s.n) AS n
    FROM met, jsonb_each(met.cells) AS f, LATERAL (
        VALUES (met.old_cells -> f.key ->> 'status', -1), (f.value ->> 'status', 1)
    ) AS s (status, n)
    WHERE s.status IS NOT NULL GROUP BY met.frame, f.key, s.status HAVING sum(s.n) <> 0
), row_delta AS MATERIALIZED (
    SELECT met.frame, s.status, sum(s.n) AS n
    FROM met, LATERAL (VALUES (met.old_status, -1), (met.status, 1)) AS s (status, n)
    WHERE met.status IS NOT NULL GROUP BY met.frame, s.status HAVING sum(s.n) <> 0
)
UPDATE plays_mapframe AS m
SET totals = {TOTALS_PLUS}, row_totals = {ROW_TOTALS_PLUS}
WHERE m.id IN (SELECT frame FROM cell_delta UNION SELECT frame FROM row_delta)
"""  # noqa: S608  # put together from constants

_ADD_PART = """
UPDATE plays_mapframe SET fields = (
    SELECT jsonb_agg(
        CASE WHEN f.value ->> 'name' = %(field)s AND NOT f.value -> 'parts' ? %(part)s
            THEN jsonb_set(f.value, '{parts}', (f.value -> 'parts') || to_jsonb(%(part)s::text))
            ELSE f.value
        END ORDER BY f.place
    ) FROM jsonb_array_elements(fields) WITH ORDINALITY AS f (value, place)
)
WHERE id = %(frame)s AND run_id = %(run)s AND fields <> '[]'
"""

_UPSERT_ENTRIES = """
INSERT INTO plays_checkpointentry (run_id, name, frame_id, position, value)
SELECT %(run)s, e.name, e.frame, e.position, e.value
FROM jsonb_to_recordset(%(entries)s::jsonb)
    AS e (name text, frame bigint, position int, value jsonb)
WHERE e.frame IS NULL
    OR EXISTS (SELECT 1 FROM plays_mapframe AS f WHERE f.id = e.frame AND f.run_id = %(run)s)
ON CONFLICT (run_id, name) DO UPDATE SET value = excluded.value
"""

_DELETE_ENTRIES = """
DELETE FROM plays_checkpointentry AS e
USING unnest(%(frames)s::bigint[], %(positions)s::int[]) AS done (frame, position)
WHERE e.run_id = %(run)s AND e.frame_id = done.frame AND e.position = done.position
"""

_APPEND_LOGS = """
INSERT INTO plays_logline (run_id, sequence, at, level, text)
SELECT %(run)s, %(sequence)s, to_timestamp(line.at), line.level, line.text
FROM ROWS FROM (jsonb_to_recordset(%(lines)s::jsonb) AS (at float8, level text, text text))
    WITH ORDINALITY AS line (at, level, text, place)
ORDER BY place
"""

_TRIM_LOGS = """
DELETE FROM plays_logline WHERE run_id = %(run)s AND id <= (
    SELECT id FROM plays_logline WHERE run_id = %(run)s
    ORDER BY id DESC OFFSET %(most)s LIMIT 1
)
"""

_UPSERT_TRACE = """
INSERT INTO plays_tracestep AS t (run_id, key, parent, sequence, told, counts, results)
SELECT %(run)s, s.key, s.parent, %(sequence)s, s.told, s.counts, s.results
FROM ROWS FROM (jsonb_to_recordset(%(steps)s::jsonb)
        AS (key text, parent text, told jsonb, counts jsonb, results jsonb))
    WITH ORDINALITY AS s (key, parent, told, counts, results, place)
ORDER BY s.place
ON CONFLICT (run_id, key) DO UPDATE SET
    sequence = excluded.sequence,
    told = t.told || excluded.told,
    counts = t.counts || coalesce((
        SELECT jsonb_object_agg(d.key, coalesce((t.counts ->> d.key)::bigint, 0) + d.value::bigint)
        FROM jsonb_each_text(excluded.counts) AS d
    ), '{}'),
    -- Results that stay are not written again: they are the large part of the record.
    results = CASE
        WHEN excluded.results = '[]' OR jsonb_array_length(t.results) >= %(kept)s THEN t.results
        ELSE (
            SELECT jsonb_agg(r.value ORDER BY r.place)
            FROM jsonb_array_elements(t.results || excluded.results) WITH ORDINALITY AS r (value, place)
            WHERE r.place <= %(kept)s
        ) END
"""

_TRIM_TRACE = """
DELETE FROM plays_tracestep WHERE run_id = %(run)s AND id >= (
    SELECT id FROM plays_tracestep WHERE run_id = %(run)s ORDER BY id OFFSET %(most)s LIMIT 1
)
"""
