"""Blocks of bytes -> physical lines, each as its bytes and as its text.

A line ends with LF, CR LF or CR, as CSV readers take it; no other character ends one. The bytes of
all lines are the file, so whoever counts them knows where in the file a record ends.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator

from plays.uploads.encodings import Encoding

Line = tuple[bytes, str]


class OverlongLineError(Exception):
    """A line goes on for more than the allowed bytes. The record reader says which line it is."""


def split_lines(blocks: Iterable[bytes], encoding: Encoding, longest: int) -> Iterator[Line]:
    """Give the lines with their line ends.

    Raises UnicodeDecodeError or OverlongLineError in place of the line that cannot be given.
    """
    if encoding.is_wide:
        return _wide_lines(blocks, encoding.name, longest)
    return _narrow_lines(blocks, encoding, longest)


def _narrow_lines(blocks: Iterable[bytes], encoding: Encoding, longest: int) -> Iterator[Line]:
    """Cut first, decode after: an error in the bytes then falls on the line that holds it."""
    for whole in _whole_lines(blocks, longest):
        name = encoding.settle(whole)
        for line in whole.splitlines(keepends=True):
            yield line, line.decode(name)


def _whole_lines(blocks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Regroup blocks so that each holds whole lines. A CR at the very end waits: LF may follow."""
    held = b""
    for block in blocks:
        held += block
        end = max(held.rfind(b"\n"), held.rfind(b"\r", 0, len(held) - 1)) + 1
        if end:
            yield held[:end]
            held = held[end:]
        if len(held) > longest:
            raise OverlongLineError
    if held:
        yield held


def _wide_lines(blocks: Iterable[bytes], name: str, longest: int) -> Iterator[Line]:
    """Decode first, cut after. These encodings give back the same bytes when a line is encoded."""
    held = ""
    for text in _decoded(blocks, name):
        held += text
        end = max(held.rfind("\n"), held.rfind("\r", 0, len(held) - 1)) + 1
        for line in io.StringIO(held[:end], newline=""):
            yield line.encode(name), line
        held = held[end:]
        if len(held) > longest:
            raise OverlongLineError
    for line in io.StringIO(held, newline=""):
        yield line.encode(name), line


def _decoded(blocks: Iterable[bytes], name: str) -> Iterator[str]:
    """Decode block by block; before an error, give what stands before it, so lines stay counted."""
    decoder = codecs.getincrementaldecoder(name)()
    try:
        for block in blocks:
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        yield error.object[: error.start].decode(name)
        raise
