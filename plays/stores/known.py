"""What a frame that is being sealed takes over from earlier frames of its table.

The rule is told in ``runtime.memory.known``, which does the same in memory; here it is set-based.
Each new row is matched by its key, and the frame that comes first in order gives it: the retried
run's, then later ones first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plays.stores.connections import json_text
from plays.stores.fencing import Turn
from runtime.ports import FieldForm

MOST_FRAMES = 25
"""So many earlier frames are looked through. What older ones paid for, the ledger still answers."""


@dataclass(frozen=True, slots=True)
class _Frame:
    id: int
    is_retried: bool
    fields: list[FieldForm]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The frames that were looked through, in order, and the run's selection ({}: it retries nothing)."""

    frames: list[_Frame]
    selection: dict[str, Any]

    @property
    def retried(self) -> list[int]:
        """The frames of the retried run."""
        return [frame.id for frame in self.frames if frame.is_retried] if self.selection else []

    def with_parts(self, fields: Sequence[FieldForm]) -> list[FieldForm]:
        """Give the fields with the columns of waterfalls' steps that earlier frames show."""
        parts: dict[str, dict[str, None]] = {}
        for form in (form for frame in self.frames for form in frame.fields):
            parts.setdefault(form["name"], {}).update(dict.fromkeys(form["parts"]))
        return [{**form, "parts": list(parts.get(form["name"], form["parts"]))} for form in fields]


async def find_earlier_rows(turn: Turn, told: dict[str, Any], total: int) -> Earlier | None:
    """Match the loading rows with earlier ones, into the temporary table ``known``; None: no match."""
    await turn.cursor.execute(_FRAMES, {**told, "most": MOST_FRAMES})
    found = await turn.cursor.fetchall()
    if not found:
        return None
    await turn.cursor.execute(_KNOWN)
    await turn.cursor.execute(_JOIN_WHOLE)
    frames: list[_Frame] = []
    matched = 0
    for frame, is_retried, fields, _ in found:
        await turn.cursor.execute(_MATCH, {**told, "earlier": frame})
        matched += turn.cursor.rowcount
        frames.append(_Frame(frame, is_retried, fields))
        if matched >= total:
            break
    await turn.cursor.execute(_JOIN_AS_USUAL)
    return Earlier(frames, found[0][3] or {}) if matched else None


async def take_over(
    turn: Turn, told: dict[str, Any], earlier: Earlier, fields: Sequence[FieldForm]
) -> None:
    """Move the loading rows with what is known of them, and close their frame."""
    rows = earlier.selection.get("rows", "all")
    rule = told | {
        "fields": json_text(earlier.with_parts(fields)),
        "rules": json_text(
            {
                form["name"]: {"digest": form["digest"], "life": form["stale_after_seconds"]}
                for form in fields
            }
        ),
        "retried": earlier.retried,
        "rows": "positions" if isinstance(rows, list) else rows,
        "positions": rows if isinstance(rows, list) else [],
        "chosen": earlier.selection.get("fields"),
    }
    await turn.cursor.execute(_TAKE_OVER, rule)
    await turn.cursor.execute(_CLOSE, rule)
    if rows == "failed":
        await turn.cursor.execute(_CARRY_ENTRIES, rule)


_FRAMES = """
SELECT f.id, coalesce(f.run_id = run.retry_of_id, false) AS is_retried, f.fields, run.selection
FROM plays_run AS run
JOIN plays_mapframe AS own ON own.id = %(frame)s
JOIN plays_mapframe AS f ON f."table" = own."table" AND f.id < own.id AND f.is_sealed
JOIN plays_run AS other ON other.id = f.run_id AND other.id <> run.id
    AND other.workspace_id = run.workspace_id AND other.play_id = run.play_id
WHERE run.id = %(run)s
ORDER BY is_retried DESC, f.id DESC LIMIT %(most)s
"""

_KNOWN = "CREATE TEMPORARY TABLE known (id bigint PRIMARY KEY, earlier bigint) ON COMMIT DROP"

# Of a frame that was filled since the last ANALYZE the planner expects one row, and would read all of
# its rows again for each loading row.
_JOIN_WHOLE = "SET LOCAL enable_nestloop = off"
_JOIN_AS_USUAL = "RESET enable_nestloop"

_MATCH = """
INSERT INTO known (id, earlier)
SELECT l.id, r.id FROM plays_loadingrow AS l
JOIN plays_rowstate AS r ON r.frame_id = %(earlier)s AND r.row_key = l.row_key
WHERE l.id >= %(first)s AND l.id < %(end)s
    AND NOT EXISTS (SELECT 1 FROM known AS k WHERE k.id = l.id)
"""

