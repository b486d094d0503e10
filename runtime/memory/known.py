"""What a new frame takes over from earlier frames of its table, in memory.

The rule, which the PostgreSQL store follows too:

- A row is looked up by its key: first in the run that this one retries, then in later frames first.
- Without a selection, and for rows inside it, a cell is taken over when it is completed, missed,
  cached or manual, its step's digest is the same and not "", and it is not stale. Manual cells need
  neither. The row stays pending: the engine compares what the step reads before it reuses a cell.
- Rows inside the selection do not take over the selected cells: for ``failed`` none are left to
  exclude, for ``empty`` the missed ones, else all; ``fields`` narrows that to the named fields.
- Rows outside the selection whose input is unchanged arrive as they were, values, cells and status;
  one that had not finished arrives cancelled.
"""

from __future__ import annotations

from typing import Any

from runtime.events import CellStatus, RowStatus
from runtime.memory.store import MemoryFrame, MemoryRow, MemoryRun, MemoryStore
from runtime.ports import Cell, FieldForm

KNOWN = frozenset({CellStatus.COMPLETED, CellStatus.MISSED, CellStatus.CACHED, CellStatus.MANUAL})
FINISHED = frozenset({RowStatus.COMPLETED, RowStatus.FAILED, RowStatus.CANCELLED})


class EarlierRows:
    """The rows of earlier frames of one table, by key."""

    def __init__(self, store: MemoryStore, run: MemoryRun, frame: MemoryFrame, now: float) -> None:
        self._fields = frame.form["fields"]
        self._selection = run.selection
        self._retry_of = run.retry_of
        self._now = now
        self._rows: dict[str, tuple[str, MemoryRow]] = {}
        for earlier in _in_order(store, run, frame):
            for row in earlier.rows.values():
                self._rows.setdefault(row.key, (earlier.run, row))

    def fill(self, row: MemoryRow) -> None:
        """Give the new row what is known of it."""
        run, old = self._rows.get(row.key, ("", None))
        if old is None:
            return
        retried = bool(self._selection) and run == self._retry_of
        if retried and not self._is_selected(old) and old.input == row.input:
            row.values, row.cells = dict(old.values), dict(old.cells)
            row.status = old.status if old.status in FINISHED else RowStatus.CANCELLED
            return
        for form in self._fields:
            cell = old.cells.get(form["name"])
            if (
                cell
                and self._is_known(form, cell)
                and not (retried and self._is_redone(form, cell))
            ):
                self._take_over(form, old, row)

    def _take_over(self, form: FieldForm, old: MemoryRow, row: MemoryRow) -> None:
        for name in (form["name"], *form["parts"]):
            if name in old.cells:
                row.cells[name] = old.cells[name]
            if name in old.values:
                row.values[name] = old.values[name]

    def _is_known(self, form: FieldForm, cell: Cell) -> bool:
        if cell["status"] == CellStatus.MANUAL:
            return True
        if cell["status"] not in KNOWN or not form["digest"]:
            return False
        life = form["stale_after_seconds"]
        is_fresh = life is None or cell.get("at", 0.0) + life > self._now
        return is_fresh and cell.get("step") == form["digest"]

    def _is_selected(self, old: MemoryRow) -> bool:
        rows: Any = self._selection.get("rows", "all")
        if isinstance(rows, list):
            return old.position in rows
        if rows == "all" or old.status not in (RowStatus.COMPLETED, RowStatus.FAILED):
            return True
        if rows == "failed":
            return old.status == RowStatus.FAILED
        return any(self._is_empty(old, form) for form in self._fields)

    def _is_empty(self, old: MemoryRow, form: FieldForm) -> bool:
        cell = old.cells.get(form["name"])
        filled = (CellStatus.COMPLETED, CellStatus.CACHED, CellStatus.MANUAL)
        return self._is_named(form) and (cell is None or cell["status"] not in filled)

    def _is_redone(self, form: FieldForm, cell: Cell) -> bool:
        rows = self._selection.get("rows", "all")
        if rows == "failed" or not self._is_named(form):
            return False
        return rows != "empty" or cell["status"] == CellStatus.MISSED

    def _is_named(self, form: FieldForm) -> bool:
        fields = self._selection.get("fields")
        return fields is None or form["name"] in fields


def _in_order(store: MemoryStore, run: MemoryRun, frame: MemoryFrame) -> list[MemoryFrame]:
    """Give the table's sealed frames of other runs: the retried run's first, then the latest."""
    earlier = [
        other
        for other in store.frames.values()
        if other.sealed and other.run != run.id and other.form["table"] == frame.form["table"]
    ]
    return sorted(earlier, key=lambda other: (other.run != run.retry_of, -other.id))
