"""The product on servers of one's own: Debian's PostgreSQL and Redis, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from deepline_site.home import PROJECT
from deepline_site.ports import free_port
from deepline_site.programs import MANAGE

DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
USER = "nobody" if os.geteuid() == 0 else None


@pytest.fixture
def postgres_url() -> Iterator[str]:
    if not DEBIAN:
        pytest.skip("Debian's PostgreSQL is not installed (apt-get install postgresql)")
    programs = DEBIAN[-1]
    folder = Path(tempfile.mkdtemp(prefix="own-postgres-"))
    if USER:
        shutil.chown(folder, USER)
    made = [
        str(programs / "initdb"),
        "-D",
        f"{folder}/held",
        "-U",
        "deepline",
        "--auth=trust",
        "-N",
    ]
    subprocess.run(made, user=USER, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    port = free_port()
    serve = [str(programs / "postgres"), "-D", f"{folder}/held", "-p", str(port), "-F"]
    serve += ["-c", "unix_socket_directories="]
    server = subprocess.Popen(serve, user=USER, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        url = f"postgres://deepline@127.0.0.1:{port}/postgres"
        wait_for(lambda: psycopg.connect(url).close(), psycopg.OperationalError)
        yield url
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def redis_url() -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Debian's Redis is not installed (apt-get install redis-server)")
    port = free_port()
    server = subprocess.Popen(
        [program, "--port", str(port), "--save", "", "--bind", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
    )
    try:
        with redis.Redis(port=port) as client:
            wait_for(client.ping, redis.ConnectionError)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


def wait_for(attempt: object, failure: type[Exception]) -> None:
    assert callable(attempt)
    while True:
        try:
            attempt()
            return
        except failure:
            time.sleep(0.05)


def run_samples(told: dict[str, str], home: Path) -> bytes:
    environment = os.environ | told | {"DEEPLINE_HOME": str(home)}
    output = home.parent / "found.csv"
    command = [*MANAGE, "runplay", "examples/plays/email_waterfall.py"]
    command += ["--csv", "examples/data/leads_25.csv", "--output", str(output)]
    subprocess.run([*MANAGE, "migrate", "-v", "0"], cwd=PROJECT, env=environment, check=True)
    subprocess.run(command, cwd=PROJECT, env=environment, check=True)
    return output.read_bytes()


def test_a_play_runs_on_debians_postgresql(
    postgres_url: str, valkey: object, tmp_path: Path
) -> None:
    found = run_samples({"DATABASE_URL": postgres_url}, tmp_path / "home")
    assert found.count(b"\n") == 26
    assert b"@" in found


def test_a_play_runs_on_debians_redis(postgres_url: str, redis_url: str, tmp_path: Path) -> None:
    told = {"DATABASE_URL": postgres_url, "REDIS_URL": redis_url}
    assert run_samples(told, tmp_path / "home").count(b"\n") == 26
