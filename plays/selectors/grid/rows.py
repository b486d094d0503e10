"""Pages of a map's rows, and rows that changed since a sequence."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from plays.models import MapFrame, Run
from plays.models.grid import row_id
from plays.selectors.grid.cells import ROW, row_changes
from plays.selectors.grid.preview import previews
from plays.selectors.grid.query import RowsQuery, order_by, where

PAGE_MAX = 500
"""The most rows of one page, and the most that one window may have watched."""


@dataclass(frozen=True, slots=True)
class RowsPage:
    """Rows ``first`` and following of ``total`` that the query finds.

    ``sequence`` is that of the run before the rows were read: each row is at least that new.
    ``rows`` are ready for orjson: as patches (``cells.row_changes``) with all cells, and ``input``.
    """

    sequence: int
    total: int
    first: int
    rows: list[dict[str, Any]]


def rows_page(frame: MapFrame, query: RowsQuery, first: int, count: int) -> RowsPage:
    """Read up to ``count`` (at most 500) rows from ``first`` (from 0). Raises UnknownColumn."""
    sequence = Run.objects.values_list("sequence", flat=True).get(pk=frame.run_id)
    count = max(0, min(count, PAGE_MAX))
    if query.is_plain:
        total, ids = frame.total, _positions(frame, first, count)
    else:
        total, ids = _found(frame, query, first, count)
    found = whole_rows(frame, ids)
    return RowsPage(sequence, total, first, [found[pk] for pk in ids if pk in found])


def whole_rows(frame: MapFrame, ids: list[int]) -> dict[int, dict[str, Any]]:
    """Read rows by primary key, as a page has them."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {ROW}, r.id, {previews('r.input')}"  # noqa: S608  (constants)
            " FROM plays_rowstate r WHERE r.id = ANY(%s)",
            [ids],
        )
        return {
            row[6]: {**row_changes(row, frame.fields, 0), "input": orjson.Fragment(row[7])}
            for row in cursor.fetchall()
        }


def rows_changed(run_id: UUID, shown: Collection[int], since: int) -> dict[int, dict[str, Any]]:
    """Give patches of those of the ``shown`` rows that changed above ``since``, by primary key.

    Rows of other runs are never given, whatever keys are asked for.
    """
    if not shown:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {ROW}, f.fields::text, r.id FROM plays_rowstate r"  # noqa: S608  (constants)
            " JOIN plays_mapframe f ON f.id = r.frame_id"
            " WHERE r.id = ANY(%s) AND r.sequence > %s AND f.run_id = %s ORDER BY r.id",
            [list(shown), since, run_id],
        )
        found = cursor.fetchall()
    fields = {text: orjson.loads(text) for text in {row[6] for row in found}}
    return {row[7]: row_changes(row, fields[row[6]], since) for row in found}


def shown_rows(frame: int, first: int, last: int) -> frozenset[int]:
    """Give the primary keys of the rows at positions ``first`` to ``last``, at most 500."""
    last = min(last, first + PAGE_MAX - 1)
    return frozenset(row_id(frame, position) for position in range(first, last + 1))


def _positions(frame: MapFrame, first: int, count: int) -> list[int]:
    last = min(first + count, frame.total)
    return [row_id(frame.pk, position) for position in range(first, last)]


def _found(frame: MapFrame, query: RowsQuery, first: int, count: int) -> tuple[int, list[int]]:
    """Give how many rows the query finds, and the keys of the page.

    Only keys are sorted: rows are read afterwards, so that a page costs no more than its own rows.
    """
    condition, values = where(frame, query)
    order, order_values = order_by(frame, query)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM plays_rowstate r WHERE {condition}",  # noqa: S608  (constants)
            values,
        )
        (total,) = cursor.fetchone()
        cursor.execute(
            f"SELECT r.id FROM plays_rowstate r WHERE {condition}"  # noqa: S608  (constants)
            f" ORDER BY {order} LIMIT %s OFFSET %s",
            [*values, *order_values, count, first],
        )
        return total, [pk for (pk,) in cursor.fetchall()]
