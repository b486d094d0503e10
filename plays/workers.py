"""The RQ worker that moves runs: one work-horse per job, forked, and killed with its worker.

RQ decides nothing about runs here. It brings ids to work-horses and watches them; a work-horse
that dies has its runs put back in the queue at once, because nobody else would know before its
lease runs out.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, InterfaceError, connections
from rq import Queue, Worker
from rq.job import Job

from deepline_site.home import PROJECT
from deepline_site.tether import die_with_parent
from plays.services.leases import worker_expire

logger = logging.getLogger(__name__)


class RunWorker(Worker):
    """A worker of the queue of runs."""

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Fork without open database connections: two processes cannot share one."""
        connections.close_all()
        super().fork_work_horse(job, queue)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """Begin a work-horse: it dies with its worker."""
        die_with_parent()
        super().main_work_horse(job, queue)

    def handle_warm_shutdown_request(self) -> None:
        """Pass SIGTERM on: the work-horse lets its run go, for another worker to take up."""
        super().handle_warm_shutdown_request()  # type: ignore[no-untyped-call]
        with suppress(ProcessLookupError):
            if self.horse_pid:
                os.kill(self.horse_pid, signal.SIGTERM)

    def handle_work_horse_killed(self, *death: Any) -> None:
        """Put the runs of a work-horse that was killed back in the queue."""
        try:
            worker_expire(self.name)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("the sweeper has to find the runs of %s: %s", self.name, error)
        finally:
            connections.close_all()


def worker_name() -> str:
    """Give a name that no other worker has, on whatever machine, before or after."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


@contextmanager
def sweeper() -> Iterator[None]:
    """Have ``manage.py sweep --watch`` running inside the block, as a process of its own.

    A worker waits for its work-horse and could not sweep meanwhile.
    """
    command = [sys.executable, str(PROJECT / "manage.py"), "sweep", "--watch"]
    process = subprocess.Popen(command, preexec_fn=die_with_parent)
    try:
        yield
    finally:
        process.terminate()
        process.wait()
