"""Files that cannot be read: one clear sentence each, and the line where there is one."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from plays.uploads import Limits, UploadError, inspect


def refusal(content: bytes, **options: object) -> UploadError:
    with pytest.raises(UploadError) as caught:
        inspect(io.BytesIO(content), **options)  # type: ignore[arg-type]
    return caught.value


def workbook() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("leads.csv", "a,b\n1,2\n")
    return file.getvalue()


# case V13
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty: it holds 0 bytes."),
        (b"\n\r\n   \n\t\n", "The file holds only blank lines."),
        (b"\xef\xbb\xbf", "The file holds only blank lines."),
        (b"\xff\xfe", "The file holds only blank lines."),
    ],
)
def test_a_file_without_content_is_refused(content: bytes, sentence: str) -> None:
    assert str(refusal(content)) == sentence


# case V11, case V13
@pytest.mark.parametrize("content", [b"a,b,c", b"a,b,c\n", b"a,b,c\n\n\n"])
def test_a_header_alone_is_no_success(content: bytes) -> None:
    assert "holds a header with 3 columns and 0 records" in str(refusal(content))


def test_a_header_alone_without_header_is_one_record() -> None:
    assert inspect(io.BytesIO(b"a,b,c"), has_header=False).counts.records == 1


# case V11
def test_a_file_of_which_all_records_are_rejected_is_refused() -> None:
    error = refusal(b"a,b\n1,2,3\n4,5,6\n")
    assert "gives 0 records: all 2 were rejected, the first on line 2" in str(error)
    assert error.line == 2


@pytest.mark.parametrize(
    ("content", "looks_like"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"%PDF-1.7\n%\xe2\xe3\n", "a PDF document"),
        (workbook(), "an Excel workbook (.xlsx)"),
        (archive(), "a ZIP archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 60, "an old Excel workbook"),
        (b"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "an HTML page"),
        (b"\n  <html lang=en>", "an HTML page"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>", "an XML document"),
        (json.dumps([{"a": 1}, {"a": 2}]).encode(), "JSON"),
        (json.dumps({"a": 1}, indent=2).encode(), "JSON"),
        (b'{"a": 1}\n{"a": 2}\n', "JSON"),
        (bytes(range(256)) * 40, "binary content"),
        (bytes(byte for byte in range(254, -1, -1) if byte not in b"\r\n"), "binary content"),
        (b"\0" * 100, "binary content"),
    ],
)
def test_other_formats_are_recognised(content: bytes, looks_like: str) -> None:
    sentence = str(refusal(content))
    assert sentence.startswith(f"This is no CSV file: it looks like {looks_like}")
    assert sentence.endswith("save the table as CSV and upload that.")


def test_control_characters_in_valid_text_are_no_binary_content() -> None:
    assert inspect(io.BytesIO(b"a,b\n" + b"\x01,\x1f\n" * 20)).counts.records == 20


# case V9
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'a,b\n1,2\n3,"4\n5,6\n7,8\n', 3),
        (b'a,b\n"1\n2",3\n"x\ny","z\n5,6\n', 5),
        (b'a,b\n1,"2', 2),
        (b'a,"b\n1,2\n', 1),
        (b"\xff\xfe" + 'a,b\n1,"2\n3,4\n'.encode("utf-16-le"), 2),
        (b'\xef\xbb\xbf"a","b\n"1","2"\n', 1),
    ],
)
def test_a_quote_that_stays_open_names_the_line_where_it_was_opened(
    content: bytes, line: int
) -> None:
    error = refusal(content)
    assert error.line == line
    assert str(error).startswith(f"The quote opened on line {line} is ")


# case V9
def test_a_quote_that_closes_in_a_later_record_swallows_nothing() -> None:
    error = refusal(b'a,b\n"1","2\n"3","4"\n"5","6"\n')
    assert str(error) == (
        "The quote opened on line 2 is closed wrongly on line 3: close it, or double each"
        ' " inside the cell.'
    )


def test_a_record_with_an_odd_quote_is_not_skipped_over() -> None:
    assert refusal(b'a,b\n"x"y,"1\n2",3\n').line == 2


# case V9
def test_an_open_quote_in_a_long_file_stops_at_the_bound() -> None:
    stream = io.BytesIO(b'a,b\n"1\nx",2\n1,"2\n' + b"3,4\n" * 3_000_000)
    with pytest.raises(UploadError, match="opened on line 4 is still open after 10 MiB") as caught:
        inspect(stream)
    assert caught.value.line == 4
    assert stream.tell() < 11 * 1024 * 1024


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_beyond_the_bound_is_refused(encoding: str) -> None:
    content = ("a,b\n1,2\n" + "x" * 600_000).encode(encoding)
    error = refusal(content, limits=Limits(record_bytes=512 * 1024))
    assert str(error) == "Line 3 is longer than 0.5 MiB, the most for one record."
    assert error.line == 3


def test_an_overlong_line_inside_a_quote_names_the_quote() -> None:
    content = b'a,b\n1,"2\n' + b"x" * 600_000
    error = refusal(content, limits=Limits(record_bytes=512 * 1024))
    assert str(error).startswith("The quote opened on line 2 is still open after 0.5 MiB")


def test_a_file_that_begins_with_megabytes_of_blank_lines_is_refused() -> None:
    error = refusal(b"\n" * 2000 + b"a\n1\n", limits=Limits(record_bytes=1000))
    assert "begins with 1001 blank lines" in str(error)


@pytest.mark.parametrize(
    ("content", "options", "line"),
    [
        ("näme\nJürgen Größe\n".encode() + b"caf\xe9\n", {}, 3),
        (b"a\nok\ncaf\xe9\n", {"encoding": "utf-8"}, 3),
        (b"a,b\n1,\x81\n", {"encoding": "windows-1252"}, 2),
        (b"\xff\xfe" + "a\n1\n".encode("utf-16-le") + b"\x00\xd8\n\x00", {}, 3),
        (b"\xff\xfe" + "a\n1\n".encode("utf-16-le") + b"x", {}, 3),
    ],
)
def test_bytes_that_cannot_be_decoded_name_their_line(
    content: bytes, options: dict[str, object], line: int
) -> None:
    error = refusal(content, **options)
    assert error.line == line
    assert str(error).startswith(f"Line {line} holds bytes that are not ")


def test_a_file_in_utf8_turns_bad_after_megabytes_and_the_line_is_right() -> None:
    content = b"name\n" + "Jürgen\n".encode() * 200_000 + b"caf\xe9\n"
    assert refusal(content).line == 200_002


@pytest.mark.parametrize("encoding", ["klingon", "base64", "utf-7", "idna"])
def test_an_unknown_encoding_is_refused_and_known_ones_are_listed(encoding: str) -> None:
    sentence = str(refusal(b"a\n1\n", encoding=encoding))
    assert f"No encoding is called {encoding!r} here" in sentence
    assert "known are utf-8, utf-16, windows-1250 to" in sentence


@pytest.mark.parametrize("delimiter", ["", "::", "\n", '"'])
def test_a_delimiter_that_cannot_be_one_is_refused(delimiter: str) -> None:
    assert "must be one character" in str(refusal(b"a\n1\n", delimiter=delimiter))


def test_a_first_record_with_wrong_quotes_is_refused() -> None:
    error = refusal(b'"a"x,b\n1,2\n3,"4"\n')
    assert str(error).startswith("The first record, on line 1, cannot be read: text follows")
