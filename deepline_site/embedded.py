"""The servers of an installation: embedded ones started, stopped and shared; one's own checked.

A command that needs them works inside `servers`. They are stopped when the last such command ends,
unless `manage.py services start` asked them to stay. `DATABASE_URL` and `REDIS_URL` each take the
place of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deepline_site import environment, own_servers
from deepline_site.home import Home
from deepline_site.postgres import Postgres
from deepline_site.server_user import ServerUser, ServicesError
from deepline_site.valkey import Valkey

__all__ = ["ServerStatus", "ServicesError", "keep", "servers", "start", "status", "stop"]

LOCK = "services"
USERS = "services-users"


@dataclass(frozen=True)
class ServerStatus:
    """One server as a person sees it."""

    name: str
    port: int
    pid: int | None


@contextmanager
def servers(home: Home) -> Iterator[None]:
    """Have all servers running inside the block.

    Raises ServicesError, with one sentence for a person, when one does not start, or when a server
    of one's own is missing or too old. Whoever leaves last stops the embedded ones.
    """
    # Chosen once: a test session points DATABASE_URL at its own database inside the block.
    chosen = _embedded(home)
    try:
        with home.lock(USERS, shared=True):
            _start(home, chosen)
            yield
    finally:
        _stop_unless_needed(home, chosen)


def start(home: Home) -> None:
    """Start what does not run, mend what a crash left, and check servers of one's own."""
    _start(home, _embedded(home))


def keep(home: Home) -> None:
    """Let the servers run on when the commands that use them end, until `stop`."""
    home.prepare()
    _keep_mark(home).touch()


def stop(home: Home) -> list[str]:
    """Stop the embedded servers, even if in use; return the names of those that ran."""
    _keep_mark(home).unlink(missing_ok=True)
    with home.lock(LOCK):
        return [server.name for server in reversed(_embedded(home)) if server.stop()]


def status(home: Home) -> list[ServerStatus]:
    """Tell of each embedded server whether it runs, and where."""
    with home.lock(LOCK):
        return [_status(server, home) for server in _embedded(home)]


def _embedded(home: Home) -> list[Postgres | Valkey]:
    wanted: list[Postgres | Valkey] = []
    user = ServerUser.choose()
    if environment.text("DATABASE_URL") is None:
        is_durable = not environment.is_on("DEEPLINE_TEST_SERVERS")
        wanted.append(Postgres(home, user, is_durable=is_durable))
    if environment.text("REDIS_URL") is None:
        wanted.append(Valkey(home, user))
    return wanted


def _start(home: Home, chosen: list[Postgres | Valkey]) -> None:
    own_servers.check()
    with home.lock(LOCK):
        for server in chosen:
            server.start()


def _status(server: Postgres | Valkey, home: Home) -> ServerStatus:
    process = server.process()
    return ServerStatus(server.name, home.server(server.name).port, process and process.pid)


def _stop_unless_needed(home: Home, chosen: list[Postgres | Valkey]) -> None:
    with home.lock(LOCK):
        if _keep_mark(home).exists() or home.is_locked(USERS):
            return
        for server in reversed(chosen):
            server.stop()


def _keep_mark(home: Home) -> Path:
    return home.run / "keep-services"
