"""A run's output as a table to write out: which rows, which columns, under which name.

Rows are read in pages by primary key rather than through one long cursor: a reader that is slow, or
stops half-way, then holds no transaction open in the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import Q

from plays.models import MapFrame, RowState, Run, Upload, UploadChunk
from plays.models.grid import row_id
from plays.selectors.grid.columns import output_columns
from plays.uploads import read_records
from plays.uploads.shapes import Column, Dialect

PAGE_ROWS = 1_000


class NoTable(LookupError):
    """The run has no table to give; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns in order, rows that are read while they are iterated, and a file name without suffix."""

    name: str
    columns: list[str]
    rows: Iterable[Mapping[str, Any]]


def run_table(run: Run, frame_id: int | None = None) -> Table:
    """Give the table that the run returned; of a run without one, its latest map as it is now.

    ``frame_id`` chooses a map of the run instead. Raises NoTable.
    """
    result = (run.result or {}).get("dataset")
    if frame_id is None and result and result.get("kind") == "csv":
        return _upload_table(run, result)
    chosen = frame_id if frame_id is not None else (result or {}).get("frame")
    frame = _frame(run, chosen)
    columns = output_columns(frame.columns, frame.fields)
    if frame_id is None and result:
        columns = list(result["columns"])
    return Table(_name(run, frame.title), columns, frame_rows(frame.pk))


def frame_rows(frame: int) -> Iterator[dict[str, Any]]:
    """Give every row of a map by position: input columns and computed values, hidden ones too."""
    last = row_id(frame, 0) - 1
    end = row_id(frame + 1, 0)
    while True:
        page = list(
            RowState.objects.filter(id__gt=last, id__lt=end)
            .order_by("id")
            .values_list("id", "input", "data")[:PAGE_ROWS]
        )
        for _, loaded, computed in page:
            yield {**loaded, **computed}
        if len(page) < PAGE_ROWS:
            return
        last = page[-1][0]


def _frame(run: Run, chosen: int | None) -> MapFrame:
    root = run.root_id or run.pk
    frames = MapFrame.objects.filter(Q(run=run) | Q(run__root=root) | Q(run=root))
    if chosen is None:
        frame = frames.filter(run=run).order_by("-id").first()
    else:
        frame = frames.filter(pk=chosen).first()
    if frame is not None:
        return frame
    if chosen is not None:
        raise NoTable("This run has no such table.")
    if run.result is not None:
        raise NoTable("This run returned a value and made no table.")
    raise NoTable("This run has made no table yet.")


def _upload_table(run: Run, result: Mapping[str, Any]) -> Table:
    uploads = Upload.objects.filter(workspace=run.workspace_id)
    upload_id = _uuid(str(result["ref"]).removeprefix("upload:"))
    upload = uploads.filter(pk=upload_id).first() if upload_id else None
    if upload is None:
        raise NoTable("The file that this run returned is not there any more.")
    names: list[str] = list(result["columns"])
    columns = _as_named([Column.from_json(column) for column in upload.columns], names)
    rows = read_records(_chunks(upload), Dialect.from_json(upload.dialect), columns)
    return Table(_name(run, upload.filename.rpartition(".")[0]), names, rows)


def _as_named(columns: list[Column], names: Sequence[str]) -> list[Column]:
    """Give a file's columns under the names that the play gave them; it kept the file's order."""
    if len(names) == len(columns):
        return [replace(one, name=name) for one, name in zip(columns, names, strict=True)]
    if set(names) <= {column.name for column in columns}:
        return columns
    raise NoTable("This run returned a part of its file under other names: add a map to the play.")


def _chunks(upload: Upload) -> Iterator[Any]:
    number = 0
    while chunk := UploadChunk.objects.filter(upload=upload, number=number).first():
        yield chunk
        number += 1


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _name(run: Run, table: str) -> str:
    """Give a file name that every system takes."""
    words = f"{run.play.name}-{table}-{str(run.pk)[:8]}"
    return re.sub(r"[^A-Za-z0-9._-]+", "_", words).strip("._") or "table"
