"""Rows -> CSV bytes, streaming: the one writer behind the download in the browser and ``runplay``.

The form is RFC 4180 with one difference: lines end with LF. Every CSV reader takes that, and so do
the line tools of Unix, for which CR LF leaves a stray CR in each last cell. A cell is quoted where
it holds a comma, a quote, CR or LF.

Reading a file written here with ``plays.uploads`` and writing it again gives the same bytes.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from plays.uploads.formulas import guard_cell
from runtime.values import canonical_json

_BOM = b"\xef\xbb\xbf"
_PIECE_CHARACTERS = 64 * 1024
_PLAIN_HEADER = re.compile(r"[\w.\-][\w .\-]*")


def write_csv(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    spreadsheet_safe: bool = False,
    bom: bool = False,
) -> Iterator[bytes]:
    """Give the file in pieces of about 64 KiB, UTF-8, the header first; only ``columns`` count.

    A missing value and null are empty cells; text stays as it is; objects and lists are canonical
    JSON; booleans ``true`` and ``false``; integers exact; other numbers as JSON writes them.

    ``spreadsheet_safe`` puts an apostrophe before cells that a spreadsheet would run, by the rules
    of ``plays.uploads.formulas``. ``bom`` lets Excel see that the file is UTF-8.
    """
    if bom:
        yield _BOM
    piece: list[str] = []
    size = 0
    for line in _lines(rows, columns, spreadsheet_safe):
        piece.append(line)
        size += len(line)
        if size >= _PIECE_CHARACTERS:
            yield "".join(piece).encode()
            piece, size = [], 0
    if piece:
        yield "".join(piece).encode()


def cell_text(value: object) -> str:
    """Give a JSON value as the text of its cell, before any guarding or quoting."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return canonical_json(value)


def _lines(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], is_for_spreadsheet: bool
) -> Iterator[str]:
    yield _header_line(columns, is_for_spreadsheet)
    # Returns what write() returned: the line. It ends it with CR LF, because only then does the
    # writer quote a lone CR, which would end the record for every reader.
    write_row = csv.writer(_Line(), lineterminator="\r\n").writerow
    for row in rows:
        cells = [
            guard_cell(cell_text(row.get(column)), is_for_spreadsheet=is_for_spreadsheet)
            for column in columns
        ]
        is_blank_line = len(cells) == 1 and not cells[0].strip()
        yield f"{_quoted(cells[0]) if is_blank_line else write_row(cells)[:-2]}\n"


class _Line:
    """A file for the csv writer that hands each line straight back."""

    def write(self, line: str) -> str:
        return line


def _header_line(columns: Sequence[str], is_for_spreadsheet: bool) -> str:
    """Quote every header that is not plain: no reader then takes a part of it for a delimiter."""
    guarded = [guard_cell(column, is_for_spreadsheet=is_for_spreadsheet) for column in columns]
    cells = [cell if _PLAIN_HEADER.fullmatch(cell) else _quoted(cell) for cell in guarded]
    return ",".join(cells) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
