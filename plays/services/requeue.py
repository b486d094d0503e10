"""Putting a run back in the queue by hand, taking it from whichever worker holds it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from plays import live, queues
from plays.models import Run, RunParticipant, RunRequest, RunStatus
from plays.services.refusals import Refused

ON_THEIR_WAY = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)


def is_root(run: Run) -> bool:
    """Whether a run was started by itself, and not by another run's play."""
    return run.root_id in (None, run.pk)


def run_requeue(run: Run) -> None:
    """Send a run to the end of the queue; a worker takes it up from what is committed.

    For runs that do not move though they should: the job was lost, or a worker hangs but renews its lease.
    The lease is taken from the worker and its epoch ends, so that it can write nothing and
    send nothing any more. Nothing found so far is lost, and no call that was sent is sent again.
    Raises Refused where the run is paused, over, or moved by the run that called its play.
    """
    if not is_root(run):
        raise Refused("The run that called this one moves it: queue that one again.")
    with transaction.atomic():
        queued = run.change(
            ON_THEIR_WAY,
            RunStatus.QUEUED,
            requested=RunRequest.NONE,
            queued_at=timezone.now(),
        )
        if not queued:
            raise Refused(f"The run cannot be queued again: it is {_status_now(run)}.")
        _release_lease(run)
        queues.enqueue_on_commit(run.pk)
        run.refresh_from_db(fields=["status", "requested", "sequence", "queued_at"])
        live.hint(run.pk, run.sequence)


def _release_lease(run: Run) -> None:
    """End the epoch of whoever executes the run; after the run's own row, which claims lock first."""
    RunParticipant.objects.filter(run=run).update(epoch=F("epoch") + 1, lease_until=Now())


def _status_now(run: Run) -> str:
    run.refresh_from_db(fields=["status"])
    return run.get_status_display().lower()
