"""Starting, pausing, resuming, cancelling and retrying runs.

A run that a worker holds is only asked; its worker hears it with the next renewal of its lease.
A run that nobody holds is changed here. Each change is one compare-and-set, so of two people
who press at once one is told what the other did.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from plays import live, queues
from plays.models import Revision, Run, RunParticipant, RunRequest, RunStatus, RunUsage
from plays.models.run import LIVE
from plays.services.governance import profile_default, profile_limits
from plays.services.inputs import input_check
from plays.services.leases import silent_lease_seconds
from plays.services.refusals import Refused
from plays.stores.takeover import rows_return
from runtime.values import sanitise

PAUSABLE = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)
ROWS = ("failed", "empty", "all")


def run_start(
    revision: Revision,
    user: AbstractBaseUser | None,
    given: Mapping[str, Any],
    *,
    selection: Mapping[str, Any] | None = None,
    retry_of: Run | None = None,
    run_id: uuid.UUID | None = None,
) -> Run:
    """Make a queued run with its own copy of the default limits; it is enqueued on commit.

    ``run_id`` makes it safe to ask twice: where a run of this id, play and person exists
    already, that one is given and nothing is made. Should the queue be out of reach at the
    commit, the sweeper finds the run. Raises InputInvalid, and makes nothing, where the input
    does not fit the play.
    """
    run = Run(
        id=run_id or uuid.uuid4(),
        workspace_id=revision.play.workspace_id,
        play_id=revision.play_id,
        revision=revision,
        input=sanitise(dict(given))[0],
        selection=dict(selection or {}),
        retry_of=retry_of,
        created_by_id=user.pk if user else None,
    )
    with transaction.atomic():
        if (earlier := _same_run(run)) is not None:
            return earlier
        input_check(revision, run.input)
        run.limits = profile_limits(profile_default())
        try:
            _insert(run)
        except IntegrityError:
            return _earlier_or_refused(run)
        queues.enqueue_on_commit(run.pk)
    return run


def run_pause(run: Run) -> None:
    """Pause a run: at once where no worker holds it, else as soon as its worker hears of it.

    Everything found so far is kept. Raises Refused where the run is over or paused already.
    """
    stopped = {
        "stop_reason": "person",
        "stop_message": "Paused by a person.",
        "requested": RunRequest.NONE,
    }
    with transaction.atomic():
        if _is_held(run):
            asked = run.request(RunRequest.PAUSE)
        else:
            asked = run.change(PAUSABLE, RunStatus.PAUSED, **stopped)
        if not asked:
            raise Refused(f"The run cannot be paused: it is {_status_now(run)}.")
        _settle(run)


def run_resume(
    run: Run, user: AbstractBaseUser | None = None, *, without_provider: str | None = None
) -> None:
    """Let a paused run go on where it stopped; it is enqueued on commit.

    ``without_provider`` is left out for all rows that are not finished, which the run records and the
    administration's log tells of ``user``. Raises Refused where the run is not paused.
    """
    left_out = {}
    provider = sanitise(without_provider or "")[0]
    if provider:
        left_out = {"left_out": sorted({*run.left_out, provider})}
    with transaction.atomic():
        resumed = run.change(
            RunStatus.PAUSED,
            RunStatus.QUEUED,
            requested=RunRequest.NONE,
            stop_reason="",
            stop_message="",
            queued_at=timezone.now(),
            **left_out,
        )
        if not resumed:
            raise Refused(f"The run cannot be resumed: it is {_status_now(run)}.")
        if provider and user is not None:
            _audit(run, user, f"Resumed without the provider {provider}.")
        queues.enqueue_on_commit(run.pk)
        _settle(run)


def run_cancel(run: Run) -> None:
    """Cancel a run: at once where no living worker holds it, else as soon as its worker hears it.

    No call leaves for a cancelled run any more, and everything found so far is kept. Raises
    Refused where the run is over already.
    """
    stopped: dict[str, Any] = {
        "stop_reason": "person",
        "stop_message": "Cancelled by a person.",
        "requested": RunRequest.NONE,
        "finished_at": timezone.now(),
    }
    with transaction.atomic():
        if _is_held(run):
            asked = run.request(RunRequest.CANCEL)
        else:
            asked = run.change(LIVE, RunStatus.CANCELLED, **stopped)
        if not asked:
            raise Refused(f"The run cannot be cancelled: it is {_status_now(run)}.")
        _settle(run)


def run_retry(
    run: Run, user: AbstractBaseUser | None, what: str | Mapping[str, Any] = "failed"
) -> Run:
    """Start a new run of the same revision and input that asks again for a part of the cells.

    ``what`` is "failed", "empty", "all", or ``{"rows": one of these or positions, "fields":
    names or None}``. What is not selected is taken over as it is. Raises Refused where the run
    still goes on or the selection is none, and InputInvalid where its file is gone.
    """
    if Run.objects.get(pk=run.pk).is_live:
        raise Refused("The run is still going: cancel it, or wait for its end, to retry.")
    selection = retry_selection(what)
    return run_start(run.revision, user, run.input, selection=selection, retry_of=run)


def retry_selection(what: str | Mapping[str, Any]) -> dict[str, Any]:
    """Give the selection of a retry as a run keeps it. Raises Refused where ``what`` is none."""
    wanted = {"rows": what} if isinstance(what, str) else dict(what)
    rows, fields = wanted.get("rows", "all"), wanted.get("fields")
    if not (rows in ROWS if isinstance(rows, str) else _are_positions(rows)):
        raise Refused('Rows to retry are "failed", "empty", "all" or a list of positions from 0.')
    if fields is not None and not _are_names(fields):
        raise Refused("Fields to retry are a list of names.")
    return {"rows": rows, "fields": fields}


def _same_run(run: Run) -> Run | None:
    """Find the run that an earlier press of the same button made."""
    same = Run.objects.filter(pk=run.pk, play=run.play_id, created_by=run.created_by_id)
    return same.first()


def _earlier_or_refused(run: Run) -> Run:
    earlier = _same_run(run)
    if earlier is None:
        raise Refused("This form has been used already: open it again.")
    return earlier


@transaction.atomic
def _insert(run: Run) -> None:
    """Write the run and its usage in a savepoint, so that a repeated id spoils nothing else."""
    run.save(force_insert=True)
    RunUsage.objects.create(run=run)


def _is_held(run: Run) -> bool:
    """Lock the run and tell whether a living worker executes it.

    A worker that has not renewed its lease lately is taken for dead. It loses its epoch and lease
    here, so that it can write nothing and send nothing any more, should it have been slow only.
    """
    locked = Run.objects.select_for_update().get(pk=run.pk)
    if locked.status != RunStatus.RUNNING:
        return False
    engines = RunParticipant.objects.filter(run=run, role="engine")
    silent = engines.filter(lease_until__lte=Now() + timedelta(seconds=silent_lease_seconds()))
    fenced = silent.update(epoch=F("epoch") + 1, lease_until=Now())
    return not fenced and engines.exists()


def _audit(run: Run, user: AbstractBaseUser, sentence: str) -> None:
    LogEntry.objects.create(
        user_id=user.pk,
        content_type=ContentType.objects.get_for_model(Run),
        object_id=str(run.pk),
        object_repr=str(run)[:200],
        action_flag=CHANGE,
        change_message=sentence,
    )


def _settle(run: Run) -> None:
    """Give the rows of a run that stands still their status, and hint."""
    run.refresh_from_db(
        fields=["status", "requested", "sequence", "stop_reason", "stop_message", "left_out"]
    )
    if run.status != RunStatus.RUNNING:
        rows = "cancelled" if run.status == RunStatus.CANCELLED else "pending"
        rows_return(run.pk, run.sequence, status=rows)
    live.hint(run.pk, run.sequence)


def _status_now(run: Run) -> str:
    run.refresh_from_db(fields=["status"])
    return run.get_status_display().lower()


def _are_positions(rows: object) -> bool:
    return isinstance(rows, list) and all(type(row) is int and row >= 0 for row in rows)


def _are_names(fields: object) -> bool:
    return isinstance(fields, list) and all(isinstance(field, str) for field in fields)
