"""What an upload is described by: its limits, dialect, columns, chunks and report.

Plain frozen values that survive a trip through JSON. Nothing here reads a byte; the modules beside
this one fill these shapes in.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

MEBIBYTE = 1024 * 1024


class UploadError(ValueError):
    """The file cannot be read as CSV. The text is one sentence for the person who uploaded it.

    ``line`` is the physical line it speaks of, counted from 1, or None where it speaks of the file.
    """

    def __init__(self, sentence: str, line: int | None = None) -> None:
        super().__init__(sentence)
        self.line = line


class ByteStream(Protocol):
    """A binary file, an upload in progress, or stored chunks: whatever gives bytes in order."""

    def read(self, size: int, /) -> bytes:
        """Give at most ``size`` bytes; none only at the end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one scan. They bound its memory too.

    ``record_bytes``: a longer record, or a quote still open after so much, refuses the file.
    ``chunk_bytes``: a chunk is longer only where it holds one single record.
    """

    record_bytes: int = 10 * MEBIBYTE
    chunk_bytes: int = MEBIBYTE
    columns: int = 2000
    kept_rejections: int = 1000
    preview_records: int = 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the bytes of an upload become cells; with the columns, all that reading needs.

    ``encoding`` is a name that Python's codecs know. ``width`` is the number of cells of a record.
    """

    encoding: str
    delimiter: str
    quote: str
    has_header: bool
    width: int

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` gave; TypeError where a field is missing or unknown."""
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the name that rows use, the header as written, and its place from 0."""

    name: str
    original: str
    index: int
    renamed: bool

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` gave; TypeError where a field is missing or unknown."""
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive bytes of the file that begin at a record's start and end at a record's end.

    The contents of all chunks, in order, are the file to the byte. Chunk 0 begins with the byte
    order mark and the header, where there are any. ``first_record`` counts accepted records from 0.
    """

    number: int
    first_record: int
    records: int
    content: bytes


class StoredChunk(Protocol):
    """What reading needs of a chunk; a :class:`Chunk` has it, and so has a stored one."""

    @property
    def number(self) -> int:
        """0 for the chunk that begins with the header."""

    @property
    def first_record(self) -> int:
        """The number, from 0, of the first record that begins in this chunk."""

    @property
    def content(self) -> bytes | memoryview:
        """The bytes as scanned."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that was left out: the line it begins on, counted from 1, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Counts:
    """What a scan counted.

    Always ``lines == headers + records + rejected + blank + continuation``: ``headers`` are the
    header and Excel's line ``sep=;``, ``continuation`` the line ends inside quoted cells. ``padded``
    and ``trimmed`` are among ``records``; ``replaced_nuls`` and ``restored`` count characters and
    cells.
    """

    lines: int = 0
    headers: int = 0
    records: int = 0
    rejected: int = 0
    blank: int = 0
    continuation: int = 0
    padded: int = 0
    trimmed: int = 0
    replaced_nuls: int = 0
    restored: int = 0


@dataclass(frozen=True, slots=True)
class Inspection:
    """What one pass over a file found. ``warnings`` are sentences for a person.

    ``rejections`` are the first ones only (``counts.rejected`` has them all), and so is
    ``preview``: the first records, each by column name, cells cut at 1,000 characters.
    """

    dialect: Dialect
    columns: tuple[Column, ...]
    counts: Counts
    rejections: tuple[Rejection, ...]
    preview: tuple[dict[str, str], ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Give everything as plain JSON, in the shape of the fields."""
        fields = asdict(self)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}
