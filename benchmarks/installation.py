"""The machine of the measures: embedded servers, the sandbox provider, and contestants as processes.

Everything lies in ``.deepline-bench``, whose PostgreSQL is as durable as that of ``make run``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import Stopwatch
from deepline_site import embedded
from deepline_site.home import PROJECT, Home
from deepline_site.ports import LOOPBACK, free_port, is_free
from deepline_site.postgres import Postgres
from deepline_site.server_user import ServerUser
from deepline_site.tether import die_with_parent
from deepline_site.valkey import Valkey

HOME = PROJECT / ".deepline-bench"
PYTHON = PROJECT / "benchmarks" / ".venv" / "bin" / "python"
READY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Took:
    """What one pass over rows took. ``requests`` as the provider counted them; ``cpu`` by process."""

    rows: int
    seconds: float
    requests: int
    cpu: float


class Sandbox:
    """A running sandbox provider."""

    def __init__(self, url: str) -> None:
        self.url = url

    def requests(self) -> int:
        """Give the number of requests that it has answered."""
        with urllib.request.urlopen(f"{self.url}/sandbox/stats") as reply:
            return int(json.load(reply)["requests"])


class Installation:
    """The servers. Django is set up on them inside :func:`installation`."""

    def __init__(self, home: Home) -> None:
        user = ServerUser.choose()
        postgres, valkey = Postgres(home, user).process(), Valkey(home, user).process()
        assert postgres is not None
        assert valkey is not None
        self.home = home
        self.postgres: psutil.Process = postgres
        self.valkey: psutil.Process = valkey

    @contextmanager
    def sandbox(self, latency_ms: int) -> Iterator[Sandbox]:
        """Have a provider inside the block that answers after so many milliseconds."""
        port = free_port()
        process = started(
            [*UVICORN, "plays.tools.sandbox.server:application", *listening(port)],
            SANDBOX_LATENCY_MS=str(latency_ms),
        )
        try:
            wait_until_ready(process, port)
            yield Sandbox(f"http://{LOOPBACK}:{port}")
        finally:
            process.terminate()
            process.wait()

    def contestant(self, module: str, kind: str, sandbox: Sandbox, tag: str, n: int) -> Took:
        """Have another program do the work; its processor time holds PostgreSQL's."""
        command = [PYTHON, "-m", f"benchmarks.contestants.{module}", kind]
        asked = sandbox.requests()
        database = self.database("others")
        with Stopwatch([psutil.Process(), self.postgres]) as watch:
            told = subprocess.run(
                [*command, sandbox.url, tag, str(n), database],
                cwd=PROJECT,
                capture_output=True,
                text=True,
                check=False,
            )
        if told.returncode:
            raise RuntimeError(f"{module} {kind} failed:\n{told.stderr[-2000:]}")
        seconds = json.loads(told.stdout.splitlines()[-1])["seconds"]
        return Took(n, seconds, sandbox.requests() - asked, watch.cpu)

    def database(self, name: str) -> str:
        """Give the address of a database of that name, which exists then."""
        import psycopg

        with psycopg.connect(self.home.database_url(), autocommit=True) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, [name]).fetchone() is None:
                connection.execute(f'CREATE DATABASE "{name}"')
        return self.home.database_url(name)


@contextmanager
def installation() -> Iterator[Installation]:
    """Have the servers running and Django set up on them inside the block."""
    os.environ["DEEPLINE_HOME"] = str(HOME)
    os.environ["DJANGO_SETTINGS_MODULE"] = "deepline_site.settings"
    home = Home(HOME)
    with ExitStack() as stack:
        stack.enter_context(embedded.servers(home))
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", interactive=False, verbosity=0)
        yield Installation(home)


UVICORN = [sys.executable, "-m", "uvicorn"]


def listening(port: int) -> list[str]:
    return [
        "--host",
        LOOPBACK,
        "--port",
        str(port),
        "--log-level",
        "warning",
        "--no-access-log",
    ]


def started(command: list[Any], **environment: str) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one; what it writes goes to ``processes.log``."""
    with log_path().open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=PROJECT,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent,
        )


def wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while is_free(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"a server did not start: see {log_path()}")
        time.sleep(0.05)


def log_path() -> Path:
    return HOME / "processes.log"
