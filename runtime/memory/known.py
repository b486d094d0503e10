"""What a new frame takes over from earlier frames of its table, in memory.

The rule, which the PostgreSQL store follows too:

- A row is looked up by its key: first in the run that this one retries, then in later frames first.
- Without a selection, and for rows inside it, a cell is taken over when it is completed, missed,
  cached or manual, its step's digest is the same and not "", and it is not stale. Manual cells need
  neither. The cells of its waterfall's steps come with it, and each gets its ``origin``. The row
  stays pending: the engine compares what the step reads before it reuses a cell.
- Rows inside the selection do not take over the selected cells: for ``failed`` none are left to
  exclude, for ``empty`` the missed ones, else all; ``fields`` narrows that to the named fields.
- A ``failed`` retry also takes over the checkpoint entries of the failed rows: work that succeeded
  inside them is not done again.
- Rows outside the selection whose input is unchanged arrive as they were, values, cells and status;
  one that had not finished arrives cancelled.
"""

from __future__ import annotations

from typing import Any, cast

from runtime.events import CellStatus, RowStatus
from runtime.memory.store import Json, MemoryFrame, MemoryRow, MemoryRun, MemoryStore
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
        self._rows: dict[str, tuple[MemoryRun, MemoryFrame, MemoryRow]] = {}
        for earlier in _in_order(store, run, frame):
            of_run = store.runs[earlier.run]
            for row in earlier.rows.values():
                self._rows.setdefault(row.key, (of_run, earlier, row))

    def fill(self, row: MemoryRow) -> dict[str, Json]:
        """Give the new row what is known of it; give the checkpoint entries that it takes along."""
        if row.key not in self._rows:
            return {}
        run, frame, old = self._rows[row.key]
        retried = bool(self._selection) and run.id == self._retry_of
        selected = retried and self._is_selected(old)
        whole = retried and not selected and old.input == row.input
        for form in self._fields:
            cell = old.cells.get(form["name"])
            if cell and (whole or self._is_wanted(form, cell, selected=selected)):
                _take_over(form, run.id, old, row)
        if whole:
            row.status = old.status if old.status in FINISHED else RowStatus.CANCELLED
        again = selected and self._selection.get("rows") == "failed"
        is_entered = again and old.status == RowStatus.FAILED
        return dict(run.entries.get((frame.id, old.position), {})) if is_entered else {}

    def _is_wanted(self, form: FieldForm, cell: Cell, *, selected: bool) -> bool:
        return self._is_known(form, cell) and not (selected and self._is_redone(form, cell))

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


def _take_over(form: FieldForm, run: str, old: MemoryRow, row: MemoryRow) -> None:
    """Copy a field's cell and those of its waterfall's steps; sequences count within a run."""
    for name, cell in old.cells.items():
        if name != form["name"] and cell.get("part_of") != form["name"]:
            continue
        if name != form["name"] and name not in form["parts"]:
            form["parts"].append(name)
        copied = {key: value for key, value in cell.items() if key != "sequence"}
        row.cells[name] = cast("Cell", {"origin": run, **copied})
        if name in old.values:
            row.values[name] = old.values[name]


def _in_order(store: MemoryStore, run: MemoryRun, frame: MemoryFrame) -> list[MemoryFrame]:
    """Give the table's sealed frames of other runs: the retried run's first, then the latest."""
    earlier = [
        other
        for other in store.frames.values()
        if other.sealed and other.run != run.id and other.form["table"] == frame.form["table"]
    ]
    return sorted(earlier, key=lambda other: (other.run != run.retry_of, -other.id))
