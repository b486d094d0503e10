"""One row and one cell in full, for the panel beside the grid and for the API.

Values travel as text: JSON as its canonical text, so that a browser loses no digit of a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from plays.exports import cell_text
from plays.models import MapFrame, RowState, ToolCall
from plays.models.grid import row_id
from plays.selectors.grid.columns import Column, frame_columns, is_hidden
from plays.selectors.grid.query import NOT_STARTED, UnknownColumn
from plays.selectors.grid.rows import whole_rows
from plays.selectors.waits import waits_of_row

Detail = dict[str, Any]

UNDER_WAY = ("running", "waiting")


def row_detail(frame: MapFrame, position: int) -> Detail | None:
    """Give a row as its page has it, with its key, hidden values, waits and its whole JSON text."""
    stored = _row(frame, position)
    if stored is None:
        return None
    page_row = whole_rows(frame, [stored.pk])[stored.pk]
    visible = {**stored.input, **{k: v for k, v in stored.data.items() if not is_hidden(k)}}
    return {
        **page_row,
        "input": orjson.loads(orjson.dumps(page_row["input"])),
        "key": stored.row_key,
        "json": cell_text(visible),
        "hidden": {k: cell_text(v) for k, v in stored.data.items() if is_hidden(k)},
        "waits": waits_of_row(frame, position),
    }


def cell_detail(frame: MapFrame, position: int, name: str) -> Detail | None:
    """Give a cell's whole value and state, and every attempt with its line of the ledger.

    ``value`` is its ``kind`` (a JSON type, or ``none`` where there is no value) and ``text``. One
    field of a row runs at a time, so what the row waits for is what this field waits for while it is
    under way. None where there is no such row. Raises UnknownColumn.
    """
    column = _column(frame, name)
    stored = _row(frame, position)
    if stored is None:
        return None
    state = stored.cells.get(name, {})
    kept = {k: v for k, v in state.items() if k not in ("attempts", "step", "reads_digest")}
    return {
        "frame": frame.pk,
        "position": position,
        "column": name,
        "kind": column.kind,
        "value": _value(stored, column),
        "state": {"status": NOT_STARTED if column.kind != "input" else "", **kept},
        "attempts": _attempts(frame, state.get("attempts") or []),
        "waits": waits_of_row(frame, position) if state.get("status") in UNDER_WAY else [],
    }


def _row(frame: MapFrame, position: int) -> RowState | None:
    return RowState.objects.filter(pk=row_id(frame.pk, position)).first()


def _column(frame: MapFrame, name: str) -> Column:
    for column in frame_columns(frame.columns, frame.fields):
        if column.name == name:
            return column
    raise UnknownColumn(f"There is no column {name!r} in this table.")


def _value(stored: RowState, column: Column) -> Detail:
    for values in (stored.data, stored.input):
        if column.name in values:
            value = values[column.name]
            return {"kind": _kind(value), "text": cell_text(value)}
    return {"kind": "none", "text": ""}


def _kind(value: object) -> str:
    kinds = ((bool, "boolean"), (str, "string"), (dict, "object"), (list, "array"))
    for python, kind in kinds:
        if isinstance(value, python):
            return kind
    return "null" if value is None else "number"


def _attempts(frame: MapFrame, attempts: Iterable[Detail]) -> list[Detail]:
    """Join attempts with the ledger of the run's workspace, in the order in which they were made."""
    attempts = list(attempts)
    keys = [attempt["call"] for attempt in attempts if attempt.get("call")]
    calls = ToolCall.objects.filter(workspace=frame.run.workspace_id).in_bulk(keys)
    return [{**attempt, "ledger": _call(calls.get(attempt.get("call")))} for attempt in attempts]


def _call(call: ToolCall | None) -> Detail | None:
    if call is None:
        return None
    return {
        "status": call.status,
        "attempts": call.attempts,
        "latency_ms": call.latency_ms,
        "batch_size": call.batch_size,
        "credits": float(call.credits),
        "started_at": _iso(call.started_at or call.created_at),
        "finished_at": _iso(call.finished_at),
        "input": cell_text(call.input),
        "result": cell_text(call.result),
        "error": call.error,
    }


def _iso(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat()
