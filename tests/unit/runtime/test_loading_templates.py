"""The templates and conditions of definitions, as a table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.loading.conditions import read_condition
from runtime.loading.templates import TemplateError, read_template, read_templates, render

ROOTS: dict[str, Any] = {
    "row": {
        "domain": " A.example ",
        "Company Name": "Ada & Co",
        "n": "10",
        "zero": 0,
        "no": False,
        "blank": " ",
        "nothing": None,
        "company": {"name": "Ada", "employees": 1000, "0": "key", "tags": ["x", {"y": 1}]},
        "people": [],
    },
    "input": {"country": "nl", "limits": {"low": 1.5}},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("} and {", "} and {"),
        ("{{row.domain}}", " A.example "),
        ("{{ row.domain }}", " A.example "),
        ("{{row.domain | strip}}", "A.example"),
        ("{{row.domain|strip|lower}}", "a.example"),
        ("{{row.domain | upper | strip}}", "A.EXAMPLE"),
        ("x{{row.domain | strip}}y", "xA.exampley"),
        ('{{row["Company Name"]}}', "Ada & Co"),
        ("{{row.company}}", ROOTS["row"]["company"]),
        ("{{row.company.employees}}", 1000),
        ("{{row.company.employees}}.", "1000."),
        ("{{row.company.tags[1].y}}", 1),
        ("{{row.company.tags.1.y}}", 1),
        ("{{row.company.0}}", "key"),
        ("{{row.company.tags[7]}}", None),
        ("{{row.company.tags}}!", '["x",{"y":1}]!'),
        ("{{row.company.name.more}}", None),
        ("{{input.limits.low}}", 1.5),
        ("{{input.limits.low}}{{input.country}}", "1.5nl"),
        ("{{row.missing}}", None),
        ("before {{row.missing}} after", None),
        ("before {{row.nothing}} after", None),
        ('{{row.missing | default: "x"}}', "x"),
        ('before {{row.missing | default: "x | y"}} after', "before x | y after"),
        ("{{row.missing | default: 3}}", 3),
        ('{{row.blank | default: "x"}}', "x"),
        ('{{row.people | default: "x"}}', "x"),
        ('{{row.zero | default: "x"}}', 0),
        ('{{row.no | default: "x"}}', False),
        ("{{row.no}}?", "false?"),
        ('{{row.missing | default: "X" | lower}}', "x"),
        ('{{row.missing | default: "}}{{"}}', "}}{{"),
        ("{{row.zero | lower}}", 0),
    ],
)
def test_a_template_gives(text: str, value: Any) -> None:
    found = render(read_template(text), ROOTS)
    assert (found, type(found)) == (value, type(value))


def test_templates_stand_anywhere_in_a_value() -> None:
    value = {"a": ["{{row.zero}}", {"b": "{{row.missing}}"}], "{{c}}": 1}
    assert render(read_templates(value), ROOTS) == {"a": [0, {"b": None}], "{{c}}": 1}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = read_template(text)
    except TemplateError:
        assert "{{" in text
        return
    assert "{{" in text or read == text


@given(st.text(alphabet='{}row.inpt|"[]1 :default'))
def test_any_template_is_read_or_refused(text: str) -> None:
    try:
        render(read_template(text), ROOTS)
    except TemplateError:
        assert "{{" in text


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("{{row.domain}}", True),
        ("{{row.zero}}", True),
        ("{{row.blank}}", False),
        ("{{row.missing}}", False),
        ("{{row.people}}", False),
        ({"not": "{{row.people}}"}, True),
        ({"value": "{{row.n}}", "equals": 10}, True),
        ({"value": "{{row.n}}", "equals": "10"}, True),
        ({"value": "{{row.n}}", "not_equals": 10.0}, False),
        ({"value": "{{row.no}}", "equals": 0}, False),
        ({"value": "{{row.no}}", "equals": False}, True),
        ({"value": "{{row.missing}}", "equals": None}, True),
        ({"value": "{{row.missing}}", "not_equals": 1}, True),
        ({"value": "{{row.missing}}", "at_least": 0}, False),
        ({"value": "{{row.domain}}", "at_least": 0}, False),
        ({"value": "{{row.n}}", "at_least": 10}, True),
        ({"value": "{{row.n}}", "above": 10}, False),
        ({"value": "{{row.n}}", "at_most": 10, "above": 9}, True),
        ({"value": "{{row.n}}", "at_most": 10, "above": 10}, False),
        ({"value": "{{row.n}}", "below": "{{row.company.employees}}"}, True),
        ({"value": "{{row.n}}", "below": "{{row.missing}}"}, False),
        ({"value": 2, "above": "{{input.limits.low}}"}, True),
        ({"value": "{{row.n}}", "one_of": [1, 10]}, True),
        ({"value": "{{row.n}}", "one_of": ["1", "2"]}, False),
        ({"value": "{{row.domain}}", "contains": "a.EX"}, True),
        ({"value": "{{row.company.tags}}", "contains": "x"}, True),
        ({"value": "{{row.zero}}", "contains": "0"}, False),
        ({"all": ["{{row.domain}}", "{{row.n}}"]}, True),
        ({"all": ["{{row.domain}}", "{{row.missing}}"]}, False),
        ({"any": ["{{row.domain}}", "{{row.missing}}"]}, True),
        ({"any": ["{{row.people}}", {"not": "{{row.n}}"}]}, False),
    ],
)
def test_a_condition_holds(condition: Any, holds: bool) -> None:
    assert read_condition(condition).holds(ROOTS) is holds
