"""Servers of one's own, as `DATABASE_URL` and `REDIS_URL` name them: there, and new enough?

Asked once, when a command starts, so that a wrong address or an old server is one sentence and not
a traceback from the middle of something. Addresses are told without their passwords.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deepline_site import environment
from deepline_site.server_user import ServicesError

POSTGRES_MINIMUM = 14
REDIS_MINIMUM = (6, 2)
VALKEY_MINIMUM = (7, 2)
CONNECT_SECONDS = 10


def check() -> None:
    """Raise ServicesError when a configured server does not answer or is too old."""
    database_url, redis_url = environment.text("DATABASE_URL"), environment.text("REDIS_URL")
    if database_url is not None:
        _check_postgres(database_url)
    if redis_url is not None:
        _check_redis(redis_url)


def _check_postgres(url: str) -> None:
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
            version = connection.info.server_version // 10_000
    except psycopg.Error as error:
        raise ServicesError(f"DATABASE_URL: cannot use {_place(url)}: {_line(error)}") from None
    if version < POSTGRES_MINIMUM:
        raise ServicesError(
            f"DATABASE_URL: PostgreSQL {POSTGRES_MINIMUM} or newer is needed; {_place(url)} runs "
            f"{version}."
        )


def _check_redis(url: str) -> None:
    try:
        with redis.Redis.from_url(
            url, socket_connect_timeout=CONNECT_SECONDS, retry=Retry(NoBackoff(), 0)
        ) as connection:
            told = connection.info("server")
    except (redis.RedisError, ValueError) as error:
        raise ServicesError(f"REDIS_URL: cannot use {_place(url)}: {_line(error)}") from None
    name, version, minimum = _redis_version(told)
    if version < minimum:
        raise ServicesError(
            f"REDIS_URL: {name} {_dotted(minimum)} or newer is needed; {_place(url)} runs "
            f"{_dotted(version)}."
        )


def _redis_version(told: dict[str, str]) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """Return name, version and least version. Valkey also tells the Redis version it is like."""
    if "valkey_version" in told:
        return "Valkey", _numbers(told["valkey_version"]), VALKEY_MINIMUM
    return "Redis", _numbers(told["redis_version"]), REDIS_MINIMUM


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or 'the local server'}:{parts.port or 'default port'}{parts.path}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
