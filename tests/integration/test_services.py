"""The embedded servers: start, stop, share, and what a start mends. Each test is a machine's story.

The home lies below pytest's own 0700 directory. Run as root, these tests therefore show as well
that an unprivileged server reaches its files below a directory that is closed to it.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deepline_site import embedded, own_servers
from deepline_site.home import Home
from deepline_site.postgres import Postgres
from deepline_site.server_process import is_alive
from deepline_site.server_user import ServerUser
from deepline_site.valkey import Valkey

MAY_PASS_AND_READ = 1 << 2
MAY_PASS_AND_WRITE = 1 << 1


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home of its own, stopped and removed afterwards."""
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")
    home = Home(tmp_path / "home")
    yield home
    embedded.stop(home)
    shutil.rmtree(home.path)


def servers_of(home: Home) -> tuple[Postgres, Valkey]:
    user = ServerUser.choose()
    return Postgres(home, user), Valkey(home, user)


def processes_of(home: Home) -> list[psutil.Process]:
    running = [server.process() for server in servers_of(home)]
    assert None not in running
    return running


def remember(home: Home, word: str) -> None:
    with psycopg.connect(home.database_url()) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS words (word text)")
        connection.execute("INSERT INTO words VALUES (%s)", [word])
    with redis.Redis.from_url(home.redis_url()) as connection:
        connection.rpush("words", word)


def words(home: Home) -> tuple[list[str], list[str]]:
    with psycopg.connect(home.database_url()) as connection:
        stored = [row[0] for row in connection.execute("SELECT word FROM words")]
    with redis.Redis.from_url(home.redis_url(), decode_responses=True) as connection:
        return stored, connection.lrange("words", 0, -1)


def test_data_stays_and_nothing_runs_after_a_stop(home: Home) -> None:
    embedded.start(home)
    first = processes_of(home)
    remember(home, "kept")
    embedded.start(home)
    assert processes_of(home) == first
    assert embedded.stop(home) == ["valkey", "postgres"]
    assert not any(is_alive(process) for process in first)
    assert [server.pid for server in embedded.status(home)] == [None, None]
    embedded.start(home)
    assert words(home) == (["kept"], ["kept"])


def test_servers_listen_on_loopback_without_rights_and_want_a_password(home: Home) -> None:
    embedded.start(home)
    for process in processes_of(home):
        assert {found.laddr.ip for found in process.net_connections()} == {"127.0.0.1"}
        assert process.uids().effective != 0
        assert capabilities(process) & ~(MAY_PASS_AND_READ | MAY_PASS_AND_WRITE) == 0
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(home.database_url(), password="guess")
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=home.server("valkey").port, retry=Retry(NoBackoff(), 0)).ping()
    with psycopg.connect(home.database_url()) as connection:
        assert connection.execute(
            "SELECT rolsuper FROM pg_roles WHERE rolname = user"
        ).fetchone() == (False,)


def test_passwords_stand_in_no_command_line_and_no_environment(home: Home) -> None:
    embedded.start(home)
    secrets = {home.server("postgres").password, home.server("valkey").password}
    for process in processes_of(home):
        seen = " ".join([*process.cmdline(), *process.environ().values()])
        assert not [secret for secret in secrets if secret in seen]


def test_killed_servers_start_again_with_what_was_committed(home: Home) -> None:
    embedded.start(home)
    remember(home, "before the kill")
    with closing(psycopg.connect(home.database_url())) as busy:
        busy.execute("SELECT 1")
        for process in processes_of(home):
            process.kill()
            while is_alive(process):
                pass
        embedded.start(home)
    stored, queued = words(home)
    assert stored == ["before the kill"]
    # The file of Valkey is written once a second.
    assert queued in ([], ["before the kill"])


def test_a_pid_file_with_the_number_of_another_process_is_set_aside(home: Home) -> None:
    embedded.start(home)
    remember(home, "kept")
    embedded.stop(home)
    postgres, valkey = servers_of(home)
    for pid_file in (postgres.pgdata / "postmaster.pid", valkey.directory / "server.pid"):
        pid_file.write_text(f"{os.getpid()}\n{postgres.pgdata}\n1\n1\n\n127.0.0.1\n\nready\n")
    embedded.start(home)
    assert words(home) == (["kept"], ["kept"])


