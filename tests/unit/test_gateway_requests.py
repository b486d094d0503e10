"""Reading the gateway's protocol, and writing it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from plays.gateway.errors import Refused
from plays.gateway.execute import Member, Outcome
from plays.gateway.requests import (
    Body,
    Request,
    batch_answer,
    read_body,
    single_answer,
)
from plays.tools import catalogue
from plays.tools.definitions import Failure, Found, LeftOut, Nothing

VERIFIER = catalogue().tool("sandbox_email_verifier")
PEOPLE = catalogue().tool("sandbox_people_search")
assert VERIFIER
assert PEOPLE


def read(content: Any, *, is_batch: bool = False, **headers: str) -> Body:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_body(body, told, is_batch=is_batch)


def test_a_single_call_has_its_key_in_the_headers() -> None:
    body = read({"payload": {"email": "a@b.test"}}, idempotency_key="k1")

    assert body.members == [Member("k1", {"email": "a@b.test"})]
    assert body.fresh_after is None


def test_a_batch_has_a_key_and_an_input_for_each_call() -> None:
    requests = [
        {"key": "a", "input": {"n": 1}},
        {"key": "b", "input": {"n": 2}, "waterfall": True},
    ]
    body = read({"payload": {"requests": requests}}, is_batch=True)

    assert body.members == [Member("a", {"n": 1}), Member("b", {"n": 2}, is_step=True)]


def test_the_waterfall_header_marks_all_calls() -> None:
    requests = [{"key": "a", "input": {}}, {"key": "b", "input": {}}]
    body = read({"payload": {"requests": requests}}, is_batch=True, x_deepline_waterfall="1")

    assert [member.is_step for member in body.members] == [True, True]


def test_the_moment_of_freshness_is_read_as_utc_where_it_names_no_zone() -> None:
    told = {"payload": {}, "fresh_after": "2026-05-01T10:00:00"}

    assert read(told, idempotency_key="k").fresh_after == datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "not JSON"),
        (b'{"payload": {"n": NaN}}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        ([], 'needs "payload"'),
        ({"payload": 5}, 'needs "payload"'),
        ({"payload": {}, "fresh_after": "yesterday"}, "ISO 8601"),
        ({"payload": {}, "fresh_after": 5}, "ISO 8601"),
    ],
)
def test_a_body_that_cannot_be_read_gets_one_sentence(content: Any, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence) as refused:
        read(content, idempotency_key="k")
    assert refused.value.status == 400


@pytest.mark.parametrize("key", ["", "x" * 65, "é", "a\tb"])
def test_a_call_without_a_usable_key_is_refused(key: str) -> None:
    with pytest.raises(Refused, match="needs an idempotency key"):
        read({"payload": {}}, idempotency_key=key)


@pytest.mark.parametrize(
    "requests", [None, [], [5], [{"key": "a"}], [{"key": "a", "input": []}], [{"input": {}}]]
)
def test_a_batch_that_cannot_be_read_is_refused_whole(requests: Any) -> None:
    with pytest.raises(Refused) as refused:
        read({"payload": {"requests": requests}}, is_batch=True)
    assert refused.value.status == 400


def test_a_batch_of_too_many_calls_is_refused() -> None:
    requests = [{"key": str(n), "input": {}} for n in range(1001)]
    with pytest.raises(Refused, match="at most 1000") as refused:
        read({"payload": {"requests": requests}}, is_batch=True)
    assert refused.value.status == 413


def test_inputs_are_made_such_as_the_database_can_hold() -> None:
    body = read(b'{"payload": {"email": "a\\u0000\\ud800b"}}', idempotency_key="k")

    assert body.members[0].input == {"email": "a\ufffd\ufffdb"}


def test_one_key_with_two_inputs_is_noticed() -> None:
    requests = [
        {"key": "a", "input": {"n": 1}},
        {"key": "a", "input": {"n": 1}},
        {"key": "a", "input": {"n": 2}},
    ]
    assert read({"payload": {"requests": requests}}, is_batch=True).repeats == {2}


def test_a_hit_is_answered_with_its_result_credits_and_source() -> None:
    outcome = Outcome(Found({"verdict": "valid"}), "live", Decimal("0.1"))
    answer = single_answer(VERIFIER, Member("k", {}), outcome, Request("r"))

    assert answer.status == 200
    assert json.loads(answer.body) == {
        "status": "completed",
        "result": {"verdict": "valid"},
        "credits": 0.1,
        "source": "live",
        "call": "k",
    }


def test_a_miss_is_answered_as_no_result() -> None:
    answer = single_answer(VERIFIER, Member("k", {}), Outcome(Nothing(), "ledger"), Request("r"))
    told = json.loads(answer.body)

    assert (told["status"], told["result"], told["source"]) == ("no_result", None, "ledger")


def test_a_failure_is_an_error_object_with_an_exact_time_to_wait() -> None:
    failure = Failure("rate_limited", "rate_limit", "slow", True, 2.3456)
    answer = single_answer(VERIFIER, Member("k", {}), Outcome(failure, "live"), Request("r1"))

    assert answer.status == 429
    assert answer.headers["retry-after"] == "2.346"
    assert json.loads(answer.body) == {
        "error": {
            "code": "rate_limited",
            "message": "slow",
            "category": "rate_limit",
            "retryable": True,
            "provider": "sandbox",
            "request_id": "r1",
            "retry_after": 2.3456,
        }
    }


def test_a_batch_is_answered_with_one_entry_per_member_in_order() -> None:
    members = [Member(key, {}) for key in "abcda"]
    outcomes = {
        "a": Outcome(Found({"n": 1}), "live", Decimal("0.1")),
        "b": Outcome(Nothing(), "ledger"),
        "c": Outcome(Failure("provider_error", "upstream", "no", True), "live"),
        "d": Outcome(LeftOut(), "live"),
    }
    answer = batch_answer(VERIFIER, Body(members, None), outcomes, Request("r"))
    told = json.loads(answer.body)["results"]

    assert [entry["key"] for entry in told] == list("abcda")
    assert [entry["status"] for entry in told] == [
        "completed", "no_result", "failed", "unattempted", "completed",
    ]  # fmt: skip
    assert told[2]["error"]["category"] == "upstream"
    assert told[3]["credits"] == 0


def test_metadata_tells_how_values_are_found_where_it_was_asked_for() -> None:
    outcome = Outcome(Found({"people": []}), "live")
    plain = single_answer(PEOPLE, Member("k", {}), outcome, Request("r"))
    told = single_answer(PEOPLE, Member("k", {}), outcome, Request("r", wants_metadata=True))

    assert "_metadata" not in json.loads(plain.body)
    assert json.loads(told.body)["_metadata"]["tool"] == {
        "toolId": "sandbox_people_search",
        "resultIdentityGetters": {"people": ["people"]},
        "listExtractorPaths": ["people"],
        "listIdentityGetters": {"people": ["people"]},
    }
