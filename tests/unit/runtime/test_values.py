"""JSON values: canonical text, meaning, paths, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import NotJson
from runtime.values import (
    MISSING,
    canonical_json,
    check_json,
    digest,
    is_meaningful,
    json_or_none,
    sanitise,
    value_at_path,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_canonical_text_sorts_keys_and_has_no_spaces() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'


def test_integers_of_any_size_stay_exact() -> None:
    assert canonical_json({"id": 2**80}) == '{"id":1208925819614629174706176}'


@given(json_values)
def test_the_digest_does_not_depend_on_key_order(value: object) -> None:
    # rule 2.1
    assert digest({"a": value, "b": 1}) == digest({"b": 1, "a": value})


@pytest.mark.parametrize("miss", [None, "", "  \n", [], {}])
def test_blank_things_are_misses(miss: object) -> None:  # case E11
    # rule 2.15
    assert not is_meaningful(miss)


@pytest.mark.parametrize("value", [0, False, 0.0, "N/A", [None], {"a": None}])
def test_zero_and_false_are_values(value: object) -> None:  # case E11
    # rule 2.15
    assert is_meaningful(value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.b", 1),
        ("a..b", 1),
        ("list.1.x", 2),
        ("", {"a": {"b": 1}, "list": [0, {"x": 2}]}),
        ("a.c", MISSING),
        ("a.b.c", MISSING),
        ("list.7", MISSING),
    ],
)
def test_paths_read_dicts_and_lists(path: str, expected: object) -> None:
    # rule 2.16
    assert value_at_path({"a": {"b": 1}, "list": [0, {"x": 2}]}, path) == expected


@pytest.mark.parametrize("bad", [math.nan, math.inf, {1, 2}, b"x", object(), {1: "a"}])
def test_what_json_cannot_hold_is_refused_with_its_place(bad: object) -> None:
    with pytest.raises(NotJson, match=r"step 'x' gave .*JSON"):
        check_json({"deep": [bad]}, "step 'x'")


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(NotJson, match="contains itself"):
        check_json(loop, "step 'x'")


def test_tuples_become_lists_and_shared_values_are_no_cycle() -> None:
    shared = {"a": 1}
    assert check_json((shared, shared), "x") == [{"a": 1}, {"a": 1}]


def test_nul_surrogates_and_non_finite_numbers_are_replaced_and_counted() -> (
    None
):  # case J1, J2, J3
    clean, count = sanitise({"a\x00": ["\ud83d!", math.nan, "fine"]})
    assert clean == {"a\ufffd": ["\ufffd!", None, "fine"]}
    assert count == 3


@given(json_values)
def test_what_can_be_stored_is_not_changed(value: object) -> None:
    clean, count = sanitise(value)
    if count == 0:
        assert clean == value
    assert sanitise(clean) == (clean, 0)


def test_broken_json_reads_as_none() -> None:
    assert [json_or_none(text) for text in ("", " ", "{", "[1]")] == [None, None, None, [1]]
