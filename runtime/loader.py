"""Loads a map's rows into its frame: pages in, keys settled, the frame sealed."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import Any, NamedTuple

from runtime.datasets import PAGE_ROWS, Dataset
from runtime.errors import DuplicateRowKeys, PlayError
from runtime.plan import MapPlan
from runtime.ports import Duplicate, FieldForm, FrameForm, NewRow, OpenFrame, Sealed
from runtime.session import Session
from runtime.values import Json, canonical_json, check_json

Row = dict[str, Json]


class Loaded(NamedTuple):
    """A sealed frame: its number, the input's columns, its rows, and how many of them are over already."""

    frame: int
    columns: list[str]
    total: int
    settled: int


async def load_rows(
    session: Session, plan: MapPlan, fields: list[FieldForm], source: Any
) -> Loaded:
    """Open the map's frame and fill it unless it is sealed already.

    Raises DuplicateRowKeys with
    the first five keys and their row numbers; nothing has run then.
    """
    pages = aiter(_pages(plan, source))
    first: list[Row] = await anext(pages, [])
    columns = _columns(source, first)
    opened = await session.ports.rows.open_map(_form(plan, fields, columns))
    if opened["sealed"]:
        return Loaded(opened["frame"], columns, opened["total"], _over(opened))
    position = 0
    known = set(columns)
    page: list[Row] | None = first
    while page:
        _check_columns(plan, page, known, position)
        rows = [_new_row(plan, row, position + index) for index, row in enumerate(page)]
        await session.ports.rows.add_page(opened["frame"], rows)
        position += len(page)
        page = await anext(pages, None)
    sealed = await _seal(session, plan, opened["frame"])
    return Loaded(opened["frame"], columns, sealed["total"], _over(sealed))


async def _seal(session: Session, plan: MapPlan, frame: int) -> Sealed:
    sealed = await session.ports.rows.seal(frame)
    if sealed["duplicates"]:
        raise DuplicateRowKeys(_told(plan, sealed["duplicate_keys"], sealed["duplicates"]))
    if plan.keys.blank:
        session.recorder.log(
            f"{plan.where}: {plan.keys.blank:,} rows have a blank part in their key;"
            " they are known by their content instead",
            "warning",
        )
    return sealed


def _over(told: OpenFrame | Sealed) -> int:
    return sum(told.get("settled", {}).values())


def _told(plan: MapPlan, count: int, duplicates: list[Duplicate]) -> str:
    examples = "; ".join(_example(plan, duplicate) for duplicate in duplicates[:5])
    keys = "key stands" if count == 1 else "keys stand"
    more = f" and {count - 5:,} more" if count > 5 else ""
    return (
        f"{plan.where}: {count:,} row {keys} more than once: {examples}{more}."
        " Remove the repeated rows, or choose a key that tells them apart"
    )


def _example(plan: MapPlan, duplicate: Duplicate) -> str:
    parts = plan.keys.parts(duplicate["input"], duplicate["positions"][0])
    told = ", ".join(part if isinstance(part, str) else canonical_json(part) for part in parts)
    rows = ", ".join(str(position + 1) for position in duplicate["positions"][:5])
    return f"({told}) in rows {rows}"


def _form(plan: MapPlan, fields: list[FieldForm], columns: list[str]) -> FrameForm:
    return FrameForm(
        path=plan.place,
        table=plan.namespace,
        title=plan.title,
        description=plan.description,
        columns=columns,
        fields=fields,
        key=plan.keys.names,
        explicit=plan.keys.is_explicit,
    )


def _new_row(plan: MapPlan, row: Row, position: int) -> NewRow:
    return NewRow(position=position, key=plan.keys.key(row, position), input=row)


def _columns(source: Any, first: list[Row]) -> list[str]:
    if isinstance(source, Dataset):
        return source.columns
    rows: Iterable[Any] = source if isinstance(source, list | tuple) else first
    return list(dict.fromkeys(name for row in rows for name in _as_row(row)))


def _check_columns(plan: MapPlan, page: list[Row], known: set[str], position: int) -> None:
    for index, row in enumerate(page):
        if not known.issuperset(row):
            new = ", ".join(sorted(set(row) - known))
            raise PlayError(
                f"{plan.where}: row {position + index + 1} brings the columns {new}, which the first"
                f" {PAGE_ROWS:,} rows did not have: give every row the same columns"
            )


async def _pages(plan: MapPlan, source: Any) -> AsyncIterator[list[Row]]:
    page: list[Row] = []
    position = 0
    async for item in _items(plan, source):
        position += 1
        row = _as_row(item)
        if not isinstance(source, Dataset):
            row = check_json(row, f"{plan.where}, row {position},")
        page.append(row)
        if len(page) == PAGE_ROWS:
            yield page
            page = []
    if page:
        yield page


async def _items(plan: MapPlan, source: Any) -> AsyncIterator[Any]:
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
    elif isinstance(source, list | tuple):
        for item in source:
            yield item
    else:
        raise PlayError(
            f"{plan.where}: its rows are a {type(source).__name__}: give a dataset, a list"
            " or an asynchronous iterable"
        )


def _as_row(item: Any) -> Row:
    return dict(item) if isinstance(item, Mapping) else {"value": item}
