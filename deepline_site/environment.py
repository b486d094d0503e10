"""Reading settings from the environment, with one clear sentence for each mistake.

A mistake does not raise while settings load: it is collected here, the default is used meanwhile,
and `plays.checks` reports it as a system check, so that all of them are seen at once and no command
ends in a traceback.
"""

from __future__ import annotations

import os
from math import inf, nan
from urllib.parse import unquote, urlsplit

MISTAKES: list[str] = []


def text(name: str, default: str | None = None) -> str | None:
    """Return a variable without surrounding space; empty counts as not set."""
    return os.environ.get(name, "").strip() or default


def number(name: str, default: float, *, minimum: float) -> float:
    """Return a number of at least `minimum`, or the default."""
    return _parsed(name, default, float, minimum=minimum)


def whole_number(name: str, default: int, *, minimum: int, maximum: int | None = None) -> int:
    """Return a whole number from `minimum` to `maximum`, or the default."""
    return int(_parsed(name, default, int, minimum=minimum, maximum=maximum))


def choice(name: str, *options: str) -> str:
    """Return one of the options; the first is the default."""
    given = (text(name) or options[0]).lower()
    if given in options:
        return given
    MISTAKES.append(f"{name} must be one of {', '.join(options)}, not {given!r}.")
    return options[0]


def names(name: str) -> list[str]:
    """Return the entries of a comma-separated list."""
    return [entry.strip() for entry in os.environ.get(name, "").split(",") if entry.strip()]


def is_on(name: str) -> bool:
    """Tell whether a switch is on: `1`, `true`, `yes` or `on`."""
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def database(url: str, *, idle_seconds: float) -> dict[str, object]:
    """Return Django's connection settings for a `postgresql://` address.

    The server ends a connection that is silent for `idle_seconds` inside a transaction.
    """
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
        MISTAKES.append("DATABASE_URL has a port that is no number from 1 to 65535.")
    name = unquote(parts.path.lstrip("/"))
    if parts.scheme not in {"postgresql", "postgres"} or not name:
        MISTAKES.append("DATABASE_URL must look like postgresql://user:password@host:5432/name.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name or "deepline",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(port or ""),
        "OPTIONS": _patient(_options(parts.query), idle_seconds),
    }


def redis(url: str) -> str:
    """Return the address as it is, and note a mistake in it."""
    if urlsplit(url).scheme not in {"redis", "rediss"}:
        MISTAKES.append("REDIS_URL must look like redis://:password@host:6379/0.")
    return url


def redis_database(url: str) -> str:
    """Return the number of the database that an address names; without one it is 0."""
    return urlsplit(url).path.strip("/") or "0"


def _patient(options: dict[str, str], idle_seconds: float) -> dict[str, str]:
    patience = f"-c idle_in_transaction_session_timeout={round(idle_seconds * 1000)}"
    return {**options, "options": f"{patience} {options.get('options', '')}".strip()}


def _options(query: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return {unquote(key): unquote(value) for key, _, value in pairs}


def _parsed(
    name: str,
    default: float,
    kind: type[int] | type[float],
    *,
    minimum: float,
    maximum: float | None = None,
) -> float:
    given = text(name)
    if given is None:
        return default
    try:
        value = kind(given)
    except ValueError:
        value = nan
    if minimum <= value <= (maximum or inf) and value != inf:
        return value
    what = "a whole number" if kind is int else "a number"
    span = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    MISTAKES.append(f"{name} must be {what} {span}, not {given!r}.")
    return default
