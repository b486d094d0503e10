"""What makes two calls the same."""

from __future__ import annotations

from dataclasses import replace

from plays.gateway.keys import call_key
from runtime.tools import ToolSpec

FIND = ToolSpec("find", "prov", "email")
SEND = replace(FIND, id="send", repeatable=False)


def test_equal_inputs_of_a_repeatable_tool_share_a_key_whatever_they_are_called() -> None:
    one = call_key(1, FIND, "1", "run-1/map/row", {"a": 1, "b": "x"})
    other = call_key(1, FIND, "1", "run-2/elsewhere", {"b": "x", "a": 1})

    assert one == other
    assert len(one) == 64


def test_workspace_tool_version_and_input_each_make_another_key() -> None:
    keys = {
        call_key(1, FIND, "1", "n", {"a": 1}),
        call_key(2, FIND, "1", "n", {"a": 1}),
        call_key(1, FIND, "2", "n", {"a": 1}),
        call_key(1, replace(FIND, id="other"), "1", "n", {"a": 1}),
        call_key(1, FIND, "1", "n", {"a": "1"}),
        call_key(1, FIND, "1", "n", {"a": None}),
    }

    assert len(keys) == 6


def test_a_tool_with_effects_is_keyed_by_the_name_of_the_wish() -> None:
    assert call_key(1, SEND, "1", "run/row-1", {"a": 1}) != call_key(
        1, SEND, "1", "run/row-2", {"a": 1}
    )
    assert call_key(1, SEND, "1", "run/row-1", {}) == call_key(1, SEND, "1", "run/row-1", {})


def test_an_input_that_the_database_cannot_hold_has_the_key_of_what_it_will_hold() -> None:
    assert call_key(1, FIND, "1", "n", {"a": "x\x00"}) == call_key(
        1, FIND, "1", "n", {"a": "x\ufffd"}
    )
