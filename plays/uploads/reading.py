"""Stored chunks -> records, from any record on, without what stands before it.

A reader needs the chunk in which its first record begins and those after it, in order. They are
read lazily: the next chunk is asked for when the one before is used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from plays.uploads.encodings import Encoding
from plays.uploads.records import RecordSource, fit
from plays.uploads.separators import Separators, find_preamble
from plays.uploads.shapes import Column, Dialect, Limits, StoredChunk


def read_records(
    chunks: Iterable[StoredChunk],
    dialect: Dialect,
    columns: Sequence[Column],
    *,
    offset: int = 0,
    limit: int | None = None,
) -> Iterator[dict[str, str]]:
    """Give the records from number ``offset`` on, at most ``limit``, as ``{column name: text}``.

    ``chunks`` are consecutive and begin with one whose ``first_record`` is at most ``offset``; the
    nearest such is the quickest. ``dialect`` is the one they were scanned with; with any other,
    they must begin at chunk 0. ``columns`` are all of the file's, or what ``choose_columns`` gave.

    Raises ValueError where the first chunk begins behind ``offset``; UploadError where the bytes do
    not fit the dialect, which after a scan with that dialect does not happen.
    """
    if limit == 0:
        return
    later = iter(chunks)
    first = next(later, None)
    if first is None:
        return
    if first.first_record > offset:
        raise ValueError(f"the first chunk begins at record {first.first_record}, not {offset}")
    begin = offset - first.first_record
    end = None if limit is None else begin + limit
    names = [column.name for column in columns]
    indexes = [column.index for column in columns]
    for cells in islice(_cells(first, later, dialect), begin, end):
        yield dict(zip(names, [cells[index] for index in indexes], strict=True))


def _cells(
    first: StoredChunk, later: Iterator[StoredChunk], dialect: Dialect
) -> Iterator[list[str]]:
    """Give the accepted records from the first chunk's beginning, each of the dialect's width."""
    encoding = Encoding(dialect.encoding)
    separators = Separators(dialect.delimiter, dialect.quote)
    is_header = first.number == 0 and dialect.has_header
    blocks = _blocks(first, later, dialect.encoding)
    source = RecordSource(blocks, encoding, separators, Limits().record_bytes)
    for parsed in source:
        if isinstance(parsed, str) or source.is_blank(parsed):
            continue
        if is_header:
            is_header = False
            continue
        cells = parsed if len(parsed) == dialect.width else fit(parsed, dialect.width)
        if not isinstance(cells, str):
            yield cells


def _blocks(first: StoredChunk, later: Iterator[StoredChunk], encoding: str) -> Iterator[bytes]:
    content = bytes(first.content)
    preamble = find_preamble(content, encoding).content if first.number == 0 else b""
    yield content.removeprefix(preamble)
    for chunk in later:
        yield bytes(chunk.content)


class ChunkStream:
    """Stored chunks as one binary file, to scan them again with another encoding or delimiter."""

    def __init__(self, chunks: Iterable[StoredChunk]) -> None:
        self._contents = (bytes(chunk.content) for chunk in chunks)
        self._held = b""

    def read(self, size: int, /) -> bytes:
        """Give at most ``size`` bytes; none only at the end."""
        while not self._held:
            content = next(self._contents, None)
            if content is None:
                return b""
            self._held = content
        given, self._held = self._held[:size], self._held[size:]
        return given
