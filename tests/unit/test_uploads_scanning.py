"""Scanning good files: dialects, headers, counts, chunks, and the report."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import textwrap

import pytest

from plays.uploads import (
    Chunk,
    Column,
    Dialect,
    Inspection,
    Limits,
    Scan,
    UploadError,
    inspect,
    read_records,
)


def scanned(content: bytes, **options: object) -> tuple[Inspection, list[Chunk]]:
    """Scan bytes that come in awkward pieces, and give the report with the chunks."""
    scan = Scan(Trickle(content), **options)  # type: ignore[arg-type]
    chunks = list(scan)
    assert b"".join(chunk.content for chunk in chunks) == content
    return scan.inspection, chunks


def records(content: bytes, **options: object) -> list[dict[str, str]]:
    report, chunks = scanned(content, **options)
    return list(read_records(chunks, report.dialect, report.columns))


def names(content: bytes, **options: object) -> list[str]:
    return [column.name for column in scanned(content, **options)[0].columns]


def assert_adds_up(report: Inspection) -> None:
    c = report.counts
    assert c.lines == c.headers + c.records + c.rejected + c.blank + c.continuation


class Trickle:
    """A stream that gives seven bytes at a time, as a slow upload might."""

    def __init__(self, content: bytes) -> None:
        self._file = io.BytesIO(content)

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, 7))


def test_a_plain_file_is_read_as_it_stands() -> None:
    report, chunks = scanned(b"name,domain\nAnna,acme.example\nBo,bolt.test\n")
    assert report.dialect == Dialect("utf-8", ",", '"', True, 2)
    assert [chunk.records for chunk in chunks] == [2]
    assert report.preview == (
        {"name": "Anna", "domain": "acme.example"},
        {"name": "Bo", "domain": "bolt.test"},
    )
    assert report.warnings == ()


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,2\n3,4\n", b"a,b\r\n1,2\r\n3,4\r\n", b"a,b\r1,2\r3,4\r", b"a,b\n1,2\r\n3,4"],
    ids=["lf", "crlf", "cr", "mixed, without an end"],
)
def test_every_kind_of_line_end_ends_a_record(content: bytes) -> None:
    assert records(content) == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


# case V1
@pytest.mark.parametrize("first", ["name", '"name"'])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\0\0", "utf-32-le"),
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_first_header(
    mark: bytes, encoding: str, first: str
) -> None:
    content = mark + f"{first},ort\r\nJürgen,Köln 😀\r\n".encode(encoding)
    report, chunks = scanned(content)
    assert report.columns[0] == Column("name", "name", 0, renamed=False)
    assert report.dialect.encoding == encoding
    assert report.preview == ({"name": "Jürgen", "ort": "Köln 😀"},)
    assert list(read_records(chunks, report.dialect, report.columns)) == list(report.preview)


def test_a_byte_order_mark_wins_over_what_was_asked_for_and_says_so() -> None:
    report, _ = scanned(b"\xef\xbb\xbfname\nJ\xc3\xbcrgen\n", encoding="windows-1252")
    assert report.preview == ({"name": "Jürgen"},)
    assert "byte order mark says utf-8" in report.warnings[0]


# case V2, case V3
def test_cells_stay_the_text_that_the_file_holds() -> None:
    cells = ["00123", "0600000", "1e5", "TRUE", "2024-01-02", "314659", "57e92", " x ", "-5", "NaN"]
    [record] = records(("a,b,c,d,e,f,g,h,i,j\n" + ",".join(cells) + "\n").encode())
    assert list(record.values()) == cells


# case V4
def test_repeated_headers_keep_both_columns_under_different_names() -> None:
    report, _ = scanned(b"email,email,name\na@x.test,b@y.test,Anna\n")
    assert report.preview == ({"email": "a@x.test", "email_2": "b@y.test", "name": "Anna"},)
    assert report.columns[1] == Column("email_2", "email", 1, renamed=True)
    assert "column 2 (email) is called email_2" in report.warnings[0]


def test_a_repeated_header_does_not_take_the_name_of_a_later_one() -> None:
    assert names(b"email,email,email_2\n1,2,3\n") == ["email", "email_3", "email_2"]


# case V6
def test_empty_headers_get_the_name_of_their_place() -> None:
    report, _ = scanned(b"name,,  ,domain\nAnna,1,2,acme.example\n")
    assert [c.name for c in report.columns] == ["name", "column_2", "column_3", "domain"]
    assert report.preview[0]["column_3"] == "2"
    assert "column 2 (without a header) is called column_2" in report.warnings[0]


@pytest.mark.parametrize(
    ("header", "expected"),
    [(b"_id", "id"), (b"__deepline_x", "deepline_x"), (b"___", "column_1"), (b"a\0b", "ab")],
)
def test_headers_lose_leading_underscores_and_nul(header: bytes, expected: str) -> None:
    report, _ = scanned(header + b",x\n1,2\n")
    assert report.columns[0].name == expected
    assert report.columns[0].renamed


# case V8
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(delimiter: str) -> None:
    lines = [["name", "note", "sum"], ["Anna", '"a, b; c | d\te"', "1"], ["Bo", "plain", "2"]]
    content = "".join(delimiter.join(cells) + "\n" for cells in lines).encode()
    report, _ = scanned(content)
    assert report.dialect.delimiter == delimiter
    assert report.preview[0] == {"name": "Anna", "note": "a, b; c | d\te", "sum": "1"}


def test_a_decimal_comma_in_each_record_is_no_delimiter() -> None:
    assert records(b"1,5;2,5\n3,0;4,5\n", has_header=False)[0] == {
        "column_1": "1,5",
        "column_2": "2,5",
    }


def test_the_delimiter_can_be_overridden() -> None:
    report, _ = scanned(b"a,b;c\n1,2;3\n", delimiter=",")
    assert report.preview == ({"a": "1", "b;c": "2;3"},)


def test_a_delimiter_that_the_header_does_not_hold_is_told() -> None:
    report, _ = scanned(b"a,b\n1,2\n", delimiter=";")
    assert report.preview == ({"a,b": "1,2"},)
    assert "Only one column was found with the delimiter ';'" in report.warnings[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_first_line_of_excel_that_names_the_delimiter_is_no_header(
    encoding: str, end: str
) -> None:
    content = end.join(["sep=^", "a^b", "1,5^ü", ""]).encode(encoding)
    report, chunks = scanned(content)
    assert report.preview == ({"a": "1,5", "b": "ü"},)
    assert list(read_records(chunks, report.dialect, report.columns)) == list(report.preview)
    assert (report.counts.lines, report.counts.headers) == (3, 2)
    assert_adds_up(report)


def test_a_delimiter_asked_for_wins_over_the_one_that_the_file_names() -> None:
    assert records(b"sep=;\na,b\n1,2\n", delimiter=",") == [{"a": "1", "b": "2"}]


def test_apostrophes_around_all_headers_are_quotes() -> None:
    report, _ = scanned(b"'name','note'\n'Anna','a, b'\n")
    assert report.dialect.quote == "'"
    assert report.preview == ({"name": "Anna", "note": "a, b"},)


def test_an_apostrophe_within_text_is_no_quote() -> None:
    assert records(b"name,x\nO'Brien,'tis\n") == [{"name": "O'Brien", "x": "'tis"}]


def test_quoted_cells_hold_delimiters_quotes_and_line_ends() -> None:
    content = b'a,b\n"x, ""y""","line 1\r\nline 2\rline 3\n"\n5" pipe,z\n'
    assert records(content) == [
        {"a": 'x, "y"', "b": "line 1\r\nline 2\rline 3\n"},
        {"a": '5" pipe', "b": "z"},
    ]


