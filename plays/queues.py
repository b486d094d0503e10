"""The queue of runs. It only makes workers look: what a run is allowed to do is decided by its claim.

A job holds the run's id and nothing else. Losing a job costs delay, because the sweeper enqueues
again; a job too many costs one refused claim.
"""

from __future__ import annotations

from uuid import UUID

import django_rq
from django.db import transaction
from rq import Queue

from plays.models import RunParticipant

RUNS = "runs"
JOB = "plays.jobs.execute_run"

# Long enough to be looked at in the administration; the run itself is kept in the database.
KEPT_SECONDS = 3600


def enqueue(run_id: UUID) -> None:
    """Have a worker look at this run, unless a job for its next claim waits already.

    Raises redis' ConnectionError where the queue is out of reach.
    """
    queue = runs_queue()
    job_id = _job_id(run_id)
    if queue.get_job_position(job_id) is not None:
        return
    queue.enqueue(
        JOB,
        str(run_id),
        job_id=job_id,
        job_timeout=-1,
        result_ttl=KEPT_SECONDS,
        failure_ttl=KEPT_SECONDS,
        description=f"run {run_id}",
    )


def enqueue_on_commit(run_id: UUID) -> None:
    """Have a worker look at this run once the transaction is committed.

    A queue out of reach is logged and spoils nothing: the sweeper enqueues later.
    """

    def after_commit() -> None:
        enqueue(run_id)

    transaction.on_commit(after_commit, robust=True)


def runs_queue() -> Queue:
    """Give the queue that runs move in."""
    return django_rq.get_queue(RUNS)


def _job_id(run_id: UUID) -> str:
    """Name a job by the claim that it leads to.

    A name per run would be shared by a dead worker's job, which RQ's own cleaning still touches.
    """
    epochs = RunParticipant.objects.filter(run=run_id).values_list("epoch", flat=True)
    return f"run-{run_id}-{next(iter(epochs), 0) + 1}"
