"""The real product as processes, for tests that look at it from outside or kill parts of it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from deepline_site.home import PROJECT, Product
from deepline_site.ports import LOOPBACK, free_port, is_free
from deepline_site.programs import Program, product_programs
from deepline_site.tether import die_with_parent

READY_SECONDS = 30.0
LOOK_SECONDS = 0.05


@dataclass
class LiveProgram:
    """A started program: its process, to be killed by a test, and what it wrote so far."""

    program: Program
    process: subprocess.Popen[bytes]
    log: Path

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def descendants(self) -> list[psutil.Process]:
        """The processes below it: a worker's work-horse and its play process, say."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> None:
        """SIGKILL the process alone, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Kill the process and all below it."""
        below = self.descendants() if self.process.poll() is None else []
        self.kill()
        for process in below:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(below, timeout=READY_SECONDS)


@dataclass
class LiveProduct:
    """Web, gateway and workers on the test database, with the addresses of the first two."""

    web_url: str
    gateway_url: str
    environment: Mapping[str, str]
    logs: Path
    programs: dict[str, LiveProgram] = field(default_factory=dict)

    @property
    def web(self) -> LiveProgram:
        return self.programs["web"]

    @property
    def gateway(self) -> LiveProgram:
        return self.programs["gateway"]

    @property
    def workers(self) -> list[LiveProgram]:
        return [live for name, live in self.programs.items() if name.startswith("worker")]

    def start(self, program: Program) -> LiveProgram:
        """Start a program, or start one again that was killed; it is ready when this returns."""
        log = self.logs / f"{program.name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                program.command,
                cwd=PROJECT,
                env=os.environ | dict(program.environment) | dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        live = LiveProgram(program, process, log)
        self.programs[program.name] = live
        if program.port is not None:
            _wait_until_ready(live, program.port)
        return live

    def end(self) -> None:
        for live in self.programs.values():
            live.end()


StartProduct = Callable[..., LiveProduct]


@pytest.fixture
def start_product(database_url: str, valkey: object, tmp_path: Path) -> Iterator[StartProduct]:
    """Start the product: `start_product(only=("web", "gateway"), SANDBOX_LATENCY_MS="700")`.

    Keyword arguments are environment variables of all its processes. `only` names programs
    (web, gateway, worker-1, worker-2); without it all are started. All end with the test, before
    the database is emptied.
    """
    with ExitStack() as stack:

        def start(only: tuple[str, ...] = (), **environment: str) -> LiveProduct:
            addresses = Product(
                f"http://{LOOPBACK}:{free_port()}", f"http://{LOOPBACK}:{free_port()}"
            )
            logs = Path(tempfile.mkdtemp(dir=tmp_path))
            told = {"DATABASE_URL": database_url, **environment}
            product = LiveProduct(addresses.web_url, addresses.gateway_url, told, logs)
            stack.callback(product.end)
            for program in product_programs(addresses):
                if not only or program.name in only:
                    product.start(program)
            return product

        yield start


@pytest.fixture
def live_product(start_product: StartProduct) -> LiveProduct:
    """The whole product with its default environment."""
    return start_product()


def _wait_until_ready(live: LiveProgram, port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while is_free(port):
        if live.process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"{live.program.name} did not start:\n{live.output()}")
        time.sleep(LOOK_SECONDS)
