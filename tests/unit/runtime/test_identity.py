"""What things are called: keys, namespaces, durable names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import KeyInvalid
from runtime.identity import (
    call_name,
    content_parts,
    context_key,
    durable_name,
    row_key,
    step_column,
    table_namespace,
)


def test_a_row_key_is_typed() -> None:
    assert row_key("t", [1]) != row_key("t", ["1"])


def test_a_row_key_does_not_depend_on_the_form_of_a_number_or_of_text() -> None:
    assert row_key("t", [1]) == row_key("t", [1.0])
    assert row_key("t", ["Zoe\u0308"]) == row_key("t", ["Zo\u00eb"])


def test_the_same_row_in_two_tables_has_two_keys() -> None:
    assert row_key("t", ["a"]) != row_key("u", ["a"])


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_content_identity_does_not_depend_on_column_order(row: dict[str, str]) -> None:
    turned = dict(reversed(row.items()))
    assert row_key("t", content_parts(row, ())) == row_key("t", content_parts(turned, ()))


def test_computed_and_hidden_columns_are_no_part_of_a_row() -> None:
    assert content_parts({"a": 1, "email": "x", "_seen": True}, ["email"]) == {"a": 1}


def test_namespaces_are_normalised_and_bounded() -> None:
    assert table_namespace("Find E-mails", "My  Table!") == "find_e_mails_my_table"
    long = table_namespace("p" * 80, "t")
    assert len(long) == 63
    assert long != table_namespace("p" * 80, "u")


def test_a_name_without_a_letter_or_digit_is_refused() -> None:
    with pytest.raises(KeyInvalid, match="holds no letter or digit"):
        table_namespace("play", "!!!")


@pytest.mark.parametrize("blank", ["", "  ", None, 7])
def test_blank_names_are_refused_with_the_operation(blank: object) -> None:
    with pytest.raises(KeyInvalid, match=r"ctx\.step"):
        context_key(blank, "ctx.step")


def test_durable_names_cannot_run_into_one_another() -> None:
    assert durable_name("a/b", "c") != durable_name("a", "b/c")
    assert durable_name("a%2Fb") != durable_name("a/b")


def test_another_input_is_another_call() -> None:
    assert call_name("p", "k", {"a": 1}) != call_name("p", "k", {"a": 2})
    assert call_name("p", "k", {"a": 1, "b": 2}) == call_name("p", "k", {"b": 2, "a": 1})


def test_a_waterfall_steps_column_names_both() -> None:
    assert step_column("Work E-mail", "Sandbox A") == "work_e_mail.sandbox_a"
