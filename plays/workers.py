"""The RQ worker that moves runs: one work-horse per job, forked, and killed with its worker.

RQ decides nothing about runs here. It brings ids to work-horses and watches them. A work-horse
that ends without having let its run go has it put back in the queue at once, because nobody else
would know before the lease runs out; what RQ knows of the job is not asked, since Valkey may have
been emptied or be away.
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

from django.db import DatabaseError, InterfaceError, connections
from redis import RedisError
from redis.client import Pipeline
from rq import Queue, Worker
from rq.executions import Execution
from rq.job import Job

from deepline_site.home import PROJECT
from deepline_site.tether import die_with_parent
from plays.services.leases import worker_expire

logger = logging.getLogger(__name__)


BEAT_SECONDS = 10
"""A worker looks after itself this often, whether it is idle or has a work-horse."""

RECONNECT_SECONDS = 2.0


class Sweeper:
    """``manage.py sweep --watch`` as a child: a worker waits for its work-horse and cannot sweep."""

    def __init__(self) -> None:
        self._process = self._started()

    def revive(self) -> None:
        """Start it again if it has died."""
        if self._process.poll() is not None:
            logger.warning(
                "the sweeper died (status %s); starting it again", self._process.returncode
            )
            self._process = self._started()

    def end(self) -> None:
        """End it; it is gone afterwards."""
        self._process.terminate()
        self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(PROJECT / "manage.py"), "sweep", "--watch"]
        return subprocess.Popen(command, preexec_fn=die_with_parent)


class RunWorker(Worker):
    """A worker of the queue of runs, with a sweeper beside it."""

    max_connection_wait_time = RECONNECT_SECONDS

    def __init__(self, queue: Queue, sweeper: Sweeper) -> None:
        super().__init__(
            [queue],
            name=worker_name(),
            connection=queue.connection,
            # RQ waits for jobs for fifteen seconds less.
            worker_ttl=BEAT_SECONDS + 15,
            job_monitoring_interval=BEAT_SECONDS,
        )
        self._sweeper = sweeper

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Tell RQ that this worker lives, and see that its sweeper does."""
        if os.getpid() == self.pid:
            self._sweeper.revive()
        super().heartbeat(timeout, pipeline)

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        """Beat while a work-horse works; a Valkey that is away or full does not end its run."""
        try:
            super().maintain_heartbeats(job, execution)
        except RedisError as error:
            logger.warning("the queue takes no heartbeat: %s", error)

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Have a work-horse do a job; a run that it leaves behind is back in the queue then."""
        try:
            super().execute_job(job, queue)
        finally:
            self._let_go()

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

    def _let_go(self) -> None:
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
def sweeper() -> Iterator[Sweeper]:
    """Have a sweeper running inside the block."""
    started = Sweeper()
    try:
        yield started
    finally:
        started.end()
