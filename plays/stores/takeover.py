"""Rows that nobody runs any more go back to where a claim finds them.

Used inside the transactions of claims and of the sweeper, which hold the lock of the run's row;
synchronous, on Django's connection.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from plays.models.grid import row_id
from plays.stores.connections import json_text
from plays.stores.records import PATCH, patch_json
from runtime.ports import Cell, RowChange

UNFINISHED_CELLS = ("queued", "running", "waiting")


def rows_return(run: UUID, sequence: int, *, status: str = "pending") -> int:
    """Give running rows of a run another status, under this sequence; give their number.

    Their unfinished cells become queued (cancelled where the rows are). Rows that wait go on waiting,
    unless the others are cancelled.
    """
    is_over = status == "cancelled"
    cell_status = "cancelled" if is_over else "queued"
    left = ["running", "waiting"] if is_over else ["running"]
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, {"run": run, "left": left})
        rows = cursor.fetchall()
        if rows:
            cursor.execute(PATCH, _patch(rows, run, sequence, status=status, cell=cell_status))
    return len(rows)


def row_last_touched(run: UUID) -> str:
    """Name the running row that changed last, as a person finds it, or ""."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST, {"run": run})
        found = cursor.fetchone()
    return f"row {found[1] + 1} of {found[0]}" if found else ""


def map_title(run: UUID, frame: int) -> str:
    """Give the title of a map of this run, or ""."""
    with connection.cursor() as cursor:
        cursor.execute(_TITLE, {"run": run, "frame": frame})
        found = cursor.fetchone()
    return str(found[0]) if found else ""


def _patch(
    rows: list[tuple[Any, ...]], run: UUID, sequence: int, *, status: str, cell: str
) -> dict[str, Any]:
    changes = [
        (row_id(frame, position), _change(frame, position, orjson.loads(held), (status, cell)))
        for frame, position, held in rows
    ]
    told = json_text(patch_json(sequence, changes))
    return {"run": run, "sequence": sequence, "changes": told}


def _change(
    frame: int, position: int, cells: dict[str, Cell], statuses: tuple[str, str]
) -> RowChange:
    status, cell_status = statuses
    unfinished = {
        name: Cell(**{**cell, "status": cell_status})
        for name, cell in cells.items()
        if cell["status"] in UNFINISHED_CELLS
    }
    return {
        "frame": frame,
        "position": position,
        "status": status,
        "values": {},
        "cells": unfinished,
    }


_LEFT = """
SELECT r.frame_id, r.position, r.cells::text FROM plays_mapframe AS f
JOIN plays_rowstate AS r ON r.frame_id = f.id AND r.status = ANY(%(left)s)
WHERE f.run_id = %(run)s
"""

_TITLE = "SELECT title FROM plays_mapframe WHERE run_id = %(run)s AND id = %(frame)s"

_LAST = """
SELECT f.title, r.position FROM plays_mapframe AS f
JOIN plays_rowstate AS r ON r.frame_id = f.id AND r.status = 'running'
WHERE f.run_id = %(run)s ORDER BY r.sequence DESC, r.position LIMIT 1
"""
