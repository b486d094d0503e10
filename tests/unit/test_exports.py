"""Writing CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from plays.exports import write_csv


def written(rows: list[dict[str, Any]], columns: list[str], **options: bool) -> str:
    return b"".join(write_csv(rows, columns, **options)).decode()


def written_cell(value: object, **options: bool) -> str:
    """Give the second cell of a record as a CSV reader sees it."""
    text = written([{"a": 1, "b": value}], ["a", "b"], **options)
    return list(csv.reader(io.StringIO(text, newline="")))[1][1]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        ("", ""),
        ("00123", "00123"),
        (" x ", " x "),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-5, "-5"),
        (1234567890123456789, "1234567890123456789"),  # case V18
        (10**30, "1" + "0" * 30),
        (1.5, "1.5"),
        (2.0, "2.0"),
        (0.1, "0.1"),
        (1e22, "1e+22"),
        (float("nan"), ""),
        (float("inf"), ""),
        ({"b": [1, None], "a": "ü"}, '{"a":"ü","b":[1,null]}'),
        ([], "[]"),
        ([{"x": True}], '[{"x":true}]'),
    ],
)
def test_each_kind_of_value_has_one_text(value: object, cell: str) -> None:
    assert written_cell(value) == cell


def test_only_the_columns_asked_for_are_written_in_their_order() -> None:
    rows = [{"b": 2, "a": 1, "_hidden": 3, "id": 9}, {"a": 4}]
    assert written(rows, ["a", "b"]) == "a,b\n1,2\n4,\n"


def test_no_rows_give_the_header() -> None:
    assert written([], ["a", "b"]) == "a,b\n"


@pytest.mark.parametrize("text", ["a,b", 'a"b', "a\nb", "a\rb", "a\r\nb", '"', "\r"])
def test_cells_are_quoted_where_a_reader_needs_it(text: str) -> None:
    expected = '"' + text.replace('"', '""') + '"'
    assert written([{"a": text, "b": 1}], ["a", "b"]) == f"a,b\n{expected},1\n"


@pytest.mark.parametrize("text", ["O'Brien", "a;b", "a|b", "x y", "ü"])
def test_other_cells_are_not_quoted(text: str) -> None:
    assert written([{"a": text}], ["a"]) == f"a\n{text}\n"


@pytest.mark.parametrize(("text", "line"), [("", '""'), (None, '""'), (" ", '" "'), ("\t", '"\t"')])
def test_a_single_blank_cell_is_no_blank_line(text: str | None, line: str) -> None:
    assert written([{"a": text}], ["a"]) == f"a\n{line}\n"


def test_headers_that_hold_another_delimiter_are_quoted() -> None:
    assert written([], ["a;b", "find.step", "c d", "ü-1"]) == '"a;b",find.step,c d,ü-1\n'


# case V15
@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30 123", "'+49 30 123"),
        ("+493012", "'+493012"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-", "'-"),
        ("-5", "-5"),
        ("-0.25", "-0.25"),
        ("-1e5", "-1e5"),
        ("-٣", "'-٣"),
        (-5, "-5"),
        (-1e-7, "-1e-7"),
        ("'=1", "''=1"),
        ("'quoted'", "'quoted'"),
        ("a=b", "a=b"),
    ],
)
def test_a_cell_that_a_spreadsheet_would_run_is_guarded(value: object, cell: str) -> None:
    assert written_cell(value, spreadsheet_safe=True) == cell


@pytest.mark.parametrize("value", ["=1+1", "+49 30 123", "-2+3", "@x", "\t=1", "'x"])
def test_a_raw_export_leaves_cells_alone(value: str) -> None:
    assert written_cell(value) == value


def test_headers_are_guarded_too() -> None:
    assert written([], ["=a"], spreadsheet_safe=True) == '"\'=a"\n'


# case V16
def test_a_byte_order_mark_comes_first_where_it_is_asked_for() -> None:
    assert b"".join(write_csv([{"a": "ü"}], ["a"], bom=True)) == b"\xef\xbb\xbfa\n\xc3\xbc\n"


def test_rows_are_written_while_they_come() -> None:
    taken = 0

    def rows() -> Iterator[dict[str, str]]:
        nonlocal taken
        for _ in range(10_000):
            taken += 1
            yield {"a": "x" * 99}

    pieces = write_csv(rows(), ["a"])
    assert len(next(pieces)) < 66_000
    assert taken < 700