# %(rules)s holds digest and life by field: looking into one document is much cheaper for each cell
# than joining a relation of fields.
_TAKE_OVER = """
INSERT INTO plays_rowstate (
    id, frame_id, position, row_key, input, data, cells, status, sequence
)
SELECT l.id, %(frame)s, l.id - %(first)s, l.row_key, l.input,
    coalesce(taken.data, '{}'), coalesce(taken.cells, '{}'),
    CASE
        WHEN NOT fate.is_whole THEN 'pending'
        WHEN old.status IN ('completed', 'failed', 'cancelled') THEN old.status
        ELSE 'cancelled'
    END, 0
FROM plays_loadingrow AS l
LEFT JOIN known ON known.id = l.id
LEFT JOIN plays_rowstate AS old ON old.id = known.earlier
LEFT JOIN plays_mapframe AS origin ON origin.id = old.frame_id
CROSS JOIN LATERAL (
    SELECT coalesce(old.frame_id = ANY(%(retried)s::bigint[]), false) AS is_retried, CASE
        WHEN %(rows)s = 'positions' THEN old.position = ANY(%(positions)s::int[])
        WHEN %(rows)s = 'all' OR old.status NOT IN ('completed', 'failed') THEN true
        WHEN %(rows)s = 'failed' THEN old.status = 'failed'
        ELSE EXISTS (
            SELECT 1 FROM jsonb_object_keys(%(rules)s::jsonb) AS name
            WHERE (%(chosen)s::text[] IS NULL OR name = ANY(%(chosen)s::text[]))
                AND coalesce(old.cells -> name ->> 'status', '')
                    NOT IN ('completed', 'cached', 'manual')
        )
    END AS is_selected
) AS retry
CROSS JOIN LATERAL (
    SELECT coalesce(
        retry.is_retried AND NOT retry.is_selected AND old.input = l.input, false
    ) AS is_whole
) AS fate
LEFT JOIN LATERAL (
    SELECT jsonb_object_agg(cell.key, old.data -> cell.key)
            FILTER (WHERE old.data ? cell.key) AS data,
        jsonb_object_agg(
            cell.key, jsonb_build_object('origin', origin.run_id) || (cell.value - 'sequence')
        ) AS cells
    FROM jsonb_each(old.cells) AS cell
    CROSS JOIN LATERAL (
        SELECT coalesce(cell.value ->> 'part_of', cell.key) AS name
    ) AS field
    CROSS JOIN LATERAL (
        SELECT old.cells -> field.name AS state, %(rules)s::jsonb -> field.name AS rule
    ) AS own
    WHERE own.state IS NOT NULL AND own.rule IS NOT NULL AND (
        fate.is_whole OR (
            (
                own.state ->> 'status' = 'manual'
                OR own.state ->> 'status' IN ('completed', 'missed', 'cached')
                AND own.rule ->> 'digest' <> ''
                AND own.rule ->> 'digest' = own.state ->> 'step'
                AND (
                    own.rule ->> 'life' IS NULL
                    OR coalesce((own.state ->> 'at')::float8, 0) + (own.rule ->> 'life')::float8
                        > extract(epoch FROM now())
                )
            )
            AND NOT (
                retry.is_retried AND retry.is_selected AND %(rows)s <> 'failed'
                AND (%(chosen)s::text[] IS NULL OR field.name = ANY(%(chosen)s::text[]))
                AND (%(rows)s <> 'empty' OR own.state ->> 'status' = 'missed')
            )
        )
    )
) AS taken ON old.id IS NOT NULL
WHERE l.id >= %(first)s AND l.id < %(end)s
ORDER BY l.id
"""

_CLOSE = """
UPDATE plays_mapframe SET is_sealed = true, total = %(total)s, fields = %(fields)s,
    totals = coalesce((
        SELECT jsonb_object_agg(field, statuses) FROM (
            SELECT field, jsonb_object_agg(status, n) AS statuses FROM (
                SELECT c.key AS field, c.value ->> 'status' AS status, count(*) AS n
                FROM plays_rowstate AS r, jsonb_each(r.cells) AS c
                WHERE r.id >= %(first)s AND r.id < %(end)s
                GROUP BY c.key, c.value ->> 'status'
            ) AS counted GROUP BY field
        ) AS by_field
    ), '{}'),
    row_totals = coalesce((
        SELECT jsonb_object_agg(status, n) FROM (
            SELECT r.status, count(*) AS n FROM plays_rowstate AS r
            WHERE r.id >= %(first)s AND r.id < %(end)s GROUP BY r.status
        ) AS counted
    ), '{}')
WHERE id = %(frame)s
"""

# Work that succeeded inside a failed row is not done again by the run that retries the row.
_CARRY_ENTRIES = """
INSERT INTO plays_checkpointentry (run_id, name, frame_id, position, value)
SELECT %(run)s, e.name, %(frame)s, known.id - %(first)s, e.value
FROM known JOIN plays_rowstate AS old ON old.id = known.earlier
JOIN plays_checkpointentry AS e ON e.frame_id = old.frame_id AND e.position = old.position
WHERE old.frame_id = ANY(%(retried)s::bigint[]) AND old.status = 'failed'
ON CONFLICT (run_id, name) DO NOTHING
"""
