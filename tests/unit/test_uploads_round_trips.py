"""Properties: what is written comes back, however it is cut; writing it again changes nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plays.exports import cell_text, write_csv
from plays.uploads import Chunk, Inspection, Limits, Scan, UploadError, read_records
from plays.uploads.formulas import guard_cell, restore_cell
from plays.uploads.headers import name_columns

TELLING = st.sampled_from(list("\"',;|\t\r\n =+-@_5é\ufeff\u2028\x1c\x85"))
CELLS = st.text(TELLING | st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
HEADERS = st.lists(CELLS, min_size=1, max_size=4).map(
    lambda cells: [column.name for column in name_columns(cells)]
)
VALUES = (
    CELLS
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(CELLS, CELLS, max_size=2)
)
OPTIONS = st.fixed_dictionaries({"spreadsheet_safe": st.booleans(), "bom": st.booleans()})


@st.composite
def tables(draw: st.DrawFn, values: st.SearchStrategy[Any] = CELLS) -> tuple[list[str], list[Any]]:
    names = draw(HEADERS)
    rows = st.lists(st.tuples(*[values for _ in names]), min_size=1, max_size=6)
    return names, [dict(zip(names, cells, strict=True)) for cells in draw(rows)]


def exported(names: list[str], rows: list[Any], **options: bool) -> bytes:
    return b"".join(write_csv(rows, names, **options))


def imported(content: bytes, chunk_bytes: int = 1024) -> tuple[Inspection, list[dict[str, str]]]:
    scan = Scan(io.BytesIO(content), limits=Limits(chunk_bytes=chunk_bytes))
    chunks = list(scan)
    assert b"".join(chunk.content for chunk in chunks) == content
    report = scan.inspection
    return report, list(read_records(chunks, report.dialect, report.columns))


def chunks_or_refusal(scan: Scan) -> list[Chunk] | str:
    try:
        return list(scan)
    except UploadError as error:
        return str(error)


# case V15, case V16, case V17
@given(tables(), OPTIONS)
def test_text_written_in_any_way_is_read_as_it_was(
    table: tuple[list[str], list[Any]], options: dict[str, bool]
) -> None:
    names, rows = table
    report, records = imported(exported(names, rows, **options))
    assert records == rows
    counts = report.counts
    assert counts.records == len(rows)
    assert (counts.rejected, counts.blank, counts.padded, counts.trimmed) == (0, 0, 0, 0)
    assert counts.lines == 1 + len(rows) + counts.continuation


# case V17
@given(tables(VALUES), OPTIONS)
def test_export_import_export_is_stable(
    table: tuple[list[str], list[Any]], options: dict[str, bool]
) -> None:
    names, rows = table
    once = exported(names, rows, **options)
    report, records = imported(once)
    assert records == [{name: cell_text(value) for name, value in row.items()} for row in rows]
    again = exported([column.name for column in report.columns], records, **options)
    assert again == once


@given(tables(), st.integers(1, 60), st.integers(0, 7), st.none() | st.integers(0, 7))
def test_chunks_of_any_size_give_the_same_records_from_any_offset(
    table: tuple[list[str], list[Any]], chunk_bytes: int, offset: int, limit: int | None
) -> None:
    names, rows = table
    scan = Scan(io.BytesIO(exported(names, rows)), limits=Limits(chunk_bytes=chunk_bytes))
    chunks = list(scan)
    nearest = max(chunk.number for chunk in chunks if chunk.first_record <= offset)
    found = read_records(
        chunks[nearest:],
        scan.inspection.dialect,
        scan.inspection.columns,
        offset=offset,
        limit=limit,
    )
    assert list(found) == rows[offset : None if limit is None else offset + limit]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@given(table=tables())
def test_other_encodings_give_the_same_records(
    encoding: str, table: tuple[list[str], list[Any]]
) -> None:
    names, rows = table
    content = exported(names, rows).decode().encode(encoding)
    scan = Scan(io.BytesIO(content), encoding=encoding)
    chunks = list(scan)
    assert list(read_records(chunks, scan.inspection.dialect, scan.inspection.columns)) == rows


@settings(max_examples=300)
@given(st.text(TELLING, max_size=120), st.integers(1, 30))
def test_of_any_text_the_counts_add_up_and_the_reader_agrees(text: str, chunk_bytes: int) -> None:
    content = f"a,b\n1,2\n{text}".encode()
    scan = Scan(io.BytesIO(content), limits=Limits(chunk_bytes=chunk_bytes))
    chunks = chunks_or_refusal(scan)
    if isinstance(chunks, str):
        assert "quote opened on line" in chunks
        return
    report = scan.inspection
    c = report.counts
    assert b"".join(chunk.content for chunk in chunks) == content
    assert c.lines == c.headers + c.records + c.rejected + c.blank + c.continuation
    records = list(read_records(chunks, report.dialect, report.columns))
    assert len(records) == c.records == sum(chunk.records for chunk in chunks)
    for chunk in chunks:
        rest = list(
            read_records(
                chunks[chunk.number :], report.dialect, report.columns, offset=chunk.first_record
            )
        )
        assert rest == records[chunk.first_record :]


@given(st.text(TELLING), st.booleans())
def test_a_guarded_cell_is_restored(text: str, is_for_spreadsheet: bool) -> None:
    assert restore_cell(guard_cell(text, is_for_spreadsheet=is_for_spreadsheet)) == text


@given(st.lists(CELLS, min_size=1))
def test_names_are_different_and_naming_them_again_changes_nothing(headers: list[str]) -> None:
    names = [column.name for column in name_columns(headers)]
    assert len(set(names)) == len(names)
    assert not any(name.startswith("_") or name != name.strip() or not name for name in names)
    assert [column.name for column in name_columns(names)] == names
