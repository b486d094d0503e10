"""How the sandbox misbehaves on demand: what the texts of an input end in decides. Pure.

``flaky`` and ``rejected`` concern one call; the others take the whole request with them, as a provider's
limits, outages and refused keys do. ``short-batch`` and ``shuffled`` exist in bulk requests only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any

ENDINGS = (
    "rate-limited.test",
    "flaky.test",
    "down.test",
    "rejected.test",
    "unauthorized.test",
    "no-credits.test",
    "slow.test",
    "garbage.test",
    "short-batch.test",
    "shuffled.test",
)

SLOW_SECONDS = 5.0
FLAKY_ATTEMPTS = 2
"""A flaky input, and ``test_transient_500``, fail on so many attempts before they answer."""

RATE_LIMITED_ATTEMPTS = 1
RATE_LIMITED_HEADERS = {"retry-after": "1"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer that is no result."""

    status: int
    message: str


REFUSALS = {
    "rate-limited.test": Refusal(429, "too many requests: this is the sandbox's rate limit"),
    "down.test": Refusal(503, "the sandbox is down for this input"),
    "unauthorized.test": Refusal(401, "the sandbox does not accept this key"),
    "no-credits.test": Refusal(402, "the sandbox account has no credits left"),
}
FLAKY = Refusal(500, "the sandbox failed for a moment")
REJECTED = Refusal(422, "the sandbox rejects this input")


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a request is answered as a whole. ``length``: how many results are given, ``None``: all."""

    refusal: Refusal | None = None
    is_slow: bool = False
    is_garbage: bool = False
    is_shuffled: bool = False
    length: int | None = None


def endings(given: Json) -> set[str]:
    """Give the endings that any text of an input has."""
    odd = [text for text in _texts(given) if text.endswith(ENDINGS)]
    return {ending for text in odd for ending in ENDINGS if text.endswith(ending)}


def refusal_of_call(tool_id: str, given: Json, attempt: int) -> Refusal | None:
    """Give the refusal that concerns this call alone."""
    found = endings(given)
    if "rejected.test" in found:
        return REJECTED
    is_flaky = "flaky.test" in found or tool_id == "test_transient_500"
    return FLAKY if is_flaky and attempt <= FLAKY_ATTEMPTS else None


def conduct(inputs: Sequence[Json], attempts: Sequence[int]) -> Conduct:
    """Decide how a request with these calls is answered; the first call that is refused decides for all."""
    found = [endings(given) for given in inputs]
    refusals = (
        refusal
        for ends, attempt in zip(found, attempts, strict=True)
        if (refusal := _refusal_of_request(ends, attempt))
    )
    together = set[str]().union(*found)
    short = (at for at, ends in enumerate(found) if "short-batch.test" in ends)
    return Conduct(
        refusal=next(refusals, None),
        is_slow="slow.test" in together,
        is_garbage="garbage.test" in together,
        is_shuffled="shuffled.test" in together,
        length=next(short, None),
    )


def _refusal_of_request(found: set[str], attempt: int) -> Refusal | None:
    for ending, refusal in REFUSALS.items():
        if ending in found:
            is_over = ending == "rate-limited.test" and attempt > RATE_LIMITED_ATTEMPTS
            if not is_over:
                return refusal
    return None


def _texts(given: Json) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        for value in given.values():
            yield from _texts(value)
    elif isinstance(given, list):
        for value in given:
            yield from _texts(value)
