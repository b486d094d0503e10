"""What the host accepts from a play process."""

from __future__ import annotations

from typing import Any

import pytest

from plays.playhost.messages import BadMessage, checked_arguments, checked_outcome

FIELD = {"name": "email", "digest": "d", "stale_after_seconds": None, "parts": []}
FRAME = {
    "path": "p",
    "table": "t",
    "title": "leads",
    "description": "",
    "columns": ["a"],
    "fields": [FIELD],
    "key": [],
    "explicit": False,
}
CHANGE = {
    "frame": 1,
    "position": 0,
    "status": "completed",
    "values": {"email": "a"},
    "cells": {"email": {"status": "completed", "attempts": [{"tool": "t"}]}},
}
GROUP: dict[str, Any] = {"rows": [CHANGE], "entries": [], "counters": {}, "trace": [], "logs": []}
MEMBER = {"name": "n", "input": {"a": 1}, "waterfall": False}


def test_a_message_of_the_engine_passes_unchanged() -> None:
    assert checked_arguments("rows", "open_map", [FRAME]) == (FRAME,)
    assert checked_arguments("records", "commit", [GROUP]) == (GROUP,)
    assert checked_arguments("gateway", "execute", ["t", [MEMBER]]) == ("t", [MEMBER])
    assert checked_arguments("signals", "requested", []) == ()


@pytest.mark.parametrize(
    ("port", "method", "args"),
    [
        ("secrets", "read", []),
        ("rows", "__init__", []),
        (None, None, None),
        ("rows", "claim", [1]),
        ("rows", "claim", [1, 10_001]),
        ("rows", "claim", [2**31, 1]),
        ("rows", "claim", [0, 1]),
        ("rows", "claim", {"frame": 1}),
        ("rows", "read_page", [1, -2, 10]),
        ("rows", "add_page", [1, [{"position": -1, "key": "k", "input": {}}]]),
        ("rows", "add_page", [1, [{"position": 0, "key": "k" * 100, "input": {}}]]),
        ("rows", "add_page", [1, [{"position": 0, "key": "k", "input": []}]]),
        ("rows", "open_map", [{**FRAME, "path": "p" * 501}]),
        ("records", "commit", [{**GROUP, "rows": [{**CHANGE, "status": "finished"}]}]),
        ("records", "commit", [{**GROUP, "rows": [{**CHANGE, "cells": {"a": {"status": "x"}}}]}]),
        ("records", "commit", [{**GROUP, "counters": {"requests": "many"}}]),
        ("records", "commit", [{**GROUP, "counters": {"Robert'); --": 1}}]),
        ("records", "commit", [{**GROUP, "logs": [{"at": 0, "level": "loud", "text": ""}]}]),
        ("gateway", "execute", ["t", []]),
        ("gateway", "execute", ["t", [{**MEMBER, "input": "text"}]]),
        ("library", "upload", ["upload:1", -1, 10, {}]),
    ],
)
def test_what_no_engine_sends_is_refused(port: object, method: object, args: object) -> None:
    with pytest.raises(BadMessage):
        checked_arguments(port, method, args)


def test_a_refusal_tells_no_values() -> None:
    row = {"position": 0, "key": "k", "input": "a-made-up-secret"}
    with pytest.raises(BadMessage) as caught:
        checked_arguments("rows", "add_page", [1, [row]])
    assert "a-made-up-secret" not in str(caught.value)
    assert "rows.add_page" in str(caught.value)


def test_an_end_of_a_run_is_checked_too() -> None:
    told = {
        "status": "completed",
        "result": {"value": 1},
        "error": None,
        "stop_reason": "",
        "stop_message": "",
    }
    assert checked_outcome(told).result == {"value": 1}
    for wrong in ({**told, "status": "queued"}, {**told, "result": 5}, [], None):
        with pytest.raises(BadMessage):
            checked_outcome(wrong)
