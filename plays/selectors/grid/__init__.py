"""Reads for the run page: its head, pages of rows, changes since a sequence, cells in full, tables.

Access is not decided here: callers bring a run that the person may see.
"""

from __future__ import annotations

from plays.selectors.grid.detail import cell_detail, row_detail
from plays.selectors.grid.look import RunLook, log_page, run_look
from plays.selectors.grid.query import ColumnFilter, RowsQuery, UnknownColumn
from plays.selectors.grid.rows import PAGE_MAX, RowsPage, rows_changed, rows_page, shown_rows
from plays.selectors.grid.summary import frame_state, run_frames, run_gauges, run_state
from plays.selectors.grid.tables import NoTable, Table, frame_rows, run_table
from plays.selectors.grid.trace import run_trace

__all__ = [
    "PAGE_MAX",
    "ColumnFilter",
    "NoTable",
    "RowsPage",
    "RowsQuery",
    "RunLook",
    "Table",
    "UnknownColumn",
    "cell_detail",
    "frame_rows",
    "frame_state",
    "log_page",
    "row_detail",
    "rows_changed",
    "rows_page",
    "run_frames",
    "run_gauges",
    "run_look",
    "run_state",
    "run_table",
    "run_trace",
    "shown_rows",
]
