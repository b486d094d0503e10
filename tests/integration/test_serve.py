"""`manage.py serve`, which is `make run`: the whole product from an empty directory, and its ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from deepline_site import embedded
from deepline_site.home import PROJECT, Home
from deepline_site.ports import free_port
from deepline_site.programs import MANAGE
from deepline_site.server_process import is_alive

LOOK_SECONDS = 0.05
READY = re.compile(r"Deepline runs at (http://127\.0\.0\.1:\d+)")
PASSWORD = re.compile(r"Administrator: admin +password: (\S+)")


class Served:
    """One `manage.py serve` and what it has printed so far."""

    def __init__(self, home: Home, log: Path, port: int) -> None:
        own = {"DATABASE_URL", "REDIS_URL", "DEEPLINE_GATEWAY_URL"}
        kept = {name: value for name, value in os.environ.items() if name not in own}
        told = kept | {"DEEPLINE_HOME": str(home.path), "PORT": str(port)}
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*MANAGE, "serve"], cwd=PROJECT, env=told, stdout=output, stderr=output
            )

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, pattern: re.Pattern[str], times: int = 1) -> str:
        """Wait until a pattern was printed that often; return its last group."""
        while len(found := pattern.findall(self.output())) < times:
            assert self.process.poll() is None, self.output()
            time.sleep(LOOK_SECONDS)
        return found[-1]

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")
    home = Home(tmp_path / "home")
    yield home
    embedded.stop(home)
    shutil.rmtree(home.path, ignore_errors=True)


def wait_until_gone(processes: list[psutil.Process]) -> None:
    for process in processes:
        while is_alive(process):
            time.sleep(LOOK_SECONDS)


def sign_in(url: str, password: str) -> int:
    with httpx.Client(base_url=url, follow_redirects=False) as client:
        page = client.get("/admin/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token is not None
        form = {"username": "admin", "password": password, "csrfmiddlewaretoken": token[1]}
        return client.post("/admin/login/", data=form, headers={"Referer": url}).status_code


def test_everything_starts_from_nothing_ends_with_ctrl_c_and_is_found_again(
    home: Home, tmp_path: Path
) -> None:
    port = free_port()
    with ExitStack() as stack:
        first = Served(home, tmp_path / "first.log", port)
        stack.callback(first.process.kill)
        url = first.wait_for(READY)
        assert url == f"http://127.0.0.1:{port}"
        after = first.output().partition(f"{url} ")[2].splitlines()[1:]
        assert all(" | " in line for line in after), "only programs speak after the address"
        password = first.wait_for(PASSWORD)
        assert sign_in(url, password) == 302
        children = first.children()
        assert first.end(signal.SIGINT) == 0
        assert first.output().splitlines()[-1] == "Stopped."
        wait_until_gone(children)
        assert [server.pid for server in embedded.status(home)] == [None, None]

        second = Served(home, tmp_path / "second.log", port)
        stack.callback(second.process.kill)
        assert sign_in(second.wait_for(READY), password) == 302
        assert not PASSWORD.search(second.output())
        assert second.end(signal.SIGTERM) == 0


def test_one_home_is_served_once_and_heals_itself(home: Home, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, ExitStack() as stack:
        port = taken.getsockname()[1]
        served = Served(home, tmp_path / "served.log", port)
        stack.callback(served.process.kill)
        url = served.wait_for(READY)
        # The port was taken, so the next free one serves.
        assert int(url.rpartition(":")[2]) > port

        other = Served(home, tmp_path / "other.log", free_port())
        assert other.process.wait() != 0
        sentence = f"Deepline runs already from this directory at {url}; stop that one first."
        assert other.output() == f"CommandError: {sentence}\n"

        for child in served.children():
            if "uvicorn" in child.cmdline():
                child.kill()
        served.wait_for(re.compile(r"(web|gateway) ended \(SIGKILL\)"), times=2)
        while not _answers(url):
            time.sleep(LOOK_SECONDS)

        for server in embedded.status(home):
            assert server.pid is not None
            psutil.Process(server.pid).kill()
        served.wait_for(re.compile(r"(ended; starting again)"))
        while not (_has_servers(home) and _answers(url)):
            time.sleep(LOOK_SECONDS)

        children = served.children()
        served.end(signal.SIGKILL)
        wait_until_gone(children)

        again = Served(home, tmp_path / "again.log", free_port())
        stack.callback(again.process.kill)
        again.wait_for(READY)
        assert again.end(signal.SIGINT) == 0


def _has_servers(home: Home) -> bool:
    return all(server.pid is not None for server in embedded.status(home))


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/admin/login/").status_code == 200
    except httpx.TransportError:
        return False
