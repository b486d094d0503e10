"""One pass over an uploaded file: chunks to store while it runs, a report when it has ended.

Memory stays bounded by the limits, however long the file is. Nothing here stores anything: who
stores the chunks must throw them away where the scan raises, which it may do at its last line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from plays.uploads.encodings import Encoding, find_encoding
from plays.uploads.formats import refuse_other_formats
from plays.uploads.records import RecordSource
from plays.uploads.sentences import warnings_for
from plays.uploads.separators import find_preamble, find_separators
from plays.uploads.shapes import (
    ByteStream,
    Chunk,
    Inspection,
    Limits,
    UploadError,
)
from plays.uploads.tally import Tally

_BLOCK_BYTES = 256 * 1024
_SAMPLE_BYTES = 64 * 1024


class Scan:
    """Iterate once over the chunks of a file; afterwards :attr:`inspection` is the report.

    ``encoding`` and ``delimiter`` override what would be found; a byte order mark overrides
    ``encoding``. Without ``has_header`` the first line is a record and columns are numbered.

    Raises UploadError, while iterating, where the file cannot be read or gives no record. Chunks
    given before are then worth nothing.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        has_header: bool = True,
        limits: Limits | None = None,
    ) -> None:
        self._inspection: Inspection | None = None
        self._limits = limits or Limits()
        self._chunks = self._scan(stream, encoding, delimiter, has_header)

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks

    @property
    def inspection(self) -> Inspection:
        """The report. RuntimeError before the last chunk was taken."""
        if self._inspection is None:
            raise RuntimeError("the report is there when all chunks have been taken")
        return self._inspection

    def _scan(
        self,
        stream: ByteStream,
        asked_encoding: str | None,
        delimiter: str | None,
        has_header: bool,
    ) -> Iterator[Chunk]:
        sample = _read(stream, _SAMPLE_BYTES)
        if not sample:
            raise UploadError("The file is empty: it holds 0 bytes.")
        encoding = find_encoding(sample, asked_encoding)
        encoding.settle(sample[: sample.rfind(b"\n") + 1])
        text = _sample_text(sample, encoding)
        is_sure = not encoding.is_guess and "\ufffd" not in text
        refuse_other_formats(sample, text, is_sure_of_text=is_sure)
        preamble = find_preamble(sample, encoding.name)
        separators = find_separators(text, preamble.delimiter if delimiter is None else delimiter)
        blocks = _blocks(sample.removeprefix(preamble.content), stream)
        source = RecordSource(blocks, encoding, separators, self._limits.record_bytes)
        source.line = preamble.lines
        tally = Tally(source, has_header, self._limits)
        yield from _chunks(source, tally, preamble.content, self._limits)
        report = tally.report(encoding, separators)
        self._inspection = replace(report, warnings=warnings_for(report, encoding))


def inspect(
    stream: ByteStream,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    has_header: bool = True,
    limits: Limits | None = None,
) -> Inspection:
    """Scan a file for its report alone; arguments and errors are those of :class:`Scan`."""
    scan = Scan(
        stream, encoding=encoding, delimiter=delimiter, has_header=has_header, limits=limits
    )
    for _ in scan:
        pass
    return scan.inspection


def _blocks(first: bytes, stream: ByteStream) -> Iterator[bytes]:
    yield first
    while block := _read(stream, _BLOCK_BYTES):
        yield block


def _read(stream: ByteStream, size: int) -> bytes:
    """Read ``size`` bytes, fewer only at the end; a stream may give less than it is asked for."""
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _sample_text(sample: bytes, encoding: Encoding) -> str:
    """Decode the sample for looking at, without its last line where that may be cut."""
    text = sample.decode(encoding.name, errors="replace").removeprefix("\ufeff")
    if len(sample) < _SAMPLE_BYTES:
        return text
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text


def _chunks(source: RecordSource, tally: Tally, preamble: bytes, limits: Limits) -> Iterator[Chunk]:
    """Gather whole records; ``tally`` says of each whether it counts. Chunk 0 gets the header."""
    counts = tally.counts
    content, number, first = bytearray(preamble), 0, 0
    for parsed in source:
        if len(content) + len(source.raw) > limits.chunk_bytes and tally.has_columns:
            yield Chunk(number, first, counts.records - first, bytes(content))
            content, number, first = bytearray(), number + 1, counts.records
        content += source.raw
        tally.count(parsed)
        if len(content) > limits.record_bytes and not tally.has_columns:
            raise UploadError(f"The file begins with {source.line} blank lines: take them out.")
    yield Chunk(number, first, counts.records - first, bytes(content))
