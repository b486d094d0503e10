"""A failure and what came before it, to a wait or an end."""

from __future__ import annotations

import pytest

from runtime.retrying import RATE_LIMITED_IN_A_ROW, Tries, retry_after_seconds, wait_after
from runtime.tools import Failed

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def transient(retry_after: float | None = None) -> Failed:
    return Failed("no", "upstream", retryable=True, retry_after=retry_after)


def limited(retry_after: float | None = None) -> Failed:
    return Failed("later", "rate_limit", retryable=True, retry_after=retry_after)


def test_what_is_not_retryable_ends_at_once() -> None:
    assert wait_after(Failed("no", "validation"), Tries(), lambda: 0.5) is None


def test_transient_failures_end_after_three_attempts_with_growing_waits() -> None:
    # rule 1.5, case D9
    tries = Tries()
    assert [wait_after(transient(), tries, lambda: 0.5) for _ in range(3)] == [0.5, 1.0, None]


def test_a_wait_is_never_shorter_than_asked() -> None:  # case R2
    assert wait_after(transient(90.0), Tries(), lambda: 0.0) == 90.0
    assert wait_after(limited(3600.0), Tries(), lambda: 0.0) == 3600.0


@pytest.mark.parametrize("asked", [0.0, -5.0])
def test_a_wait_is_at_least_a_millisecond(asked: float) -> None:  # rule 15.12
    assert wait_after(limited(asked), Tries(), lambda: 0.0) == 0.001


def test_rate_limits_do_not_use_up_the_attempts_of_other_failures() -> None:  # rule 15.6
    tries = Tries()
    for _ in range(5):
        assert wait_after(limited(0.1), tries, lambda: 0.5) == 0.1
    assert wait_after(transient(), tries, lambda: 0.5) == 0.5


def test_twenty_rate_limits_in_a_row_are_the_end() -> None:  # rule 1.3, 15.5
    tries = Tries()
    waits = [wait_after(limited(), tries, lambda: 0.5) for _ in range(RATE_LIMITED_IN_A_ROW + 1)]
    assert waits[:-1] == [1.0] * RATE_LIMITED_IN_A_ROW
    assert waits[-1] is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 1.0),
        ("", 1.0),
        ("garbage", 1.0),
        ("inf", 1.0),
        ("0", 0.001),
        ("-5", 0.001),
        ("1.5", 1.5),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0.001),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: float) -> None:
    # case R1
    # rule 2.7
    assert retry_after_seconds(header, NOW) == pytest.approx(seconds)
