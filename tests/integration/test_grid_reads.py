"""Pages, filters, order, previews, details and tables of stored runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plays.models import ToolCall, Workspace
from plays.selectors.grid import (
    ColumnFilter,
    NoTable,
    RowsQuery,
    UnknownColumn,
    cell_detail,
    frame_state,
    row_detail,
    rows_page,
    run_state,
    run_table,
)
from tests.fake_runs import FakeRun, field_form, make_run

pytestmark = pytest.mark.django_db

BIG = 1234567890123456789012


@pytest.fixture
def fake() -> FakeRun:
    return make_run(Workspace.objects.create(name="Acme"))


def positions(fake: FakeRun, **query: Any) -> list[int]:
    page = rows_page(fake.frame, RowsQuery(**query), 0, 500)
    assert page.total == len(page.rows)
    return [row["position"] for row in page.rows]


def completed(fake: FakeRun, name: str, values: dict[int, Any]) -> None:
    fake.write(
        [
            (position, {"values": {name: value}, "cells": {name: {"status": "completed"}}})
            for position, value in values.items()
        ]
    )


def page_rows(fake: FakeRun) -> list[dict[str, Any]]:
    """Give the first page as a browser gets it."""
    import orjson

    rows: list[dict[str, Any]] = orjson.loads(
        orjson.dumps(rows_page(fake.frame, RowsQuery(), 0, 500).rows)
    )
    return rows


def test_a_page_holds_the_rows_asked_for(fake: FakeRun) -> None:
    fake.add_map(250)
    page = rows_page(fake.frame, RowsQuery(), 240, 100)
    assert [row["position"] for row in page.rows] == list(range(240, 250))
    assert page.total == 250
    assert page.sequence == fake.run.sequence
    assert rows_page(fake.frame, RowsQuery(), 900, 100).rows == []
    assert len(rows_page(fake.frame, RowsQuery(), 0, 10_000).rows) == 250


# cases G2, G3, J5, V18
def test_long_values_and_big_numbers_are_previews(fake: FakeRun) -> None:
    fake.add_map(1, columns=["text"], row="jsonb_build_object('text', repeat('y', 201))")
    told = {
        "email": "x" * 200,
        "verdict": {"a": [1, 2], "big": BIG},
        "_site": "not shown",
    }
    fake.write([(0, {"values": told, "cells": {n: {"status": "completed"} for n in told}})])
    (row,) = page_rows(fake)
    assert row["input"]["text"] == {"preview": "y" * 200, "kind": "string", "length": 201}
    assert row["cells"]["email"]["value"] == "x" * 200
    verdict = row["cells"]["verdict"]["value"]
    assert verdict["kind"] == "object"
    assert str(BIG) in verdict["preview"]
    assert "_site" not in row["cells"]

    completed(fake, "email", {0: BIG})
    assert page_rows(fake)[0]["cells"]["email"]["value"] == str(BIG)
    completed(fake, "email", {0: -(2**53)})
    assert page_rows(fake)[0]["cells"]["email"]["value"] == str(-(2**53))
    for value in (2**53 - 1, 0, -1.5, True, None, "é\u2028"):
        completed(fake, "email", {0: value})
        assert page_rows(fake)[0]["cells"]["email"]["value"] == value


def test_columns_are_the_files_then_the_visible_fields_with_their_parts(fake: FakeRun) -> None:
    frame = fake.add_map(
        1,
        columns=["email", "domain"],
        fields=["_site", "email", field_form("phone", ["phone.a", "phone.b"])],
    )
    columns = [(one["name"], one["kind"]) for one in frame_state(frame)["columns"]]
    assert columns == [
        ("email", "filled"),
        ("domain", "input"),
        ("phone", "field"),
        ("phone.a", "part"),
        ("phone.b", "part"),
    ]


def test_counts_add_up_to_the_total(fake: FakeRun) -> None:
    frame = fake.add_map(10)
    completed(fake, "email", {0: "a", 1: "b"})
    fake.cell(2, "email", "failed")
    fake.write([(0, {"status": "completed"}), (2, {"status": "failed"})])
    frame.refresh_from_db()
    told = frame_state(frame)
    assert told["rows"] == {"completed": 1, "failed": 1, "pending": 8}
    assert told["fields"] == {
        "email": {"completed": 2, "failed": 1, "not_started": 7},
        "verdict": {"not_started": 10},
    }


def test_rows_are_found_by_status_state_text_and_emptiness(fake: FakeRun) -> None:
    fake.add_map(6)
    completed(fake, "email", {0: "Ada@acme.example", 1: "", 2: [], 3: "100%_sure"})
    fake.cell(4, "email", "missed", None)
    fake.write([(0, {"status": "completed", "values": {"_site": "hidden"}})])

    def by(**chosen: Any) -> list[int]:
        return positions(fake, filters=(ColumnFilter("email", **chosen),))

    assert positions(fake, statuses=("completed",)) == [0]
    assert positions(fake, search="ADA@ACME") == [0]
    assert positions(fake, search="domain 6") == [5]
    assert positions(fake, search="hidden") == []
    assert positions(fake, search="first_name") == list(range(6))
    assert positions(fake, search="verdict") == []
    assert positions(fake, search="%_") == [3]
    assert by(states=("missed", "not_started")) == [4, 5]
    assert by(text="acme") == [0]
    assert by(text="0%_s") == [3]
    assert by(is_empty=True) == [1, 2, 4, 5]
    assert by(is_empty=False) == [0, 3]
    assert by(is_empty=True, states=("completed",)) == [1, 2]


@pytest.mark.parametrize("text", ['say "so"', "back\\slash", "two\nlines", "tab\there", "é\u2028x"])
def test_what_json_escapes_is_found_too(fake: FakeRun, text: str) -> None:
    fake.add_map(2)
    completed(fake, "email", {1: f"before {text} after"})
    assert positions(fake, search=text) == [1]


def test_rows_are_sorted_by_several_columns_with_numbers_by_size(fake: FakeRun) -> None:
    fake.add_map(7)
    completed(fake, "email", {0: "10", 1: 9, 2: "b", 3: "A", 4: "", 6: "10"})
    completed(fake, "verdict", {0: "x", 6: "w"})
    assert positions(fake, sort=(("email", False),)) == [1, 0, 6, 3, 2, 4, 5]
    assert positions(fake, sort=(("email", True),)) == [0, 6, 1, 2, 3, 4, 5]
    assert positions(fake, sort=(("email", False), ("verdict", False))) == [1, 6, 0, 3, 2, 4, 5]


def test_a_sorted_page_is_a_part_of_the_whole_order(fake: FakeRun) -> None:
    fake.add_map(30)
    query = RowsQuery(sort=(("domain", True),))
    whole = [row["position"] for row in rows_page(fake.frame, query, 0, 30).rows]
    pages = [rows_page(fake.frame, query, first, 7).rows for first in range(0, 30, 7)]
    assert [row["position"] for page in pages for row in page] == whole


@pytest.mark.parametrize("name", ["nothing", "_site", "x' || '", "%s"])
def test_an_unknown_column_is_refused(fake: FakeRun, name: str) -> None:
    fake.add_map(1)
    with pytest.raises(UnknownColumn):
        positions(fake, sort=((name, False),))
    with pytest.raises(UnknownColumn):
        positions(fake, filters=(ColumnFilter(name, text="x"),))
    with pytest.raises(UnknownColumn):
        cell_detail(fake.frame, 0, name)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1)
)
def test_any_column_name_can_be_sorted_and_filtered(name: str) -> None:
    workspace, _ = Workspace.objects.get_or_create(name="Names")
    fake = make_run(workspace)
    fields = [f"_{name}"] if name.startswith("_") else [name]
    fake.add_map(2, columns=[name], fields=fields)
    positions(fake, sort=((name, True),), filters=(ColumnFilter(name, ("failed",), "x", False),))
    assert cell_detail(fake.frame, 0, name) is not None


def test_a_cell_in_full_has_every_attempt_with_its_line_of_the_ledger(fake: FakeRun) -> None:
    fake.add_map(1)
    keys = {"a": "a" * 64, "b": "b" * 64}
    for name, status in (("a", "no_result"), ("b", "completed")):
        ToolCall.objects.create(
            key=keys[name],
            workspace=fake.run.workspace,
            tool=f"sandbox_{name}_email_finder",
            provider=f"sandbox_{name}",
            input={"domain": "acme.example"},
            status=status,
            result={"email": "ada@acme.example", "n": BIG} if name == "b" else None,
            attempts=2,
            latency_ms=41,
            batch_size=50,
            credits="0.4",
        )
    attempts = [
        {"tool": "sandbox_a_email_finder", "call": keys["a"], "status": "no_result"},
        {"tool": "sandbox_b_email_finder", "call": keys["b"], "status": "completed"},
        {"tool": "sandbox_c_email_finder", "call": "", "status": "failed", "error": "refused"},
    ]
    fake.cell(0, "email", "completed", "ada@acme.example", provider="b", attempts=attempts)

    told = cell_detail(fake.frame, 0, "email")

    assert told is not None
    assert told["value"] == {"kind": "string", "text": "ada@acme.example"}
    assert told["state"]["provider"] == "b"
    miss, hit, refused = told["attempts"]
    assert miss["ledger"]["status"] == "no_result"
    assert hit["ledger"]["latency_ms"] == 41
    assert hit["ledger"]["attempts"] == 2
    assert hit["ledger"]["credits"] == 0.4
    assert json.loads(hit["ledger"]["result"]) == {"email": "ada@acme.example", "n": BIG}
    assert refused["ledger"] is None
    assert refused["error"] == "refused"


def test_another_workspaces_ledger_is_not_told(fake: FakeRun) -> None:
    fake.add_map(1)
    elsewhere = Workspace.objects.create(name="Elsewhere")
    ToolCall.objects.create(key="c" * 64, workspace=elsewhere, tool="t", provider="p", input={})
    fake.cell(0, "email", "completed", "x", attempts=[{"call": "c" * 64, "status": "completed"}])
    told = cell_detail(fake.frame, 0, "email")
    assert told is not None
    assert told["attempts"][0]["ledger"] is None


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "null", ""),
        (True, "boolean", "true"),
        (BIG, "number", str(BIG)),
        (1.5, "number", "1.5"),
        ("", "string", ""),
        ({"b": 1, "a": [BIG]}, "object", f'{{"a":[{BIG}],"b":1}}'),
        ([], "array", "[]"),
    ],
)
def test_a_whole_value_is_exact_text(fake: FakeRun, value: Any, kind: str, text: str) -> None:
    fake.add_map(1)
    completed(fake, "email", {0: value})
    told = cell_detail(fake.frame, 0, "email")
    assert told is not None
    assert told["value"] == {"kind": kind, "text": text}


def test_a_row_in_full_has_its_key_its_hidden_values_and_its_text(fake: FakeRun) -> None:
    fake.add_map(2, columns=["domain"])
    fake.write(
        [
            (
                1,
                {
                    "values": {"_site": "acme.example", "email": BIG},
                    "cells": {"email": {"status": "completed"}, "_site": {"status": "completed"}},
                },
            )
        ]
    )
    told = row_detail(fake.frame, 1)
    assert told is not None
    assert told["key"] == "key-1"
    assert told["hidden"] == {"_site": "acme.example"}
    assert json.loads(told["json"]) == {"domain": "domain 2", "email": BIG}
    assert row_detail(fake.frame, 2) is None


def table_of(fake: FakeRun, frame: int | None = None) -> tuple[list[str], list[Any]]:
    table = run_table(fake.run, frame)
    return table.columns, list(table.rows)


def test_the_table_of_a_run_is_what_it_returned(fake: FakeRun) -> None:
    first = fake.add_map(1_500, columns=["domain"], fields=["_site", "size"])
    second = fake.add_map(3, table="people")
    columns, rows = table_of(fake)
    assert columns == ["first_name", "last_name", "domain", "email", "verdict"]
    assert len(rows) == 3

    result = {"kind": "map", "frame": first.pk, "columns": ["domain", "size"], "count": 1_500}
    fake.set(result={"dataset": result})
    columns, rows = table_of(fake)
    assert columns == ["domain", "size"]
    assert [row["domain"] for row in rows] == [f"domain {n + 1}" for n in range(1_500)]
    assert table_of(fake, second.pk)[0] == ["first_name", "last_name", "domain", "email", "verdict"]


def test_a_run_without_a_table_says_so(fake: FakeRun) -> None:
    with pytest.raises(NoTable, match="no table yet"):
        run_table(fake.run)
    fake.set(result={"value": 7})
    with pytest.raises(NoTable, match="returned a value"):
        run_table(fake.run)
    other = make_run(fake.run.workspace)
    other.add_map(1)
    with pytest.raises(NoTable, match="no such table"):
        run_table(fake.run, other.frame.pk)


def test_a_returned_value_is_shown_from_its_beginning(fake: FakeRun) -> None:
    fake.set(result={"value": {"found": BIG}})
    assert run_state(fake.run)["result"] == {
        "kind": "value",
        "text": f'{{"found":{BIG}}}',
        "length": 32,
    }


def test_limits_grow_with_the_rows(fake: FakeRun) -> None:
    fake.add_map(100)
    fake.set(
        limits={
            "max_tool_call_count": 500,
            "max_tool_calls_per_row": 20,
            "max_retry_count": 200,
            "max_retries_per_row": 2,
            "max_credits": "12.5",
        }
    )
    gauges = {gauge["name"]: gauge["limit"] for gauge in run_state(fake.run)["gauges"]}
    assert gauges == {"credits": 12.5, "tool_calls": 2_500.0, "retries": 400.0, "requests": None}
