"""SQL that keeps a frame's counts: ``totals`` (cells by field and status), ``row_totals`` (rows by status).

Counts change by deltas computed from the old statuses in the statement that changes them, under
the lock of the run's row, so they always add up. Each fragment is an expression over a frame
``m``.
"""

from __future__ import annotations

from collections.abc import Mapping

SETTLED = ("completed", "failed", "cancelled")


def settled_rows(row_totals: Mapping[str, int]) -> dict[str, int]:
    """Give the counts of rows that are over; statuses without a row are left out."""
    return {status: row_totals[status] for status in SETTLED if row_totals.get(status)}


ROW_TOTALS_PLUS = """
    coalesce((
        SELECT jsonb_object_agg(status, n) FROM (
            SELECT status, sum(n) AS n FROM (
                SELECT s.key AS status, s.value::bigint AS n FROM jsonb_each_text(m.row_totals) AS s
                UNION ALL
                SELECT d.status, d.n FROM row_delta AS d WHERE d.frame = m.id
            ) AS every GROUP BY status HAVING sum(n) <> 0
        ) AS summed
    ), '{}')"""
"""``m.row_totals`` plus the deltas of a relation ``row_delta (frame, status, n)``."""

TOTALS_PLUS = """
    coalesce((
        SELECT jsonb_object_agg(field, statuses) FROM (
            SELECT field, jsonb_object_agg(status, n) AS statuses FROM (
                SELECT field, status, sum(n) AS n FROM (
                    SELECT f.key AS field, s.key AS status, s.value::bigint AS n
                    FROM jsonb_each(m.totals) AS f, jsonb_each_text(f.value) AS s
                    UNION ALL
                    SELECT d.field, d.status, d.n FROM cell_delta AS d WHERE d.frame = m.id
                ) AS every GROUP BY field, status HAVING sum(n) <> 0
            ) AS summed GROUP BY field
        ) AS by_field
    ), '{}')"""
"""``m.totals`` plus the deltas of a relation ``cell_delta (frame, field, status, n)``."""
