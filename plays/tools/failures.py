"""The table of refusals that most providers share: HTTP status to category, code and retryable. Pure.

A provider whose status codes mean something else (403 for "too fast", 400 for a miss) has a table of its own
in its folder, and builds on this one.
"""

from __future__ import annotations

import math
import time
from http import HTTPStatus

from plays.tools.definitions import Category, Failure, Json, ProviderReply, Unreadable
from runtime.retrying import retry_after_seconds

MESSAGE_MAX = 300
QUOTA_SECONDS = 3600.0
"""A provider that says "later" by more than this has used up a quota; asking again soon is no use."""

REFUSALS: dict[int, tuple[Category, str, bool]] = {
    400: ("validation", "invalid_input", False),
    401: ("authentication", "unauthorized", False),
    402: ("billing", "payment_required", False),
    403: ("authentication", "forbidden", False),
    408: ("upstream", "provider_timeout", True),
    409: ("upstream", "provider_conflict", True),
    413: ("validation", "too_large", False),
    422: ("validation", "invalid_input", False),
    425: ("upstream", "provider_conflict", True),
    429: ("rate_limit", "rate_limited", True),
}


def failure_of(reply: ProviderReply) -> Failure | None:
    """Give the failure that a reply's status says, or None for a 200 or 201.

    The message is the provider's own where its body has one.
    """
    if reply.status in (HTTPStatus.OK, HTTPStatus.CREATED):
        return None
    return failure_for(reply.status, message_of(reply), reply.headers.get("retry-after"))


def failure_for(status: int, message: str, retry_after: str | None = None) -> Failure:
    """Give the failure of a status and message, of a whole reply or of one call in a bulk reply."""
    message = message or f"the provider answered {status}"
    if status in REFUSALS:
        category, code, retryable = REFUSALS[status]
        failure = Failure(code, category, message, retryable)
        return _rate_limited(message, retry_after) if category == "rate_limit" else failure
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        wait = _seconds(retry_after) if retry_after else None
        return Failure("provider_error", "upstream", message, True, wait, is_unknown=True)
    return Failure("unexpected_status", "upstream", f"{message} (HTTP {status})")


def unreadable(message: str) -> Failure:
    """Give the failure of a reply that makes no sense."""
    return Failure("unreadable_reply", "upstream", message, retryable=True, is_unknown=True)


def message_of(reply: ProviderReply) -> str:
    """Find the sentence in an error's body: ``error.message``, ``message``, ``error`` or ``detail``."""
    try:
        told = reply.json()
    except Unreadable:
        return ""
    return clipped(_sentence(told))


def clipped(message: str) -> str:
    """Give a provider's message in a length that a cell can show."""
    return message if len(message) <= MESSAGE_MAX else message[: MESSAGE_MAX - 3] + "..."


def _sentence(told: Json) -> str:
    if not isinstance(told, dict):
        return ""
    inner = told.get("error")
    if isinstance(inner, dict):
        return _sentence(inner)
    for name in ("message", "error", "detail"):
        if isinstance(told.get(name), str):
            return str(told[name])
    return ""


def _rate_limited(message: str, retry_after: str | None) -> Failure:
    wait = _seconds(retry_after)
    if wait > QUOTA_SECONDS:
        return Failure("quota_used_up", "quota", message, False, wait)
    return Failure("rate_limited", "rate_limit", message, True, wait)


def _seconds(retry_after: str | None) -> float:
    seconds = retry_after_seconds(retry_after, time.time())
    return seconds if math.isfinite(seconds) else retry_after_seconds(None, 0.0)
