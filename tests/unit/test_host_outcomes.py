"""What the gateway answers, as one outcome per member."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plays.playhost.outcomes import NoAnswer, member_outcomes

ERROR = {
    "code": "upstream_error",
    "category": "upstream",
    "message": "the provider failed",
    "provider": "sandbox_a",
    "retryable": True,
    "request_id": "r",
}


def outcomes(
    status: int, told: object, *keys: str, headers: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    found: list[Any] = member_outcomes(status, headers or {}, json.dumps(told).encode(), keys)
    return found


def test_a_single_answer_is_a_hit() -> None:
    told = {"status": "completed", "result": {"email": "a"}, "credits": 0.2, "source": "live"}
    assert outcomes(200, told | {"call": "k"}, "k") == [
        {"kind": "hit", "result": {"email": "a"}, "source": "live", "credits": 0.2, "call": "k"}
    ]


def test_no_result_is_a_miss_and_never_a_failure() -> None:  # rule 10.9
    told = {"status": "no_result", "result": None, "credits": 0, "source": "ledger", "call": "k"}
    assert outcomes(200, told, "k") == [
        {"kind": "miss", "source": "ledger", "credits": 0.0, "call": "k"}
    ]


def test_entries_are_matched_by_key_whatever_their_order() -> None:
    entries = [
        {"key": "b", "status": "no_result", "result": None, "credits": 0},
        {"key": "a", "status": "completed", "result": 1, "credits": 1},
    ]
    first, second = outcomes(200, {"results": entries}, "a", "b")
    assert (first["kind"], second["kind"]) == ("hit", "miss")


def test_a_member_that_no_entry_names_is_unattempted() -> None:  # rule 8.10
    entries = [
        {"key": "a", "status": "completed", "result": 1},
        {"key": "b", "status": "unattempted"},
    ]
    kinds = [outcome["kind"] for outcome in outcomes(200, {"results": entries}, "a", "b", "c")]
    assert kinds == ["hit", "unattempted", "unattempted"]


def test_a_batch_of_one_is_read_as_a_batch() -> None:
    entries = [{"key": "a", "status": "completed", "result": 1}]
    assert outcomes(200, {"results": entries}, "a")[0]["kind"] == "hit"


def test_a_failed_member_keeps_its_reason() -> None:  # rule 15.7
    entries = [{"key": "a", "status": "failed", "error": {**ERROR, "retry_after": 1.5}}]
    (failed,) = outcomes(200, {"results": entries}, "a")
    assert failed == {
        "kind": "failed",
        "code": "upstream_error",
        "category": "upstream",
        "message": "the provider failed",
        "provider": "sandbox_a",
        "request": "r",
        "retryable": True,
        "retry_after": 1.5,
    }


def test_a_long_sentence_is_cut_to_a_readable_length() -> None:  # rule 15.7
    error = {**ERROR, "message": "x" * 5_000}
    (failed,) = outcomes(502, {"error": error}, "a")
    assert len(failed["message"]) == 1_000


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"status": "completed", "result": {"email": "a"}}, "hit"),
        ({"status": "completed", "result": 0}, "hit"),
        ({"status": "no_result", "result": {"email": "a"}}, "miss"),
        ({"status": "failed", "result": {"email": "a"}}, "failed"),
        ({"result": {"email": "a"}}, "hit"),
        ({"result": None}, "miss"),
        ({"error": ERROR}, "failed"),
    ],
)
def test_the_status_that_is_told_counts_else_whether_there_is_a_result(
    told: dict[str, Any], kind: str
) -> None:
    # rule 15.10
    assert outcomes(200, told, "a")[0]["kind"] == kind
    assert outcomes(200, {"results": [told | {"key": "a"}]}, "a")[0]["kind"] == kind


@pytest.mark.parametrize("told", [{}, {"status": "completed"}, {"credits": 1, "call": "k"}])
def test_an_envelope_without_a_result_is_a_miss(told: dict[str, Any]) -> None:
    # rule 15.9
    (found,) = outcomes(200, told, "a")
    assert found["kind"] == "miss"
    assert "result" not in found


def test_a_refused_request_fails_every_member_with_the_time_to_wait() -> None:
    found = outcomes(429, {"error": ERROR}, "a", "b", headers={"retry-after": "0.250"})
    assert [(outcome["kind"], outcome["retry_after"]) for outcome in found] == [
        ("failed", 0.25),
        ("failed", 0.25),
    ]


def test_a_limit_keeps_the_gateways_sentence() -> None:
    error = {"code": "limit_reached", "category": "limit", "message": "max_credits is used up"}
    (failed,) = outcomes(402, {"error": error}, "a")
    assert (failed["category"], failed["message"]) == ("limit", "max_credits is used up")
    assert failed["retryable"] is False


@pytest.mark.parametrize("code", ["lease_lost", "run_stopped"])
def test_a_stop_stops_every_member(code: str) -> None:
    found = outcomes(409, {"error": {"code": code, "message": "m"}}, "a", "b")
    assert [(outcome["kind"], outcome["code"]) for outcome in found] == [("stopped", code)] * 2


def test_another_conflict_is_a_failure() -> None:
    error = {"code": "key_reused", "category": "validation", "message": "m"}
    assert outcomes(409, {"error": error}, "a")[0]["kind"] == "failed"


def test_work_that_goes_on_elsewhere_is_pending() -> None:
    assert outcomes(202, {"status": "pending", "retry_after": 30}, "a") == [
        {"kind": "pending", "retry_after": 30.0}
    ]
    entries = [{"key": "a", "status": "pending", "retry_after": 5}]
    assert outcomes(200, {"results": entries}, "a")[0]["kind"] == "pending"


def test_an_unknown_token_pauses_the_run_with_advice() -> None:
    error = {"code": "token_invalid", "category": "internal", "message": "m"}
    (failed,) = outcomes(401, {"error": error}, "a")
    assert failed["category"] == "authentication"
    assert "secret key" in failed["message"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, b"<html>bad gateway</html>"),
        (503, b'{"error": {"code": "store_unavailable", "message": "m"}}'),
        (200, b"[]"),
        (500, b'{"detail": "no object of ours"}'),
    ],
)
def test_what_the_gateway_did_not_say_itself_is_no_answer(status: int, body: bytes) -> None:
    with pytest.raises(NoAnswer):
        member_outcomes(status, {}, body, ["a"])
