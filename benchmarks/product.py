"""The product under measure: gateway and workers as ``make run`` starts them, runs from the queue."""

from __future__ import annotations

import io
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil

from benchmarks.contestants.work import rows
from benchmarks.installation import Installation, Sandbox, Took, started, wait_until_ready
from benchmarks.machine import Stopwatch, Watch
from deepline_site.home import PROJECT, Product
from deepline_site.ports import LOOPBACK, free_port
from deepline_site.programs import product_programs

PLAYS = PROJECT / "benchmarks" / "plays"
LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Ran(Took):
    """A run of the product: ``shares`` are seconds of processor time by process, ``rss`` peaks."""

    tag: str
    run: Any
    shares: dict[str, float] = field(default_factory=dict)
    rss: dict[str, int] = field(default_factory=dict)


class LiveProduct:
    """Gateway and workers that use one sandbox."""

    def __init__(
        self,
        here: Installation,
        sandbox: Sandbox,
        gateway: psutil.Process,
        workers: list[psutil.Process],
    ) -> None:
        self.here = here
        self.workers = workers
        self._sandbox = sandbox
        self._gateway = gateway

    def run(self, play: str, tag: str, n: int) -> Ran:
        """Run a play over ``n`` new people to its end."""
        upload = uploaded(tag, n)
        asked = self._sandbox.requests()
        roots = [self.here.postgres, self.here.valkey, self._gateway, *self.workers]
        single = {"gateway": self._gateway, "Valkey": self.here.valkey}
        before = {name: _own(process) for name, process in single.items()}
        with (
            Stopwatch([self.here.postgres]) as postgres,
            Stopwatch(roots) as all_of_it,
            Watch(self.workers) as watch,
        ):
            run = self.start(play, upload)
            wait_for_end(run)
        if run.status != "completed":
            raise RuntimeError(f"the run ended as {run.status}: {run.error or run.stop_message}")
        shares = {name: _own(process) - before[name] for name, process in single.items()}
        shares |= {"PostgreSQL": postgres.cpu}
        shares |= {name: watch.cpu.get(name, 0.0) for name in ("play process", "host")}
        seconds = (run.finished_at - run.started_at).total_seconds()
        requests = self._sandbox.requests() - asked
        return Ran(n, seconds, requests, all_of_it.cpu, tag, run, shares, watch.rss)

    def start(self, play: str, upload: Any) -> Any:
        """Queue a run and give it."""
        from plays.services.revisions import revision_publish
        from plays.services.runs import run_start
        from plays.services.workspaces import workspace_default

        path = PLAYS / f"{play}.py"
        revision = revision_publish(workspace_default(), None, path.name, path.read_bytes())
        return run_start(revision, None, {"leads": upload.ref})


def uploaded(tag: str, n: int) -> Any:
    """Take a file of ``n`` new people in."""
    from plays.services.uploads import upload_accept
    from plays.services.workspaces import workspace_default

    text = io.StringIO()
    text.write("first_name,last_name,domain\n")
    for row in rows(tag, n):
        text.write(f"{row['first_name']},{row['last_name']},{row['domain']}\n")
    file = io.BytesIO(text.getvalue().encode())
    return upload_accept(workspace_default(), None, file, f"{tag}.csv")


def wait_for_end(run: Any) -> None:
    """Wait until the run does not move any more."""
    while run.is_live:
        time.sleep(LOOK_SECONDS)
        run.refresh_from_db()


def batch_tools(*, is_batched: bool) -> None:
    """Let the providers' tools travel in batches, or one by one; the gateway hears it in a second."""
    from plays.models import ToolPolicy

    for provider in ("sandbox_a", "sandbox_b"):
        told = {"batch_size": None if is_batched else 1}
        ToolPolicy.objects.update_or_create(provider=provider, tool="", defaults=told)
    time.sleep(1.5)


@contextmanager
def product(here: Installation, sandbox: Sandbox, workers: int = 1) -> Iterator[LiveProduct]:
    """Have the product's gateway and workers running inside the block."""
    addresses = Product(f"http://{LOOPBACK}:{free_port()}", f"http://{LOOPBACK}:{free_port()}")
    programs = {program.name: program for program in product_programs(addresses)}
    names = ["gateway", *(f"worker-{n + 1}" for n in range(workers))]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for name in names:
            program = programs[name]
            environment = dict(program.environment) | {"SANDBOX_URL": sandbox.url}
            processes.append(started(list(program.command), **environment))
            if program.port is not None:
                wait_until_ready(processes[-1], program.port)
        gateway, *others = (psutil.Process(process.pid) for process in processes)
        yield LiveProduct(here, sandbox, gateway, others)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _own(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
