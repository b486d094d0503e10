"""Reading records from stored chunks."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import pytest

from plays.uploads import (
    Chunk,
    ChunkStream,
    Column,
    Dialect,
    Limits,
    Scan,
    UploadError,
    choose_columns,
    inspect,
    read_records,
)


def stored(
    content: bytes, chunk_bytes: int = 40
) -> tuple[Dialect, tuple[Column, ...], list[Chunk]]:
    scan = Scan(io.BytesIO(content), limits=Limits(chunk_bytes=chunk_bytes))
    chunks = list(scan)
    return scan.inspection.dialect, scan.inspection.columns, chunks


CONTENT = b"n,text\n" + b"".join(b'%d,"row\n%d"\n' % (n, n) for n in range(50))


def nearest(chunks: list[Chunk], offset: int) -> int:
    return max(chunk.number for chunk in chunks if chunk.first_record <= offset)


@pytest.mark.parametrize("offset", [0, 1, 17, 49, 50, 99])
@pytest.mark.parametrize("limit", [None, 0, 1, 30])
def test_an_offset_and_a_limit_give_a_slice(offset: int, limit: int | None) -> None:
    dialect, columns, chunks = stored(CONTENT)
    everything = list(read_records(chunks, dialect, columns))
    assert [record["n"] for record in everything] == [str(n) for n in range(50)]
    end = None if limit is None else offset + limit
    from_nearest = chunks[nearest(chunks, offset) :]
    found = list(read_records(from_nearest, dialect, columns, offset=offset, limit=limit))
    assert found == everything[offset:end]


def test_chunks_are_asked_for_only_when_they_are_needed() -> None:
    dialect, columns, chunks = stored(CONTENT)
    asked: list[int] = []

    def asking() -> Iterator[Chunk]:
        for chunk in chunks:
            asked.append(chunk.number)
            yield chunk

    wanted = chunks[0].records + chunks[1].records
    assert len(list(read_records(asking(), dialect, columns, limit=wanted))) == wanted
    assert asked == [0, 1]


def test_no_chunks_give_no_records() -> None:
    dialect, columns, _ = stored(CONTENT)
    assert list(read_records([], dialect, columns)) == []


def test_chunks_that_begin_behind_the_offset_are_a_mistake() -> None:
    dialect, columns, chunks = stored(CONTENT)
    with pytest.raises(ValueError, match="the first chunk begins at record"):
        next(read_records(chunks[5:], dialect, columns, offset=2))


def test_stored_bytes_may_come_as_a_memoryview() -> None:
    dialect, columns, chunks = stored(CONTENT)

    class Row:
        number, first_record, content = 0, 0, memoryview(chunks[0].content)

    assert next(read_records([Row()], dialect, columns)) == {"n": "0", "text": "row\n0"}


def test_rejects_and_blank_lines_have_no_number() -> None:
    dialect, columns, chunks = stored(b'a,b\n1,2\n\n1,2,3\n"x"y,2\n \n3\n5,6\n', chunk_bytes=1)
    assert [chunk.first_record for chunk in chunks] == [0, 0, 1, 1, 1, 1, 1, 2]
    [last] = read_records(chunks[7:], dialect, columns, offset=2)
    assert last == {"a": "5", "b": "6"}
    assert list(read_records(chunks, dialect, columns, offset=1)) == [{"a": "3", "b": ""}, last]


# case V8
def test_stored_chunks_can_be_read_again_with_another_dialect() -> None:
    content = b'a;b,c\n1;2,"3\n4;5"\n8;9,0\n'
    dialect, _, chunks = stored(content, chunk_bytes=1)
    assert dialect.delimiter == ";"
    assert [chunk.records for chunk in chunks] == [0, 1, 1, 1]
    other = inspect(ChunkStream(chunks), encoding=dialect.encoding, delimiter=",")
    found = list(read_records(chunks, other.dialect, other.columns))
    assert found == [{"a;b": "1;2", "c": "3\n4;5"}, {"a;b": "8;9", "c": "0"}]


def test_a_chunk_stream_gives_the_file_in_any_size() -> None:
    _, _, chunks = stored(CONTENT)
    stream = ChunkStream([chunks[0], replace(chunks[0], content=b""), *chunks[1:]])
    assert b"".join(iter(lambda: stream.read(11), b"")) == CONTENT
    assert stream.read(11) == b""


@pytest.fixture
def columns() -> tuple[Column, ...]:
    return inspect(io.BytesIO(b"E-Mail, Name ,E-Mail,_x\n1,2,3,4\n")).columns


def test_columns_are_renamed_by_name_or_by_header_as_written(columns: tuple[Column, ...]) -> None:
    chosen = choose_columns(columns, rename={"E-Mail": "email", " Name ": "name", "E-Mail_2": "b"})
    assert [column.name for column in chosen] == ["email", "name", "b", "x"]
    assert [column.renamed for column in chosen] == [True] * 4


def test_columns_are_selected_in_file_order_by_new_or_old_name(columns: tuple[Column, ...]) -> None:
    chosen = choose_columns(columns, rename={"E-Mail": "email"}, select=["_x", "email"])
    assert [(column.name, column.index) for column in chosen] == [("email", 0), ("x", 3)]
    again = choose_columns(columns, rename={"E-Mail": "email"}, select=["E-Mail"])
    assert [column.name for column in again] == ["email"]


def test_two_columns_can_swap_their_names(columns: tuple[Column, ...]) -> None:
    swap = {"Name": "x", "x": "Name"}
    chosen = choose_columns(columns, rename=swap, select=["Name"])
    assert [(column.name, column.index) for column in chosen] == [("Name", 3)]


def test_chosen_columns_are_what_records_hold(columns: tuple[Column, ...]) -> None:
    scan = Scan(io.BytesIO(b"E-Mail, Name ,E-Mail,_x\n1,2,3,4\n"))
    chunks = list(scan)
    chosen = choose_columns(columns, rename={"E-Mail": "email"}, select=["email", "x"])
    assert list(read_records(chunks, scan.inspection.dialect, chosen)) == [{"email": "1", "x": "4"}]


@pytest.mark.parametrize("options", [{"rename": {"mail": "email"}}, {"select": ["mail"]}])
def test_an_unknown_column_is_an_error_that_lists_the_columns(
    columns: tuple[Column, ...], options: dict[str, object]
) -> None:
    with pytest.raises(UploadError) as caught:
        choose_columns(columns, **options)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "The file has no column 'mail'; it has: E-Mail, Name, E-Mail_2, x."
    )


def test_a_long_list_of_columns_is_cut_in_the_error() -> None:
    wide = inspect(io.BytesIO(b",".join(b"c%d" % n for n in range(100)) + b"\n1\n")).columns
    with pytest.raises(UploadError, match="c29 and 70 more"):
        choose_columns(wide, select=["x"])


@pytest.mark.parametrize("new", ["", " a", "_hidden"])
def test_a_new_name_that_cannot_be_one_is_an_error(columns: tuple[Column, ...], new: str) -> None:
    with pytest.raises(UploadError, match="A column cannot be called"):
        choose_columns(columns, rename={"Name": new})


def test_a_new_name_that_another_column_has_is_an_error(columns: tuple[Column, ...]) -> None:
    with pytest.raises(UploadError, match="more than one column is called 'x'"):
        choose_columns(columns, rename={"Name": "x"})
