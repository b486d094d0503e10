"""Datasets: rows that live in the store and are read page by page.

Deliberately no length, no indexing, no synchronous iteration: a dataset may hold a million rows, and a
play must not come to hold them by accident.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Literal

from runtime.errors import PlayError
from runtime.identity import dataset_id
from runtime.session import Session
from runtime.values import Json

PAGE_ROWS = 1_000
PREVIEW_ROWS = 10

Row = dict[str, Json]
ReadPage = Callable[[int, int], Awaitable[list[Row]]]
"""Reads up to n rows from an offset; short only at the end."""


class Dataset:
    """A table of rows: a CSV's records, or what a map made of its rows.

    ``columns`` in output order; ``preview`` the first ten rows as they were when it was made; ``origin``
    says where it lies: ``{"frame": number}`` or ``{"ref": "upload:…"}``.
    """

    def __init__(
        self,
        dataset_id: str,
        kind: Literal["csv", "map"],
        *,
        table: str,
        columns: Sequence[str],
        count: int,
        read: ReadPage,
        origin: dict[str, Json],
    ) -> None:
        self.dataset_id = dataset_id
        self.kind = kind
        self.table = table
        self.columns = list(columns)
        self.preview: list[Row] = []
        self._count = count
        self._read = read
        self._origin = origin

    async def count(self) -> int:
        """Give the number of rows."""
        return self._count

    async def peek(self, n: int = PREVIEW_ROWS) -> list[Row]:
        """Give the first ``n`` rows."""
        return await self.materialize(max(0, n))

    async def materialize(self, limit: int | None = None) -> list[Row]:
        """Give the first ``limit`` rows (None: all of them) as a list in memory."""
        rows: list[Row] = []
        wanted = self._count if limit is None else min(limit, self._count)
        while len(rows) < wanted:
            page = await self._read(len(rows), min(PAGE_ROWS, wanted - len(rows)))
            if not page:
                break
            rows += page
        return rows

    async def __aiter__(self) -> AsyncIterator[Row]:
        offset = 0
        while page := await self._read(offset, PAGE_ROWS):
            for row in page:
                yield row
            offset += len(page)

    def to_json(self) -> dict[str, Json]:
        """Give what a run's output says of this dataset."""
        return {
            "dataset": {
                "id": self.dataset_id,
                "kind": self.kind,
                "table": self.table,
                "columns": self.columns,
                "count": self._count,
                "frame": self._origin.get("frame"),
                "ref": self._origin.get("ref"),
            }
        }


async def open_csv(
    session: Session,
    ref: Json,
    *,
    rename: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    dialect: dict[str, Json],
) -> Dataset:
    """Open an upload as a dataset of text values.

    ``rename`` maps a column of the file to another name, ``columns`` picks some (by their new names).
    Raises PlayError for a reference that opens nothing, or a column that the file does not have.
    """
    if not isinstance(ref, str) or not ref.startswith("upload:"):
        raise PlayError("ctx.csv needs the reference of an upload, as a run's input holds it")
    library = session.ports.library
    first = await library.upload(ref, 0, PREVIEW_ROWS, dialect)
    names = _chosen(first["columns"], rename or {}, columns)

    async def read(offset: int, n: int) -> list[Row]:
        page = await library.upload(ref, offset, n, dialect)
        return [{new: record.get(old, "") for old, new in names} for record in page["records"]]

    dataset = Dataset(
        ref, "csv", table=ref, columns=[new for _, new in names], count=first["total"], read=read,
        origin={"ref": ref},
    )  # fmt: skip
    dataset.preview = await dataset.peek()
    return dataset


def _chosen(
    there: Sequence[str], rename: Mapping[str, str], columns: Sequence[str] | None
) -> list[tuple[str, str]]:
    """Give (the file's name, the new name) of the columns that are read, in file order."""
    for old in rename:
        if old not in there:
            raise PlayError(
                f"ctx.csv: there is no column {old!r} to rename; the file has {', '.join(there)}"
            )
    names = [(old, rename.get(old, old)) for old in there]
    new_names = [new for _, new in names]
    for name in columns or ():
        if name not in new_names:
            raise PlayError(
                f"ctx.csv: there is no column {name!r}; the file has {', '.join(new_names)}"
            )
    if len(set(new_names)) < len(new_names):
        twice = sorted({name for name in new_names if new_names.count(name) > 1})
        raise PlayError(
            f"ctx.csv: two columns are named {', '.join(twice)} after renaming: give each its own name"
        )
    return [pair for pair in names if columns is None or pair[1] in columns]


def frame_dataset(
    session: Session, frame: int, *, namespace: str, columns: Sequence[str], count: int
) -> Dataset:
    """Give the rows of a finished map: its columns only, hidden fields left out; a field without a
    value is None."""

    async def read(offset: int, n: int) -> list[Row]:
        page = await session.ports.rows.read_page(frame, offset - 1, n)
        return [_output(stored["input"], stored["values"], columns) for stored in page]

    return Dataset(
        dataset_id(session.form.id, namespace), "map", table=namespace, columns=columns, count=count,
        read=read, origin={"frame": frame},
    )  # fmt: skip


def _output(given: Mapping[str, Json], values: Mapping[str, Json], columns: Sequence[str]) -> Row:
    return {name: values[name] if name in values else given.get(name) for name in columns}