def test_a_first_start_that_was_interrupted_begins_again(home: Home) -> None:
    home.prepare()
    postgres, _ = servers_of(home)
    (postgres.directory / "data.new" / "base").mkdir(parents=True)
    (postgres.directory / "data.new" / "PG_VERSION").write_text("18\n")
    embedded.start(home)
    remember(home, "works")
    assert words(home) == (["works"], ["works"])


def test_a_database_that_a_killed_first_start_did_not_make_is_made_later(home: Home) -> None:
    postgres, _ = servers_of(home)
    home.prepare()
    postgres.start()
    with postgres._as_administrator() as connection:
        connection.execute("DROP DATABASE deepline")
        connection.execute("DROP ROLE deepline")
    embedded.start(home)
    remember(home, "works")


def test_a_port_that_somebody_else_took_is_chosen_anew(home: Home) -> None:
    with socket.create_server(("127.0.0.1", home.server("postgres").port)):
        taken = home.server("postgres").port
        embedded.start(home)
        assert home.server("postgres").port != taken
        remember(home, "elsewhere")


def test_the_last_user_stops_the_servers(home: Home) -> None:
    with embedded.servers(home):
        with embedded.servers(home):
            running = processes_of(home)
        assert processes_of(home) == running
    assert not any(is_alive(process) for process in running)


def test_servers_that_a_person_started_outlive_their_users(home: Home) -> None:
    embedded.start(home)
    embedded.keep(home)
    with embedded.servers(home):
        running = processes_of(home)
    assert processes_of(home) == running
    embedded.stop(home)
    with embedded.servers(home):
        running = processes_of(home)
    assert not any(is_alive(process) for process in running)


def test_a_server_that_cannot_start_says_why(home: Home) -> None:
    embedded.start(home)
    embedded.stop(home)
    (home.path / "postgres" / "data" / "global" / "pg_control").unlink()
    with pytest.raises(embedded.ServicesError, match="pg_control"):
        embedded.start(home)


def test_servers_of_ones_own_are_used_and_none_is_embedded(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded.start(home)
    monkeypatch.setenv("DATABASE_URL", home.database_url())
    monkeypatch.setenv("REDIS_URL", home.redis_url())
    other = Home(tmp_path / "other")
    with embedded.servers(other):
        assert embedded.status(other) == []
    assert not (other.path / "postgres").exists()
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL"])
def test_a_server_of_ones_own_that_is_not_there_is_one_sentence_without_its_password(
    name: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = home.database_url() if name == "DATABASE_URL" else home.redis_url()
    monkeypatch.setenv(name, address)
    with pytest.raises(embedded.ServicesError) as refused, embedded.servers(home):
        pass
    monkeypatch.delenv(name)
    sentence = str(refused.value)
    assert sentence.startswith(f"{name}: cannot use 127.0.0.1:")
    assert "\n" not in sentence
    assert home.server("postgres").password not in sentence
    assert home.server("valkey").password not in sentence


def test_a_server_of_ones_own_that_is_too_old_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded.start(home)
    monkeypatch.setattr(own_servers, "POSTGRES_MINIMUM", 99)
    monkeypatch.setattr(own_servers, "VALKEY_MINIMUM", (99, 0))
    for name, address, sentence in (
        ("DATABASE_URL", home.database_url(), "PostgreSQL 99 or newer is needed"),
        ("REDIS_URL", home.redis_url(), "Valkey 99.0 or newer is needed"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, address)
            with pytest.raises(embedded.ServicesError, match=sentence):
                own_servers.check()


def capabilities(process: psutil.Process) -> int:
    """Return what a process may do beside its user's rights; only Linux has such."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        return 0
    return int(status.read_text().partition("CapEff:")[2].split()[0], 16)
