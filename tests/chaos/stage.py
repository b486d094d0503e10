"""An installation of its own to be broken: servers, provider, gateway and workers.

Nothing here is shared with another installation, because everything in it gets killed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deepline_site.home import Home, Product
from deepline_site.ports import LOOPBACK, free_port
from deepline_site.postgres import Postgres
from deepline_site.programs import MANAGE, Program, product_programs
from deepline_site.server_user import ServerUser
from deepline_site.valkey import Valkey
from tests.product import LiveProduct, LiveProgram

WORKERS = 3
"""One more than runs are kept going, so that a run whose worker hangs finds another."""

LEASE_SECONDS = 5.0
SLOW_MS, QUICK_MS = "1000", "20"

Asked = Counter[tuple[str, str]]
"""How often the provider was asked, by tool and input."""


@dataclass
class Stage:
    """What is running. ``provider_port`` is the same for every provider that is started."""

    home: Home
    postgres: Postgres
    valkey: Valkey
    product: LiveProduct
    provider_port: int

    @property
    def workers(self) -> dict[int, LiveProgram]:
        """The living workers by process id."""
        living = (live for live in self.product.workers if live.process.poll() is None)
        return {live.process.pid: live for live in living}

    def start_provider(self, latency_ms: str) -> None:
        """Start a provider that has been asked nothing yet, in place of the one before."""
        if "provider" in self.product.programs:
            self.product.programs["provider"].end()
        command = (
            *(sys.executable, "-m", "uvicorn", "tests.chaos.provider:application"),
            *("--host", LOOPBACK, "--port", str(self.provider_port)),
            *("--log-level", "warning", "--no-access-log", "--lifespan", "off"),
        )
        environment = {"SANDBOX_LATENCY_MS": latency_ms}
        self.product.start(Program("provider", command, environment, self.provider_port))

    def asked(self) -> Asked:
        """Give what the provider was asked since it was started."""
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.provider_port}/asked") as answer:
            told = json.load(answer)
        return Counter({(tool, given): count for tool, given, count in told})

    def mend(self) -> None:
        """Start every program again that is dead, as a supervisor would."""
        for live in list(self.product.programs.values()):
            if live.process.poll() is not None:
                self.product.start(live.program)

    def start_doomed_worker(self, place: str) -> LiveProgram:
        """Start a worker whose work-horses die at a named place."""
        told = {"DEEPLINE_GATEWAY_URL": self.product.gateway_url, "DEEPLINE_CRASH_POINT": place}
        doomed = self.product.start(Program("doomed", (*MANAGE, "worker"), told))
        del self.product.programs["doomed"]
        return doomed


def prepare_environment() -> Home:
    """Make a home and point this process, and all that it starts, at it; before Django is set up."""
    home = Home(Path(tempfile.mkdtemp(prefix="deepline-chaos-")))
    for name in ("DATABASE_URL", "REDIS_URL", "DEEPLINE_GATEWAY_URL"):
        os.environ.pop(name, None)
    os.environ |= {
        "DEEPLINE_HOME": str(home.path),
        "DEEPLINE_TEST_SERVERS": "1",
        "DJANGO_SETTINGS_MODULE": "deepline_site.settings",
        "DEEPLINE_LEASE_SECONDS": str(LEASE_SECONDS),
        "DEEPLINE_SWEEP_SECONDS": "0.5",
        "SANDBOX_URL": f"http://{LOOPBACK}:{free_port()}",
    }
    home.prepare()
    return home


@contextmanager
def servers(home: Home) -> Iterator[tuple[Postgres, Valkey]]:
    """Have the two servers running inside the block, whatever is done to them there."""
    user = ServerUser.choose()
    postgres, valkey = Postgres(home, user, is_durable=False), Valkey(home, user)
    try:
        postgres.start()
        valkey.start()
        yield postgres, valkey
    finally:
        valkey.stop()
        postgres.stop()


@contextmanager
def stage(home: Home, postgres: Postgres, valkey: Valkey) -> Iterator[Stage]:
    """Have provider, gateway and workers running inside the block."""
    addresses = Product(f"http://{LOOPBACK}:{free_port()}", f"http://{LOOPBACK}:{free_port()}")
    logs = home.path / "logs"
    logs.mkdir()
    product = LiveProduct(addresses.web_url, addresses.gateway_url, {}, logs)
    port = int(os.environ["SANDBOX_URL"].rpartition(":")[2])
    staged = Stage(home, postgres, valkey, product, port)
    _, gateway, worker, *_ = product_programs(addresses)
    try:
        staged.start_provider(SLOW_MS)
        product.start(gateway)
        for number in range(1, WORKERS + 1):
            product.start(Program(f"worker-{number}", worker.command, worker.environment))
        yield staged
    finally:
        product.end()


def pause(seconds: float) -> None:
    """Wait while nothing but the stage moves."""
    time.sleep(seconds)
