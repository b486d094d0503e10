"""The kinds of faults, and how each is dealt.

A blow is dealt to a run that has work in flight. What a fault needs afterwards to be a fault and
not the end (the server started again, the process continued) is part of the blow.
"""

from __future__ import annotations

import random
import signal
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

import psutil
import redis
from rq import Queue

from deepline_site.server_process import is_alive
from plays.queues import JOB, RUNS
from tests.chaos.stage import Asked, Stage, pause
from tests.chaos.workload import claimed_calls, moment, until
from tests.integration.host_runs import play_processes, work_horses

CRASH_POINTS = ("after_claim", "after_reply", "before_commit", "after_commit", "before_finish")
LONG_OUTAGE_SECONDS = 40.0
"""Longer than a claim on a call holds (30 s)."""


class Missed(Exception):
    """The run was over, or its processes gone, before the blow fell."""


@dataclass
class Arena:
    """What the faults need. ``excused``: calls that a killed gateway had under way, each time."""

    stage: Stage
    chance: random.Random
    start_short_run: Callable[[], UUID]
    excused: Asked = field(default_factory=Counter)
    long_outages: set[str] = field(default_factory=set)

    def outage(self, server: str) -> None:
        """Wait for as long as a server is away; the first time of each is a long one, if wanted."""
        if server in self.long_outages:
            self.long_outages.discard(server)
            pause(LONG_OUTAGE_SECONDS)
        else:
            pause(self.chance.uniform(0.0, 2.0))

    def valkey(self) -> redis.Redis:
        return redis.Redis.from_url(self.stage.home.redis_url())


Blow = Callable[[Arena, UUID], None]


def kill_play_process(arena: Arena, run: UUID) -> None:
    _one(play_processes(_worker(arena, run))).kill()


def kill_work_horse(arena: Arena, run: UUID) -> None:
    _one(work_horses(_worker(arena, run))).kill()


def kill_worker(arena: Arena, run: UUID) -> None:
    """Kill a worker with all below it at once: the machine is gone."""
    arena.stage.workers[_worker(arena, run).pid].end()


def kill_worker_and_empty_queue(arena: Arena, run: UUID) -> None:
    kill_worker(arena, run)
    empty_valkey(arena, run)


def stop_past_lease(arena: Arena, run: UUID) -> None:
    """Stop a host until another has its run, then let it go on in the belief that it has it."""
    epoch = moment(run).epoch
    horse = _one(work_horses(_worker(arena, run)))
    horse.suspend()
    try:
        until(lambda: moment(run).epoch > epoch, "another worker to take the run")
        pause(arena.chance.uniform(0.5, 2.0))
    finally:
        horse.resume()


def restart_postgres(arena: Arena, run: UUID) -> None:
    server = arena.stage.postgres.process()
    assert server is not None
    # SIGQUIT is PostgreSQL's own immediate shutdown.
    _end(server, arena.chance.choice((signal.SIGKILL, signal.SIGQUIT)))
    arena.outage("PostgreSQL")
    arena.stage.postgres.start()


def restart_valkey(arena: Arena, run: UUID) -> None:
    server = arena.stage.valkey.process()
    assert server is not None
    _end(server, signal.SIGKILL)
    arena.outage("Valkey")
    arena.stage.valkey.start()


def kill_gateway(arena: Arena, run: UUID) -> None:
    arena.stage.product.gateway.kill()
    arena.excused += claimed_calls()
    arena.outage("gateway")


def empty_valkey(arena: Arena, run: UUID) -> None:
    with arena.valkey() as valkey:
        valkey.flushall()


def lose_hints(arena: Arena, run: UUID) -> None:
    """Cut every subscription; what is said until they are made again is lost."""
    with arena.valkey() as valkey:
        valkey.execute_command("CLIENT", "KILL", "TYPE", "pubsub")


def enqueue_twice(arena: Arena, run: UUID) -> None:
    with arena.valkey() as valkey:
        queue = Queue(RUNS, connection=valkey)
        for _ in range(2):
            queue.enqueue(JOB, str(run), job_id=f"twice-{uuid.uuid4()}", job_timeout=-1)


def crash_at(place: str) -> Blow:
    """Have the run taken over by a worker whose work-horse dies at this place."""

    def blow(arena: Arena, run: UUID) -> None:
        count = 1 if place in ("after_claim", "before_finish") else arena.chance.randint(1, 4)
        for live in arena.stage.workers.values():
            live.end()
        # Queued before the leases of the others run out, so that it is the first to be taken.
        target = arena.start_short_run() if place == "before_finish" else run
        doomed = arena.stage.start_doomed_worker(f"{place}:{count}")
        try:
            _await_two_claims(doomed.process.pid, target)
        finally:
            arena.stage.mend()
            doomed.end()

    return blow


def _await_two_claims(pid: int, run: UUID) -> None:
    """Wait until a worker has claimed a run again, which it does when its work-horse has died."""

    def first_claim() -> int:
        found = moment(run)
        if found.is_over:
            raise Missed
        return found.epoch if found.worker_pid == pid else 0

    epoch = until(first_claim, "the claim of the doomed worker")
    until(lambda: moment(run).epoch > epoch, "the death of its work-horse")


FAULTS: dict[str, Blow] = {
    "play process killed": kill_play_process,
    "work-horse killed": kill_work_horse,
    "worker killed with all below": kill_worker,
    "the same, and Valkey emptied": kill_worker_and_empty_queue,
    "host stopped past its lease": stop_past_lease,
    "PostgreSQL restarted": restart_postgres,
    "Valkey restarted": restart_valkey,
    "gateway killed": kill_gateway,
    "Valkey emptied": empty_valkey,
    "hints lost": lose_hints,
    "run queued twice more": enqueue_twice,
    **{f"crash at {place}": crash_at(place) for place in CRASH_POINTS},
}

FULL = {
    "play process killed": 40,
    "work-horse killed": 40,
    "worker killed with all below": 15,
    "the same, and Valkey emptied": 5,
    "host stopped past its lease": 5,
    "PostgreSQL restarted": 10,
    "Valkey restarted": 10,
    "gateway killed": 10,
    "Valkey emptied": 5,
    "hints lost": 5,
    "run queued twice more": 10,
    **{f"crash at {place}": 5 for place in CRASH_POINTS},
}
SMALL = {
    **dict.fromkeys(FAULTS, 1),
    "play process killed": 2,
    "work-horse killed": 2,
    **{f"crash at {place}": 0 for place in CRASH_POINTS[1:]},
}


def _worker(arena: Arena, run: UUID) -> psutil.Process:
    """Give the worker that holds a run."""
    pid = moment(run).worker_pid
    if pid not in arena.stage.workers:
        raise Missed
    return psutil.Process(pid)


def _one(found: list[psutil.Process]) -> psutil.Process:
    if len(found) != 1:
        raise Missed
    return found[0]


def _end(server: psutil.Process, number: int) -> None:
    server.send_signal(number)
    until(lambda: not is_alive(server), "the server's end")
