"""JSON as bytes, exactly, and frames of it on a byte stream: what travels between host and play process.

A frame is four bytes of big-endian length and that many bytes of JSON. Integers of any size come
out as they went in. This module knows nothing of what the frames mean.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import orjson

from runtime.errors import HostFailed, HostGone

Json = Any

LARGEST_FRAME = 64 * 1024 * 1024
"""Bytes of JSON in one frame at most."""

_LENGTH_BYTES = 4
# The largest integer that orjson reads exactly has 20 digits; it reads longer ones as floats. With
# all digits made zeros, and all that can stand before a number made a colon, one search finds
# those.
_SHAPE = bytes.maketrans(b"123456789,[ -", b"000000000::::")
_LONG_NUMBER = b":" + b"0" * 20


def dumps(value: Json) -> bytes:
    """Give the JSON text of a value, also of integers that do not fit 64 bits and of lone surrogates."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def loads(text: bytes) -> Json:
    """Read JSON text. Raises ValueError where it is none."""
    if _may_be_inexact(text):
        return json.loads(text)
    return orjson.loads(text)


def _may_be_inexact(text: bytes) -> bool:
    """Tell texts that orjson may not read exactly; it is right about those that it lets through."""
    shape = text.translate(_SHAPE)
    return _LONG_NUMBER in shape or shape.startswith(_LONG_NUMBER[1:]) or b"\\ud" in text


def framed(value: Json) -> bytes:
    """Give the frame of a value. Raises HostFailed where it is too large to travel."""
    body = dumps(value)
    if len(body) > LARGEST_FRAME:
        raise HostFailed(
            f"a message of {len(body):,} bytes is too large: at most {LARGEST_FRAME:,} bytes may"
            " travel at once"
        )
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


async def read_frame(stream: asyncio.StreamReader) -> Json:
    """Read the next frame. Raises HostGone at the stream's end, ValueError for what is no frame."""
    try:
        length = int.from_bytes(await stream.readexactly(_LENGTH_BYTES), "big")
        if length > LARGEST_FRAME:
            raise ValueError(f"a frame of {length} bytes is larger than {LARGEST_FRAME}")
        return loads(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise HostGone("the other end of the pipe is closed") from error
