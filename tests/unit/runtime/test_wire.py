"""JSON as bytes, and frames of it."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import HostFailed, HostGone
from runtime.wire import dumps, framed, loads, read_frame

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_every_json_value_comes_out_as_it_went_in(value: Any) -> None:
    assert loads(dumps(value)) == value


@pytest.mark.parametrize("number", [2**53, 2**63, 2**64 - 1, 2**64, 10**40, -(10**30)])
def test_integers_of_any_size_are_exact(number: int) -> None:
    assert loads(dumps({"n": number})) == {"n": number}
    assert loads(str(number).encode()) == number


def test_a_lone_surrogate_travels() -> None:
    assert loads(dumps("a\ud800")) == "a\ud800"


def test_numbers_that_are_none_become_null() -> None:
    assert loads(dumps([math.nan, math.inf])) == [None, None]


def stream(*parts: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for part in parts:
        reader.feed_data(part)
    reader.feed_eof()
    return reader


async def test_frames_are_read_one_by_one_until_the_stream_ends() -> None:
    reader = stream(framed({"id": 1}), framed([2]))
    assert await read_frame(reader) == {"id": 1}
    assert await read_frame(reader) == [2]
    with pytest.raises(HostGone):
        await read_frame(reader)


async def test_a_stream_that_ends_inside_a_frame_is_gone() -> None:
    with pytest.raises(HostGone):
        await read_frame(stream(framed({"id": 1})[:-1]))


@pytest.mark.parametrize("content", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x04nope"])
async def test_what_is_no_frame_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"frame|JSON|character|literal"):
        await read_frame(stream(content))


def test_a_value_that_is_too_large_to_travel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.wire.LARGEST_FRAME", 10)
    with pytest.raises(HostFailed, match="too large"):
        framed("x" * 10)
