"""A failure and what came before it, to a wait or an end. Pure.

Rate limits are counted apart from other failures: a provider that says "later" has not failed, so it
may say so twenty times in a row, while a transient failure ends after three attempts in all.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from runtime.tools import Failed

TRANSIENT_ATTEMPTS = 3
RATE_LIMITED_IN_A_ROW = 20
UNATTEMPTED_SENDS = 3
RETRY_AFTER_FALLBACK_SECONDS = 1.0
BACKOFF_SECONDS = 0.5
SHORTEST_WAIT_SECONDS = 0.001


@dataclass(slots=True)
class Tries:
    """What one call went through in this run: transient failures, 429s in a row, omissions."""

    transient: int = 0
    rate_limited: int = 0
    unattempted: int = 0

    @property
    def requests(self) -> int:
        """How often it was sent and came back without an answer."""
        return self.transient + self.rate_limited + self.unattempted


def wait_after(failed: Failed, tries: Tries, jitter: Callable[[], float]) -> float | None:
    """Give the seconds to wait before the next attempt, or None where there is none.

    ``jitter()`` gives a number in [0, 1). The wait is never shorter than the provider asked.
    """
    if not failed.retryable:
        return None
    if failed.category == "rate_limit":
        tries.rate_limited += 1
        if tries.rate_limited > RATE_LIMITED_IN_A_ROW:
            return None
        asked = failed.retry_after
        return max(SHORTEST_WAIT_SECONDS, RETRY_AFTER_FALLBACK_SECONDS if asked is None else asked)
    tries.rate_limited = 0
    tries.transient += 1
    if tries.transient >= TRANSIENT_ATTEMPTS:
        return None
    backoff: float = BACKOFF_SECONDS * 2 ** (tries.transient - 1) * (0.5 + jitter())
    return max(backoff, failed.retry_after or 0.0)


def retry_after_seconds(header: str | None, now: float) -> float:
    """Read a ``Retry-After`` header (RFC 9110, 10.2.3): seconds, or an HTTP date. ``now`` is Unix time.

    Absent, blank or broken: one second. Zero, negative and past dates: "now", told as a millisecond.
    """
    text = (header or "").strip()
    if not text:
        return RETRY_AFTER_FALLBACK_SECONDS
    with contextlib.suppress(ValueError):
        seconds = float(text)
        return (
            max(SHORTEST_WAIT_SECONDS, seconds)
            if math.isfinite(seconds)
            else RETRY_AFTER_FALLBACK_SECONDS
        )
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return RETRY_AFTER_FALLBACK_SECONDS
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(SHORTEST_WAIT_SECONDS, moment.timestamp() - now)
