"""Connections of the stores to PostgreSQL, and JSON on its way there.

The connections are psycopg's own, made from Django's settings, because the engine's writes are
asynchronous and go in groups.
"""

from __future__ import annotations

from typing import Any

import orjson
import psycopg
from django.conf import settings
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from runtime.values import sanitise
from runtime.wire import dumps, loads

Json = Any
Connection = psycopg.AsyncConnection[TupleRow]
Pool = AsyncConnectionPool[Connection]
Cursor = psycopg.AsyncCursor[TupleRow]

POOL_SIZE = 4
"""Enough for a commit, a claim, a page that is read and one that is written."""

CONNECT_SECONDS = 10

RECONNECT_SECONDS = 5.0
"""A pool doubles its pauses between attempts without end. After so long it begins anew, and who waits
for it asks again, which is what makes it begin."""

# The planner overrates statements over arrays and would compile them for longer than they run.
SERVER_OPTIONS = "-c jit=off"


def connection_parameters() -> dict[str, Any]:
    """Give psycopg's keyword arguments for the database of Django's settings."""
    database: dict[str, Any] = settings.DATABASES["default"]
    told = {
        "host": database["HOST"],
        "port": database["PORT"],
        "dbname": database["NAME"],
        "user": database["USER"],
        "password": database["PASSWORD"],
    }
    given = {name: str(value) for name, value in told.items() if value}
    options = dict(database.get("OPTIONS", {}))
    server_options = f"{options.pop('options', '')} {SERVER_OPTIONS}".strip()
    own = {"connect_timeout": CONNECT_SECONDS, "application_name": "deepline stores"}
    return {**own, **options, **given, "options": server_options}


async def prepare_connection(connection: Connection) -> None:
    """Have JSON columns read exactly, integers of any size included."""
    set_json_loads(_load, connection)


def open_pool() -> Pool:
    """Give a pool, for ``async with``. It connects when first used and reconnects by itself."""
    return AsyncConnectionPool(
        kwargs={**connection_parameters(), "autocommit": True},
        min_size=1,
        max_size=POOL_SIZE,
        open=False,
        configure=prepare_connection,
        timeout=RECONNECT_SECONDS,
        reconnect_timeout=RECONNECT_SECONDS,
        name="stores",
    )


class JsonText:
    """Turns values into text that ``jsonb`` can hold; ``replaced`` counts what had to be changed."""

    def __init__(self) -> None:
        self.replaced = 0

    def __call__(self, value: Json) -> str:
        try:
            text = orjson.dumps(value)
        except TypeError:
            return self._cleaned(value)
        return self._cleaned(value) if b"\\u0000" in text else text.decode()

    def _cleaned(self, value: Json) -> str:
        clean, count = sanitise(value)
        self.replaced += count
        return dumps(clean).decode()


def json_text(value: Json) -> str:
    """Give the text of one value for a ``jsonb`` column, sanitised."""
    return JsonText()(value)


def _load(text: str | bytes) -> Json:
    return loads(text.encode() if isinstance(text, str) else text)