# case V10
def test_lines_records_rejects_and_blanks_add_up() -> None:
    content = b'\na,"b\nc"\n1,2\n \n"x\ny\nz",2\n1\n1,2,3\n1,2,,\n"a"b,2\n\t\n4,5'
    report, _ = scanned(content, delimiter=",")
    c = report.counts
    assert (c.lines, c.headers, c.records, c.rejected, c.blank) == (14, 1, 5, 2, 3)
    assert (c.continuation, c.padded, c.trimmed) == (3, 1, 1)
    assert_adds_up(report)
    assert [(r.line, r.reason) for r in report.rejections] == [
        (10, "it has 3 cells, but there are 2 columns"),
        (12, 'text follows a closing quote; a " inside a quoted cell must be doubled'),
    ]


def test_short_records_are_padded_and_told() -> None:
    report, _ = scanned(b"a,b,c\n1\n1,2\n1,2,3\n")
    assert report.preview[0] == {"a": "1", "b": "", "c": ""}
    assert report.warnings == ("2 records were given empty cells for columns missing at the end.",)


def test_empty_cells_beyond_the_last_column_lose_nothing() -> None:
    report, _ = scanned(b"a,b\n1,2,\n3,4,,\n")
    assert report.preview == ({"a": "1", "b": "2"}, {"a": "3", "b": "4"})
    assert report.warnings == ("2 records were cut after the last column: the rest was empty.",)


def test_a_line_of_delimiters_is_a_record_of_empty_cells() -> None:
    assert records(b"a\tb\n\t\n1\t2\n") == [{"a": "", "b": ""}, {"a": "1", "b": "2"}]


def test_only_the_first_rejects_are_kept_and_all_are_counted() -> None:
    report, _ = scanned(b"a,b\n1,2\n" + b"1,2,3\n" * 50, limits=Limits(kept_rejections=10))
    assert (len(report.rejections), report.counts.rejected) == (10, 50)
    assert report.warnings == (
        "50 records were left out, the first on line 3: it has 3 cells, but there are 2 columns.",
    )


