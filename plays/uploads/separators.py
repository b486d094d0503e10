"""Which character separates the cells of a file, and which one quotes them.

Decided from the decoded beginning of the file by counting, without a guess at what cells mean.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from plays.uploads.shapes import UploadError

DELIMITERS = ("\t", ";", "|", ",")
"""The candidates, rarest inside cells first: that order decides where they fit equally well, as in
a semicolon file in which every amount has a decimal comma."""

_LINES_LOOKED_AT = 200
_QUOTED_BY_APOSTROPHES = re.compile(r"\s*'[^'\r\n]*'([,;\t|]'[^'\r\n]*')*(\r|\n|$)")
_PREAMBLE = re.compile("\ufeff?(sep=([^\r\n\ufffd])(?:\r\n|\r|\n))?", re.IGNORECASE)
_PREAMBLE_BYTES = 64  # more than a mark and that line can take; a multiple of every character's


class Preamble(NamedTuple):
    """What stands before the first line of a CSV: a byte order mark, and Excel's line ``sep=;``."""

    content: bytes
    lines: int
    delimiter: str | None


def find_preamble(beginning: bytes, encoding: str) -> Preamble:
    """Give the preamble of a file that begins with these bytes; its content is often empty."""
    text = beginning[:_PREAMBLE_BYTES].decode(encoding, errors="replace")
    found = _PREAMBLE.match(text)
    if not found or not found.group():
        return Preamble(b"", 0, None)
    return Preamble(found.group().encode(encoding), 1 if found[1] else 0, found[2])


class Separators(NamedTuple):
    """The delimiter and the quote character."""

    delimiter: str
    quote: str


def find_separators(text: str, asked: str | None) -> Separators:
    """Choose from the file's first lines; ``asked`` overrides the delimiter.

    The quote is ``"``, or the apostrophe where every cell of the first line stands in apostrophes
    and no ``"`` occurs.
    """
    has_apostrophes = '"' not in text and _QUOTED_BY_APOSTROPHES.match(text)
    quote = "'" if has_apostrophes else '"'
    if asked is not None and (len(asked) != 1 or asked in '\r\n\0"' or asked == quote):
        raise UploadError(
            f"The delimiter must be one character such as , ; | or a tab, not {asked!r}."
        )
    return Separators(asked or _best_delimiter(text, quote), quote)


def _best_delimiter(text: str, quote: str) -> str:
    """Choose the one that most lines hold as often as the header does, which holds it at all."""
    lines = re.split(r"[\r\n]+", _without_quoted_cells(text, quote))
    lines = [line for line in lines if line.strip()][:_LINES_LOOKED_AT]
    shares = {candidate: _share_like_header(lines, candidate) for candidate in DELIMITERS}
    best = max(DELIMITERS, key=lambda candidate: shares[candidate])
    return best if shares[best] else ","


def _without_quoted_cells(text: str, quote: str) -> str:
    """Put a letter for each cell that stands in quotes: what it holds separates nothing."""
    is_at_cell = r"(?<![^,;\t|\r\n])"
    return re.sub(
        f"{is_at_cell}{quote}[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+{quote}", "x", text
    )


def _share_like_header(lines: list[str], delimiter: str) -> float:
    counts = [line.count(delimiter) for line in lines]
    return counts.count(counts[0]) / len(counts) if counts and counts[0] else 0.0
