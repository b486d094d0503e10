"""Reads for the run page: its head, pages of rows, changes since a sequence, cells in full, tables.

Access is not decided here: callers bring a run that the person may see.
"""

from __future__ import annotations

from plays.selectors.grid.look import RunLook, run_look
from plays.selectors.grid.query import ColumnFilter, RowsQuery, UnknownColumn
from plays.selectors.grid.rows import RowsPage, rows_changed, rows_page, shown_rows
from plays.selectors.grid.summary import frame_state, run_frames, run_gauges, run_state

__all__ = [
    "ColumnFilter",
    "RowsPage",
    "RowsQuery",
    "RunLook",
    "UnknownColumn",
    "frame_state",
    "rows_changed",
    "rows_page",
    "run_frames",
    "run_gauges",
    "run_look",
    "run_state",
    "shown_rows",
]