# case V12
def test_nul_becomes_the_replacement_character_and_is_counted() -> None:
    content = b"a,b\n1\0,\0\0\n2,3\n"
    report, chunks = scanned(content)
    assert report.preview[0] == {"a": "1\ufffd", "b": "\ufffd\ufffd"}
    assert list(read_records(chunks, report.dialect, report.columns)) == list(report.preview)
    assert report.counts.replaced_nuls == 3
    assert report.warnings == ("3 NUL characters were replaced by \ufffd (U+FFFD).",)


# case V15
def test_a_cell_guarded_for_spreadsheets_loses_its_apostrophe_and_is_told() -> None:
    report, _ = scanned(b"phone,note,name\n'+49 30 12,''=1,O'Brien\n-5,'quoted','\n")
    assert [list(record.values()) for record in report.preview] == [
        ["+49 30 12", "'=1", "O'Brien"],
        ["-5", "'quoted'", "'"],
    ]
    assert report.counts.restored == 2
    [warning] = report.warnings
    assert warning.startswith("2 cells were freed of the apostrophe")


# case V14
@pytest.mark.parametrize("content", [b"a,b\n1,2\n3\n", b"\n \na\nb\nc", b'"a\nb",c\n1,2,3\n4,5'])
def test_a_header_makes_a_difference_of_exactly_one_record(content: bytes) -> None:
    with_header, _ = scanned(content)
    without, chunks = scanned(content, has_header=False)
    assert without.counts.records == with_header.counts.records + 1
    assert_adds_up(without)
    assert without.columns[0] == Column("column_1", "", 0, renamed=True)
    assert len(list(read_records(chunks, without.dialect, without.columns))) == len(without.preview)


def test_a_file_without_a_header_is_not_told_about_its_numbered_columns() -> None:
    assert scanned(b"1,2\n", has_header=False)[0].warnings == ()


# case V11
def test_a_cell_of_one_mebibyte_is_kept_whole() -> None:
    big = "x" * (1024 * 1024)
    assert records(f'a,b\n1,"{big}"\n2,3\n'.encode())[0]["b"] == big


def test_the_preview_cuts_long_cells_and_ends_after_twenty_records() -> None:
    report, _ = scanned(b"a,b\n" + b"x" * 5000 + b",1\n" + b"2,3\n" * 30)
    assert report.preview[0]["a"] == "x" * 1000 + "\u2026"
    assert len(report.preview) == 20


def test_a_chunk_holds_whole_records_and_about_the_wanted_bytes() -> None:
    rows = [f'{n},"line\nof {n}"\n'.encode() for n in range(1000)]
    report, chunks = scanned(b"n,text\n" + b"".join(rows), limits=Limits(chunk_bytes=500))
    assert len(chunks) > 20
    assert all(len(chunk.content) <= 500 for chunk in chunks)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    firsts = [sum(c.records for c in chunks[:n]) for n in range(len(chunks))]
    assert [chunk.first_record for chunk in chunks] == firsts
    assert report.counts.records == 1000


def test_the_header_is_in_the_first_chunk_even_where_it_is_long() -> None:
    content = b"\n" * 30 + b"a" * 40 + b",b\n" + b"1,2\n" * 3
    _, chunks = scanned(content, limits=Limits(chunk_bytes=8))
    assert chunks[0].content == content[:73]
    assert [chunk.records for chunk in chunks] == [0, 2, 1]


def test_the_report_survives_json() -> None:
    report, _ = scanned(b"a,b\n1,2\n1,2,3\n")
    stored = json.loads(json.dumps(report.to_json()))
    assert Dialect.from_json(stored["dialect"]) == report.dialect
    assert tuple(Column.from_json(c) for c in stored["columns"]) == report.columns
    assert stored["rejections"] == [
        {"line": 3, "reason": "it has 3 cells, but there are 2 columns"}
    ]
    assert stored["counts"]["records"] == 1


def test_the_report_is_refused_before_the_last_chunk() -> None:
    scan = Scan(io.BytesIO(b"a\n1\n"))
    with pytest.raises(RuntimeError):
        _ = scan.inspection


def test_inspecting_gives_the_report_of_a_scan() -> None:
    content = b"a;b\n1;2\n"
    assert inspect(io.BytesIO(content)) == scanned(content)[0]


def test_too_many_columns_are_refused() -> None:
    with pytest.raises(UploadError, match="Line 1 has 2001 cells; a file may have 2000 columns"):
        inspect(io.BytesIO(b"," * 2000 + b"\n"))


# case U2
def test_a_large_file_takes_no_more_memory_than_a_small_one() -> None:
    script = """
        import io, resource
        from plays.uploads import Scan, inspect

        class Long:
            left = 64 * 1024 * 1024
            row = b"Anna,Brandt,acme.example,00123\\n" * 1000
            def read(self, size):
                block = self.row[: min(size, self.left)]
                self.left -= len(block)
                return block

        inspect(io.BytesIO("name\\nJ\\xfcrgen\\n".encode("latin-1")))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = sum(len(chunk.content) for chunk in Scan(Long()))
        assert size == 64 * 1024 * 1024
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 20 * 1024
