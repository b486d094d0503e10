"""Lines -> records: the one place that decides what is a record, a blank line or a reject.

Scanning and reading both go through here, so that record N is the same record for both. The parsing
is done by Python's csv reader; :class:`RecordSource` watches which lines it takes for each record.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from plays.uploads.encodings import Encoding
from plays.uploads.formulas import restore_cell
from plays.uploads.lines import OverlongLineError, split_lines
from plays.uploads.separators import Separators
from plays.uploads.shapes import MEBIBYTE, UploadError

# A setting of the whole process, so it is set once, to a constant: lowering and restoring it around
# each file would race between threads. What bounds a cell is RecordSource, which can name the line.
csv.field_size_limit(2**31 - 1)

Parsed = list[str] | str
"""The cells of a record, or the reason why it has to be rejected."""

_LINE_END = re.compile(r"\r\n|\r|\n")


class RecordSource:
    """Iterates over the records of a file, or of a part that begins at one, blank ones included.

    ``blocks`` are consecutive bytes without the file's preamble, cut anywhere.

    While a record is being looked at, ``raw`` are its bytes, valid until the next one is taken,
    ``lines`` the number of its lines, and ``text`` the last of them; ``line`` is the number of
    lines taken so far. NUL becomes U+FFFD, because PostgreSQL can hold no NUL in text;
    ``replaced_nuls`` counts them, and ``restored`` the cells that lost their apostrophe.

    A record whose quotes are wrong within one line comes as a reason. UploadError is raised where a
    quote may have swallowed the records after it, where a record is longer than ``record_bytes``,
    and where bytes cannot be decoded; its sentence names the line.
    """

    def __init__(
        self, blocks: Iterable[bytes], encoding: Encoding, separators: Separators, record_bytes: int
    ) -> None:
        self.line = 0
        self.lines = 0
        self.raw = bytearray()
        self.text = ""
        self.replaced_nuls = 0
        self.restored = 0
        self._encoding = encoding
        self._separators = separators
        self._record_bytes = record_bytes
        self._lines = split_lines(blocks, encoding, record_bytes)
        self._has_apostrophe = False
        self._is_at_end = False

    def __iter__(self) -> Iterator[Parsed]:
        delimiter, quote = self._separators
        reader = csv.reader(self._texts(), delimiter=delimiter, quotechar=quote, strict=True)
        while True:
            self.raw.clear()
            self.lines, self._has_apostrophe = 0, False
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield self._misquoted()
            else:
                yield self._restored(cells) if self._has_apostrophe else cells

    @property
    def first_line(self) -> int:
        """The line on which the present record begins."""
        return self.line - self.lines + 1

    def is_blank(self, cells: list[str]) -> bool:
        """Tell whether the present record is a line of nothing but white space.

        A line of delimiters is a record of empty cells, and so is a lone pair of quotes.
        """
        return len(cells) < 2 and self.text.isspace()

    def _texts(self) -> Iterator[str]:
        try:
            for raw, text in self._lines:
                if len(self.raw) + len(raw) > self._record_bytes:
                    raise OverlongLineError
                self.line += 1
                self.lines += 1
                self.raw += raw
                self.text = self._cleaned(text)
                yield self.text
        except UnicodeDecodeError:
            raise self._undecodable() from None
        except OverlongLineError:
            raise self._too_long() from None
        self._is_at_end = True

    def _cleaned(self, text: str) -> str:
        if "\0" in text:
            self.replaced_nuls += text.count("\0")
            text = text.replace("\0", "\ufffd")
        if "'" in text:
            self._has_apostrophe = True
        return text

    def _restored(self, cells: list[str]) -> list[str]:
        restored = [restore_cell(cell) for cell in cells]
        self.restored += sum(a is not b for a, b in zip(cells, restored, strict=True))
        return restored

    def _misquoted(self) -> str:
        """Give the reason where the damage ends with the line; raise where it may not."""
        quote = self._separators.quote
        is_balanced = self.raw.decode(self._encoding.name).count(quote) % 2 == 0
        if self.lines == 1 and is_balanced and not self._is_at_end:
            return f"text follows a closing quote; a {quote} inside a quoted cell must be doubled"
        line = self._opening_line()
        end = "is never closed" if self._is_at_end else f"is closed wrongly on line {self.line}"
        raise UploadError(
            f"The quote opened on line {line} {end}: close it, or double each {quote} inside"
            " the cell.",
            line,
        )

    def _too_long(self) -> UploadError:
        bound = f"{self._record_bytes / MEBIBYTE:g} MiB"
        if not self.raw:
            line = self.line + 1
            return UploadError(
                f"Line {line} is longer than {bound}, the most for one record.", line
            )
        line = self._opening_line()
        return UploadError(
            f"The quote opened on line {line} is still open after {bound}, the most for one record:"
            " close it.",
            line,
        )

    def _undecodable(self) -> UploadError:
        line = self.line + 1
        return UploadError(
            f"Line {line} holds bytes that are not {self._encoding.name}:"
            " save the file as UTF-8, or choose the encoding that it is in.",
            line,
        )

    def _opening_line(self) -> int:
        """Find the line of the first cell in the present record whose quotes do not end with it."""
        delimiter, quote = (re.escape(character) for character in self._separators)
        quoted = f"{quote}[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+{quote}(?={delimiter})"
        plain = f"(?!{quote})[^{delimiter}]*+(?={delimiter})"
        text = self.raw.decode(self._encoding.name)
        sound = re.match(f"(?:(?:{quoted}|{plain}){delimiter})*+", text)
        before = text[: sound.end()] if sound else ""
        return self.first_line + len(_LINE_END.findall(before))


def fit(cells: list[str], width: int) -> Parsed:
    """Give ``cells`` at ``width``: padded with empty ones where short, or a reason where too long.

    Cells beyond the width that are all empty are dropped, since nothing is lost with them.
    """
    missing = width - len(cells)
    if missing == 0:
        return cells
    if missing > 0:
        return cells + [""] * missing
    if any(cells[width:]):
        columns = "is 1 column" if width == 1 else f"are {width} columns"
        return f"it has {len(cells)} cells, but there {columns}"
    return cells[:width]
