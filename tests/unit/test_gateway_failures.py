"""What a provider's refusal means, and how the gateway tells it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from plays.gateway.budgets import used_up
from plays.gateway.errors import status_of
from plays.tools.definitions import Failure, ProviderReply
from plays.tools.failures import failure_of


def refused(status: int, body: Any = None, **headers: str) -> Failure:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    failure = failure_of(ProviderReply(status, told, content))
    assert failure is not None
    return failure


@pytest.mark.parametrize(
    ("status", "category", "code", "retryable"),
    [
        (400, "validation", "invalid_input", False),
        (401, "authentication", "unauthorized", False),
        (402, "billing", "payment_required", False),
        (403, "authentication", "forbidden", False),
        (404, "upstream", "unexpected_status", False),
        (408, "upstream", "provider_timeout", True),
        (413, "validation", "too_large", False),
        (422, "validation", "invalid_input", False),
        (429, "rate_limit", "rate_limited", True),
        (500, "upstream", "provider_error", True),
        (503, "upstream", "provider_error", True),
        (302, "upstream", "unexpected_status", False),
        (204, "upstream", "unexpected_status", False),
    ],
)
def test_a_status_has_its_meaning(status: int, category: str, code: str, retryable: bool) -> None:
    failure = refused(status)

    assert (failure.category, failure.code, failure.retryable) == (category, code, retryable)


@pytest.mark.parametrize("status", [200, 201])
def test_a_success_is_no_failure(status: int) -> None:
    assert failure_of(ProviderReply(status, {}, b"{}")) is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("1", 1.0),
        ("1.5", 1.5),
        ("0", 0.001),
        ("-3", 0.001),
        ("", 1.0),
        ("soon", 1.0),
        ("nan", 1.0),
    ],
)
def test_seconds_to_wait_are_read(header: str, seconds: float) -> None:
    # rule 1.3, 2.7
    assert refused(429, retry_after=header).retry_after == seconds


def test_a_date_to_wait_for_is_read() -> None:
    # case R1
    ahead = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=90), usegmt=True)

    assert 80 < (refused(429, retry_after=ahead).retry_after or 0) <= 90
    assert refused(429, retry_after=past).retry_after == 0.001


def test_a_wait_of_days_is_a_quota_and_not_a_moment() -> None:
    # case R3
    failure = refused(429, {"message": "quota resets in 16 days"}, retry_after=str(16 * 86400))

    assert (failure.category, failure.retryable) == ("quota", False)
    assert failure.retry_after == 16 * 86400


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "no such domain"}}, "no such domain"),
        ({"message": "slow down"}, "slow down"),
        ({"error": "bad key"}, "bad key"),
        ({"detail": "gone"}, "gone"),
        (b"<html>", "the provider answered 422"),
        ([1], "the provider answered 422"),
        ({"error": {"message": 5}}, "the provider answered 422"),
    ],
)
def test_the_providers_own_sentence_is_kept(body: Any, message: str) -> None:
    assert refused(422, body).message == message


def test_a_long_sentence_is_clipped() -> None:
    assert len(refused(500, {"message": "x" * 5000}).message) == 300


def test_a_failure_that_may_have_done_the_work_is_told_from_one_that_has_not() -> None:
    assert refused(500).is_unknown
    assert not refused(422).is_unknown
    assert not refused(429).is_unknown


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (Failure("in_flight", "rate_limit", "."), 425),
        (Failure("in_doubt", "internal", "."), 424),
        (Failure("timed_out", "network", "."), 504),
        (Failure("limit_reached", "limit", "."), 402),
        (Failure("rate_limited", "rate_limit", "."), 429),
        (Failure("provider_error", "upstream", "."), 502),
        (Failure("invalid_input", "validation", "."), 422),
    ],
)
def test_a_single_calls_failure_has_an_http_status(failure: Failure, status: int) -> None:
    assert status_of(failure) == status


def test_a_limits_sentence_names_the_limit_its_value_and_where_to_change_it() -> None:
    limits = {"max_tool_call_count": 500, "max_tool_calls_per_row": 20}
    failure = used_up("max_tool_call_count", limits, 25)

    assert failure.category == "limit"
    assert failure.message == (
        "This run has used up its limit of 1000 tool calls (max_tool_call_count 500"
        " + max_tool_calls_per_row 20 x 25 rows). An administrator can raise max_tool_call_count on"
        " this run in the admin under Runs; new runs take it from their governance profile."
    )


def test_a_limit_without_rows_is_told_by_its_number_alone() -> None:
    message = used_up("max_credits", {"max_credits": "12.5000"}, 0).message

    assert message.startswith("This run has used up its limit of 12.5 credits (max_credits 12.5).")
