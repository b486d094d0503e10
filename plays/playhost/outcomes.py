"""What the gateway answers, as one outcome per member. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from runtime.ports import MemberOutcome
from runtime.wire import loads

Json = Any

STOPS = ("lease_lost", "run_stopped")
MESSAGE_MAX = 1_000
AWAY = ("store_unavailable", "limits_unavailable")
"""A server that the gateway needs is away, and no call left for a provider."""


class NoAnswer(Exception):
    """The gateway cannot work, or what came back is not from it: it restarts, say."""


def member_outcomes(
    status: int, headers: Mapping[str, str], body: bytes, keys: Sequence[str]
) -> list[MemberOutcome]:
    """Give the outcomes of the members with these keys, in their order. Raises NoAnswer."""
    told = _object(body)
    error = told.get("error")
    if status == 202:
        return [_pending(told) for _ in keys]
    if status == 200 and len(keys) == 1 and "results" not in told:
        return [_entry(told)]
    if status == 200:
        return _batch(told, keys)
    if not isinstance(error, dict):
        raise NoAnswer(f"HTTP {status}")
    _wait_while_away(error)
    return [_refused(status, error, _retry_after(headers)) for _ in keys]


def _batch(told: Mapping[str, Json], keys: Sequence[str]) -> list[MemberOutcome]:
    """Match entries with members by key; a member that no entry names is unattempted."""
    entries = {entry.get("key"): entry for entry in told.get("results", ())}
    return [_entry(entries[key]) if key in entries else {"kind": "unattempted"} for key in keys]


def _entry(told: Mapping[str, Json]) -> MemberOutcome:
    """Give what an entry tells: its status counts, else whether it has a result."""
    match told.get("status"):
        case "completed" | None if told.get("result") is not None:
            hit = _definite("hit", told)
            hit["result"] = told["result"]
            return hit
        case "completed" | "no_result":
            return _definite("miss", told)
        case None if not told.get("error"):
            return _definite("miss", told)
        case "pending":
            return _pending(told)
        case "failed" | None:
            error = told.get("error") or {}
            _wait_while_away(error)
            return _failed(error, _number(error.get("retry_after", told.get("retry_after"))))
        case _:
            return {"kind": "unattempted"}


def _wait_while_away(error: Mapping[str, Json]) -> None:
    if error.get("code") in AWAY:
        raise NoAnswer(str(error.get("message", "")))


def _definite(kind: Literal["hit", "miss"], told: Mapping[str, Json]) -> MemberOutcome:
    return {
        "kind": kind,
        "source": "ledger" if told.get("source") == "ledger" else "live",
        "credits": float(told.get("credits") or 0.0),
        "call": str(told.get("call") or told.get("key") or ""),
    }


def _pending(told: Mapping[str, Json]) -> MemberOutcome:
    return {"kind": "pending", "retry_after": _number(told.get("retry_after")) or 1.0}


def _refused(status: int, error: Mapping[str, Json], retry_after: float | None) -> MemberOutcome:
    """Give the outcome of a request that was refused as a whole."""
    code = str(error.get("code", ""))
    if status == 409 and code in STOPS:
        return {"kind": "stopped", "code": code, "message": str(error.get("message", ""))}
    if code == "token_invalid":
        return {
            "kind": "failed",
            "code": code,
            "category": "authentication",
            "message": "the gateway does not know this worker's tokens: give both one secret key",
            "retryable": False,
        }
    own = _number(error.get("retry_after"))
    return _failed(error, own if own is not None else retry_after)


def _failed(error: Mapping[str, Json], retry_after: float | None) -> MemberOutcome:
    return {
        "kind": "failed",
        "code": str(error.get("code", "")),
        "category": str(error.get("category", "internal")),
        "message": _readable(str(error.get("message", "the call failed"))),
        "provider": str(error.get("provider", "")),
        "request": str(error.get("request_id", "")),
        "retryable": bool(error.get("retryable", False)),
        "retry_after": retry_after,
    }


def _readable(message: str) -> str:
    return message if len(message) <= MESSAGE_MAX else f"{message[: MESSAGE_MAX - 3]}..."


def _object(body: bytes) -> dict[str, Json]:
    try:
        told = loads(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise NoAnswer("an answer that is no JSON object")
    return told


def _retry_after(headers: Mapping[str, str]) -> float | None:
    return _number(headers.get("retry-after"))


def _number(value: Json) -> float | None:
    """Give seconds, or None for what is no number (an HTTP date, which the gateway never sends)."""
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return None
