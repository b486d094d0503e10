"""Which rows of a map a person asks for, and in which order, as SQL over the rows' JSONB columns.

Everything that comes from outside travels as a parameter; the text of the SQL is made of constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plays.models import MapFrame
from plays.models.grid import FRAME_SHIFT, row_id
from plays.selectors.grid.columns import Column, frame_columns

NOT_STARTED = "not_started"
"""The state of a cell that has no entry."""

_NUMBER = r"^\s*-?[0-9]{1,100}(\.[0-9]{1,100})?\s*$"

Sql = tuple[str, list[Any]]


class UnknownColumn(LookupError):
    """The query names a column that the map does not have."""


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """What the cells of one column must be: all that is given holds.

    ``states`` are cell states, ``not_started`` among them; ``text`` is contained in the value, in
    either case; ``is_empty`` asks for cells without, or with, a value that is not blank.
    """

    column: str
    states: tuple[str, ...] = ()
    text: str = ""
    is_empty: bool | None = None


@dataclass(frozen=True, slots=True)
class RowsQuery:
    """Rows to show: ``search`` in every visible value, statuses of rows, filters, and the order.

    ``sort`` holds (column, is descending); equal rows, and all rows without it, come by position.
    Numbers, and texts that are numbers, sort by size and before other texts; empty cells come last.
    """

    search: str = ""
    statuses: tuple[str, ...] = ()
    filters: tuple[ColumnFilter, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether these are all rows by position."""
        return not (self.search or self.statuses or self.filters or self.sort)


def where(frame: MapFrame, query: RowsQuery) -> Sql:
    """Give the condition on a row ``r``. Raises UnknownColumn."""
    columns = _by_name(frame)
    parts: list[Sql] = [
        ("r.id BETWEEN %s AND %s", [row_id(frame.pk, 0), row_id(frame.pk, (1 << FRAME_SHIFT) - 1)])
    ]
    if query.statuses:
        parts.append(("r.status = ANY(%s)", [list(query.statuses)]))
    if query.search:
        parts.append((_ANYWHERE, [_contains(query.search)]))
    for chosen in query.filters:
        parts += _filter(_column(columns, chosen.column), chosen)
    return " AND ".join(part for part, _ in parts), [
        value for _, values in parts for value in values
    ]


def order_by(frame: MapFrame, query: RowsQuery) -> Sql:
    """Give the order of rows ``r``. Raises UnknownColumn."""
    columns = _by_name(frame)
    parts: list[str] = []
    values: list[Any] = []
    for name, is_descending in query.sort:
        text, names = _text(_column(columns, name))
        direction = "DESC" if is_descending else "ASC"
        parts += [
            f"nullif({text}, '') IS NULL",
            f"CASE WHEN {text} ~ %s THEN ({text})::numeric END {direction} NULLS LAST",
            f"lower(nullif({text}, '')) {direction}",
        ]
        values += [*names, *names, _NUMBER, *names, *names]
    return ", ".join([*parts, "r.id"]), values


_ANYWHERE = """EXISTS (
    SELECT 1 FROM jsonb_each_text(r.input || r.data) AS pair(name, content)
    WHERE left(pair.name, 1) <> '_' AND pair.content ILIKE %s
)"""


def _filter(column: Column, chosen: ColumnFilter) -> list[Sql]:
    text, names = _text(column)
    parts: list[Sql] = []
    if chosen.states:
        state = f"coalesce(r.cells -> %s ->> 'status', '{NOT_STARTED}') = ANY(%s)"
        parts.append((state, [column.name, list(chosen.states)]))
    if chosen.text:
        parts.append((f"{text} ILIKE %s", [*names, _contains(chosen.text)]))
    if chosen.is_empty is not None:
        empty = f"coalesce(btrim({text}), '') IN ('', '[]', '{{}}')"
        parts.append((empty if chosen.is_empty else f"NOT {empty}", names))
    return parts


def _text(column: Column) -> Sql:
    if column.kind == "input":
        return "(r.input ->> %s)", [column.name]
    if column.kind == "filled":
        return "((r.input || r.data) ->> %s)", [column.name]
    return "(r.data ->> %s)", [column.name]


def _contains(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _by_name(frame: MapFrame) -> dict[str, Column]:
    return {column.name: column for column in frame_columns(frame.columns, frame.fields)}


def _column(columns: dict[str, Column], name: str) -> Column:
    if name not in columns:
        raise UnknownColumn(f"There is no column {name!r} in this table.")
    return columns[name]
