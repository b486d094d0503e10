"""The apostrophe that keeps a spreadsheet from running a cell: put before it, and taken off again.

Spreadsheets run a cell that begins with one of ``= + - @``, a tab or a carriage return. An export
for spreadsheets puts an apostrophe before such a cell; reading a CSV takes one off, so that a file
comes back as it left. Three rules make the two exact inverses of each other:

1. A cell that is a plain number (``-5``, ``-0.25``, ``-1e5``) is harmless and stays as it is. One
   that begins with a plus (``+49 30 123``) is guarded: a spreadsheet would drop the plus.
2. A cell that already begins with apostrophes before such a character gets one more, in every
   export.
3. Reading takes one apostrophe off a cell that begins with apostrophes before such a character.
"""

from __future__ import annotations

import re

_RUNS = ("=", "+", "-", "@", "\t", "\r")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def guard_cell(text: str, *, is_for_spreadsheet: bool) -> str:
    """Give the cell as it is written. Without ``is_for_spreadsheet`` only rule 2 applies."""
    if text.startswith("'"):
        return f"'{text}" if _GUARDED.match(text) else text
    if is_for_spreadsheet and text.startswith(_RUNS) and not _PLAIN_NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def restore_cell(text: str) -> str:
    """Give back the cell that :func:`guard_cell` was given."""
    return text[1:] if _GUARDED.match(text) else text
