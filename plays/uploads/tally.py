"""What a scan has found so far: columns, counts, rejects, preview; and the report made of them."""

from __future__ import annotations

from plays.uploads.encodings import Encoding
from plays.uploads.headers import generated_columns, name_columns
from plays.uploads.records import Parsed, RecordSource, fit
from plays.uploads.separators import Separators
from plays.uploads.shapes import (
    Column,
    Counts,
    Dialect,
    Inspection,
    Limits,
    Rejection,
    UploadError,
)

_PREVIEW_CELL = 1000


class Tally:
    """Judges each record and counts it. The first one that is not blank sets the columns."""

    def __init__(self, source: RecordSource, has_header: bool, limits: Limits) -> None:
        self.counts = Counts(headers=source.line)
        self._source = source
        self._has_header = has_header
        self._limits = limits
        self._width = -1
        self._columns: tuple[Column, ...] = ()
        self._rejections: list[Rejection] = []
        self._preview: list[list[str]] = []

    @property
    def has_columns(self) -> bool:
        """Whether the first record that is not blank has been seen."""
        return self._width > 0

    def count(self, parsed: Parsed) -> None:
        """Count the record that the source stands at."""
        if isinstance(parsed, str):
            self._reject(parsed)
        elif len(parsed) == self._width and self._width > 1:
            self._accept(parsed)
        elif self._source.is_blank(parsed):
            self.counts.blank += 1
        elif self.has_columns:
            self._count_uneven(parsed)
        else:
            self._begin(parsed)

    def _begin(self, cells: list[str]) -> None:
        if len(cells) > self._limits.columns:
            raise UploadError(
                f"Line {self._source.first_line} has {len(cells)} cells;"
                f" a file may have {self._limits.columns} columns."
            )
        self._width = len(cells)
        if self._has_header:
            self._columns = name_columns(cells)
            self.counts.headers += 1
            self.counts.continuation += self._source.lines - 1
        else:
            self._columns = generated_columns(len(cells))
            self._accept(cells)

    def _accept(self, cells: list[str]) -> None:
        counts = self.counts
        counts.records += 1
        counts.continuation += self._source.lines - 1
        if counts.records <= self._limits.preview_records:
            self._preview.append([_clipped(cell) for cell in cells])

    def _count_uneven(self, cells: list[str]) -> None:
        fitted = fit(cells, self._width)
        if isinstance(fitted, str):
            self._reject(fitted)
            return
        self.counts.padded += len(cells) < self._width
        self.counts.trimmed += len(cells) > self._width
        self._accept(fitted)

    def _reject(self, reason: str) -> None:
        line = self._source.first_line
        if not self.has_columns:
            raise UploadError(f"The first record, on line {line}, cannot be read: {reason}.", line)
        self.counts.rejected += 1
        self.counts.continuation += self._source.lines - 1
        if len(self._rejections) < self._limits.kept_rejections:
            self._rejections.append(Rejection(line, reason))

    def report(self, encoding: Encoding, separators: Separators) -> Inspection:
        """Give the report at the end of the file, or raise UploadError where it holds no record."""
        self.counts.lines = self._source.line
        self.counts.replaced_nuls = self._source.replaced_nuls
        self.counts.restored = self._source.restored
        if not self.counts.records:
            raise self._nothing_found()
        dialect = Dialect(encoding.name, *separators, self._has_header, self._width)
        names = [column.name for column in self._columns]
        return Inspection(
            dialect=dialect,
            columns=self._columns,
            counts=self.counts,
            rejections=tuple(self._rejections),
            preview=tuple(dict(zip(names, cells, strict=True)) for cells in self._preview),
            warnings=(),
        )

    def _nothing_found(self) -> UploadError:
        if not self.has_columns:
            return UploadError("The file holds only blank lines.")
        if self._rejections:
            first = self._rejections[0]
            return UploadError(
                f"The file gives 0 records: all {self.counts.rejected} were rejected, the first on"
                f" line {first.line} because {first.reason}.",
                first.line,
            )
        columns = f"{self._width} column{'s' if self._width > 1 else ''}"
        return UploadError(
            f"The file holds a header with {columns} and 0 records: add a line below the header,"
            " or say that the file has no header."
        )


def _clipped(cell: str) -> str:
    return cell if len(cell) <= _PREVIEW_CELL else f"{cell[:_PREVIEW_CELL]}\u2026"
