"""What a scan tells the person beside its numbers: one sentence for each thing that was changed.

Nothing that differs from the file as given goes untold.
"""

from __future__ import annotations

from collections.abc import Iterator

from plays.uploads.encodings import Encoding
from plays.uploads.separators import DELIMITERS
from plays.uploads.shapes import Counts, Inspection

_RENAMES_SHOWN = 5


def warnings_for(report: Inspection, encoding: Encoding) -> tuple[str, ...]:
    """Give the sentences, the ones about the whole file first."""
    return (*_of_encoding(encoding), *_of_columns(report), *_of_records(report))


def _of_encoding(encoding: Encoding) -> Iterator[str]:
    if encoding.overruled:
        yield (
            f"The file's byte order mark says {encoding.name}, so it was read as that and not as"
            f" {encoding.overruled}."
        )
    if encoding.is_guess:
        yield (
            f"The file is not UTF-8 and was read as {encoding.name}; choose another encoding if"
            " letters look wrong."
        )


def _of_columns(report: Inspection) -> Iterator[str]:
    if len(report.columns) == 1 and any(d in report.columns[0].original for d in DELIMITERS):
        yield (
            f"Only one column was found with the delimiter {report.dialect.delimiter!r}; choose"
            " another if the header shows one."
        )
    renamed = [column for column in report.columns if column.renamed]
    if not renamed or not report.dialect.has_header:
        return
    shown = ", ".join(
        f"column {column.index + 1} {_quoted(column.original)} is called {column.name}"
        for column in renamed[:_RENAMES_SHOWN]
    )
    more = len(renamed) - _RENAMES_SHOWN
    rest = f", and {more} more" if more > 0 else ""
    yield f"Headers that are empty, repeated or hidden were changed: {shown}{rest}."


def _of_records(report: Inspection) -> Iterator[str]:
    counts = report.counts
    if counts.rejected:
        first = report.rejections[0]
        yield (
            f"{_many(counts.rejected, 'record')} left out, the first on line {first.line}:"
            f" {first.reason}."
        )
    if counts.padded:
        yield f"{_many(counts.padded, 'record')} given empty cells for columns missing at the end."
    if counts.trimmed:
        yield f"{_many(counts.trimmed, 'record')} cut after the last column: the rest was empty."
    yield from _of_characters(counts)


def _of_characters(counts: Counts) -> Iterator[str]:
    if counts.replaced_nuls:
        yield f"{_many(counts.replaced_nuls, 'NUL character')} replaced by \ufffd (U+FFFD)."
    if counts.restored:
        yield (
            f"{_many(counts.restored, 'cell')} freed of the apostrophe that keeps a spreadsheet"
            " from running what begins with =, +, - or @."
        )


def _many(count: int, noun: str) -> str:
    return f"1 {noun} was" if count == 1 else f"{count:,} {noun}s were"


def _quoted(header: str) -> str:
    return f"({header[:60]})" if header.strip() else "(without a header)"
