"""The gateway's own refusals, and the form in which every failure travels.

Refused          the whole request is refused, with an HTTP status
Stopped          the run may not call any more: lease_lost or run_stopped
"""

from __future__ import annotations

from plays.tools.definitions import Category, Failure, Json

HTTP_STATUS: dict[Category, int] = {
    "validation": 422,
    "authentication": 401,
    "billing": 402,
    "quota": 429,
    "rate_limit": 429,
    "network": 502,
    "upstream": 502,
    "limit": 402,
    "internal": 500,
}
"""The HTTP status of a single call that failed, where no code below has its own."""

STATUS_BY_CODE = {"in_flight": 425, "in_doubt": 424, "timed_out": 504, "store_unavailable": 503}

CODE_TOOL = "run_javascript"
CODE_TOOL_ADVICE = (
    f"{CODE_TOOL} is no tool of a play: write the code as a step of the play instead, in a map's"
    ' .step("name", lambda row: ...) or in ctx.step("name", fn)'
)


KEY_REUSED = Failure(
    "key_reused",
    "validation",
    "this idempotency key was used for another call: a key stands for one tool and one input",
    was_sent=False,
)


class Refused(Exception):
    """The request cannot be carried out as a whole."""

    def __init__(self, status: int, failure: Failure) -> None:
        super().__init__(failure.message)
        self.status = status
        self.failure = failure


class Stopped(Exception):
    """The run that a token stands for may not call: nothing of the request was done."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def refusal(status: int, code: str, message: str, category: Category = "validation") -> Refused:
    """Give the refusal of a request that can never succeed as it is."""
    return Refused(status, Failure(code, category, message, was_sent=False))


def status_of(failure: Failure) -> int:
    """Give the HTTP status with which a single call's failure is told."""
    return STATUS_BY_CODE.get(failure.code, HTTP_STATUS[failure.category])


def error_json(failure: Failure, *, provider: str, request_id: str) -> dict[str, Json]:
    """Give the error object of a failure; ``retry_after`` in seconds where there is one."""
    told: dict[str, Json] = {
        "code": failure.code,
        "message": failure.message,
        "category": failure.category,
        "retryable": failure.retryable,
        "provider": provider,
        "request_id": request_id,
    }
    if failure.retry_after is not None:
        told["retry_after"] = failure.retry_after
    return told
