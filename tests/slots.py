"""Room for several test sessions at once: each takes a numbered database on both servers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit, urlunsplit

from deepline_site.home import Home

SLOTS = range(1, 16)


@contextmanager
def take_slot(home: Home) -> Iterator[None]:
    """Point DATABASE_URL and REDIS_URL at databases that no other session of this home uses."""
    with ExitStack() as stack:
        slot = next(slot for slot in SLOTS if _is_taken(home, slot, stack))
        database, valkey = os.environ.get("DATABASE_URL"), os.environ.get("REDIS_URL")
        name = urlsplit(database).path.strip("/") if database else "deepline"
        os.environ["DATABASE_URL"] = _with_path(database or home.database_url(), f"{name}_{slot}")
        os.environ["REDIS_URL"] = _with_path(valkey or home.redis_url(), str(slot))
        yield


def _is_taken(home: Home, slot: int, stack: ExitStack) -> bool:
    try:
        stack.enter_context(home.lock(f"slot-{slot}", wait=False))
    except BlockingIOError:
        return False
    return True


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{path}"))
