"""Uploaded CSV files: bytes -> records, streaming. No database, no Django, no run.

A file is scanned once, when it is uploaded: :class:`Scan` gives chunks that begin at records, to be
stored, and then the report. :func:`read_records` starts at any record from the chunk that holds it.
Cells stay the text that the file holds: numbers, dates and leading zeros are not interpreted.

The rules, told to the person wherever one has changed something:

- A record shorter than the header is padded with empty cells; a longer one is rejected, unless what
  is beyond is empty. Lines of white space are skipped. All are counted, and the counts add up.
- A NUL becomes U+FFFD. A cell guarded for spreadsheets loses its apostrophe (``formulas``).
- Headers become distinct names (``headers``).
"""

from plays.uploads.headers import choose_columns
from plays.uploads.reading import ChunkStream, read_records
from plays.uploads.scanning import Scan, inspect
from plays.uploads.shapes import (
    ByteStream,
    Chunk,
    Column,
    Counts,
    Dialect,
    Inspection,
    Limits,
    Rejection,
    StoredChunk,
    UploadError,
)

__all__ = [
    "ByteStream",
    "Chunk",
    "ChunkStream",
    "Column",
    "Counts",
    "Dialect",
    "Inspection",
    "Limits",
    "Rejection",
    "Scan",
    "StoredChunk",
    "UploadError",
    "choose_columns",
    "inspect",
    "read_records",
]
