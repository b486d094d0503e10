"""Who executes a run: claims, their end, and the sweep that finds runs whose worker is gone.

Everything here is decided by one transaction in PostgreSQL, on its clock, and never by the queue's
idea of a job. A claim locks the run's row first and its participant's second; so does everything
else that needs both.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

import redis
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from plays import live, queues
from plays.models import LogLine, Run, RunStatus
from plays.stores.connections import json_text
from plays.stores.fencing import Participant
from plays.stores.takeover import row_last_touched, rows_return

logger = logging.getLogger(__name__)

Json = Any

SILENT_SECONDS = 3.0
"""A worker renews its lease each second; one that has not for so long does not hear what is asked of it."""


def silent_lease_seconds() -> float:
    """Give how much is left at most of the lease of a worker that is silent."""
    return max(0.0, settings.DEEPLINE_LEASE_SECONDS - SILENT_SECONDS)


def run_claim(run_id: UUID, worker: str) -> Participant | None:
    """Take a queued run, or a running one whose lease has run out; None: somebody else has it.

    Afterwards the run is running under a new epoch and a live lease, and the rows of an earlier
    worker are pending again.
    """
    told = {"run": run_id, "worker": worker, "seconds": settings.DEEPLINE_LEASE_SECONDS}
    with transaction.atomic():
        dead = _one(_EARLIER_WORKER, told)
        sequence = _one(_CLAIM_RUN, told)
        epoch = sequence and _one(_CLAIM_LEASE, told)
        if not epoch:
            transaction.set_rollback(True)
            return None
        if dead:
            _tell_takeover(run_id, sequence, dead)
        rows_return(run_id, sequence)
        live.hint(run_id, sequence)
    return Participant(run_id, epoch)


def _tell_takeover(run_id: UUID, sequence: int, dead: str) -> None:
    row = row_last_touched(run_id)
    where = f" while {row} was running" if row else ""
    text = f"worker {dead} was lost{where}; another goes on from what is committed"
    _log(run_id, sequence, text)


def run_reclaim(participant: Participant, why: str) -> Participant | None:
    """Go on with a run under a new epoch after its play process died; None: the lease was lost.

    What the dead process still has under way can write nothing any more, and its rows are pending
    again. ``why`` goes into the run's log.
    """
    told = {
        "run": participant.run,
        "epoch": participant.epoch,
        "seconds": settings.DEEPLINE_LEASE_SECONDS,
    }
    with transaction.atomic():
        sequence = _one(_TOUCH_RUN, told)
        epoch = sequence and _one(_RENEW_EPOCH, told)
        if not epoch:
            transaction.set_rollback(True)
            return None
        rows_return(participant.run, sequence)
        _log(participant.run, sequence, why)
        live.hint(participant.run, sequence)
    return Participant(participant.run, epoch)


def run_release(participant: Participant) -> bool:
    """Give a run back to the end of the queue, with the lease let go; False: the lease was lost."""
    return _end(participant, {"status": RunStatus.QUEUED}) is not None


def run_finish(participant: Participant, outcome: Mapping[str, Json]) -> str | None:
    """Store how a run ended, as ``RunOutcome.to_json`` tells it; give its status, None: lease lost.

    Rows are counted here: ``completed`` with failed rows becomes ``completed_with_failures``, and
    ``failed`` where no row succeeded. A run that would wait goes back to the queue instead where a
    wait has been answered, or has become due, since its claim.
    """
    return _end(participant, _counted(participant, outcome))


def worker_expire(worker: str) -> None:
    """End the leases of a worker's process that is known to be dead, and queue its runs again."""
    with connection.cursor() as cursor:
        cursor.execute(_EXPIRE, {"worker": worker})
        expired = [run for (run,) in cursor.fetchall()]
    for run_id in expired:
        _enqueue(run_id)


def runs_sweep() -> int:
    """Queue runs that nobody moves: lost, due, or without a job. Give how many were looked at.

    It needs nothing that the queue remembers, so it also works after the queue was emptied.
    """
    _queue_due_runs()
    _obey_for_the_dead()
    with connection.cursor() as cursor:
        cursor.execute(_TO_MOVE)
        waiting = [run for (run,) in cursor.fetchall()]
    for run_id in waiting:
        _enqueue(run_id)
    return len(waiting)


def runs_are_queued() -> bool:
    """Tell whether a run waits for a worker."""
    return Run.objects.filter(status=RunStatus.QUEUED).exists()


def _end(participant: Participant, ended: Mapping[str, Json]) -> str | None:
    """Leave ``running`` by compare-and-set and let the lease go, in one transaction."""
    told = {
        "run": participant.run,
        "epoch": participant.epoch,
        "status": ended["status"],
        "result": _json_or_null(ended.get("result")),
        "error": _json_or_null(ended.get("error")),
        "stop_reason": ended.get("stop_reason", ""),
        "stop_message": ended.get("stop_message", ""),
    }
    with transaction.atomic():
        # In a statement of its own: the next one then sees the answers that it had to wait for.
        _one(_LOCK_RUN, told)
        found = _row(_END_RUN, told)
        if found is None or not _one(_END_LEASE, told):
            transaction.set_rollback(True)
            return None
        sequence, status = found
        rows_return(participant.run, sequence, status=_left_rows(status))
        live.hint(participant.run, sequence)
        if status == RunStatus.QUEUED:
            transaction.on_commit(partial(_enqueue, participant.run))
    return str(status)


def _left_rows(status: str) -> str:
    is_over = status in (RunStatus.CANCELLED, RunStatus.FAILED)
    return "cancelled" if is_over else "pending"


def _counted(participant: Participant, outcome: Mapping[str, Json]) -> Mapping[str, Json]:
    if outcome["status"] != RunStatus.COMPLETED:
        return outcome
    counted = _row(_COUNT_ROWS, {"run": participant.run}) or ()
    total, completed, failed = (int(count or 0) for count in counted)
    if not failed and (completed or not total):
        return outcome
    if completed:
        return {**outcome, "status": RunStatus.COMPLETED_WITH_FAILURES}
    message = f"none of {total:,} rows succeeded; open their cells for the reasons"
    error = {"type": "RowsFailed", "message": message}
    return {**outcome, "status": RunStatus.FAILED, "error": error}


def _queue_due_runs() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE_DUE)
        for run_id, sequence in cursor.fetchall():
            live.hint(run_id, sequence)


def _obey_for_the_dead() -> None:
    """Pause and cancel runs of which that was asked and whose worker died before it heard."""
    with connection.cursor() as cursor:
        cursor.execute(_ASKED_OF_THE_DEAD, {"left": silent_lease_seconds()})
        asked = cursor.fetchall()
    for run_id, epoch, requested in asked:
        status = RunStatus.CANCELLED if requested == "cancel" else RunStatus.PAUSED
        message = f"{status.label} by a person.".capitalize()
        _end(
            Participant(run_id, epoch),
            {"status": status, "stop_reason": "person", "stop_message": message},
        )


def _log(run_id: UUID, sequence: int, text: str) -> None:
    LogLine.objects.create(
        run_id=run_id, sequence=sequence, at=timezone.now(), level="warning", text=text
    )


def _json_or_null(value: Json) -> str | None:
    return None if value is None else json_text(value)


def _enqueue(run_id: UUID) -> None:
    try:
        queues.enqueue(run_id)
    except redis.RedisError as error:
        logger.warning("run %s is not in the queue yet, which takes nothing: %s", run_id, error)


def _one(statement: str, told: Mapping[str, Any]) -> Any:
    found = _row(statement, told)
    return found[0] if found else None


def _row(statement: str, told: Mapping[str, Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, told)
        found: tuple[Any, ...] | None = cursor.fetchone()
        return found


_LIVE_LEASE = """
EXISTS (
    SELECT 1 FROM plays_runparticipant AS p
    WHERE p.run_id = plays_run.id AND p.role = 'engine' AND p.lease_until > clock_timestamp()
)"""

_EARLIER_WORKER = """
SELECT p.worker FROM plays_run AS r JOIN plays_runparticipant AS p ON p.run_id = r.id
WHERE r.id = %(run)s AND r.status = 'running' AND p.role = 'engine'
"""

_CLAIM_RUN = f"""
UPDATE plays_run SET status = 'running', sequence = sequence + 1,
    requested = CASE status WHEN 'running' THEN requested ELSE 'none' END,
    started_at = coalesce(started_at, clock_timestamp()), stop_reason = '', stop_message = ''
WHERE id = %(run)s AND status IN ('queued', 'running') AND NOT {_LIVE_LEASE}
RETURNING sequence
"""  # noqa: S608  # put together from constants

# The lease is compared again: of two workers, the second read the first one's lease before it was
# written, and then waited for the run's row.
_CLAIM_LEASE = """
INSERT INTO plays_runparticipant AS p (run_id, role, epoch, lease_until, worker, claimed_at)
VALUES (
    %(run)s, 'engine', 1, clock_timestamp() + make_interval(secs => %(seconds)s), %(worker)s,
    clock_timestamp()
)
ON CONFLICT (run_id, role) DO UPDATE SET
    epoch = p.epoch + 1, lease_until = excluded.lease_until, worker = excluded.worker,
    claimed_at = excluded.claimed_at
WHERE p.lease_until <= clock_timestamp()
RETURNING epoch
"""

_TOUCH_RUN = """
UPDATE plays_run SET sequence = sequence + 1 WHERE id = %(run)s AND status = 'running'
RETURNING sequence
"""

_RENEW_EPOCH = """
UPDATE plays_runparticipant SET epoch = epoch + 1, claimed_at = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
WHERE run_id = %(run)s AND role = 'engine' AND epoch = %(epoch)s
RETURNING epoch
"""

# Answers and deadlines from before the claim were seen by the engine when it began.
_ANSWERED = """
EXISTS (
    SELECT 1 FROM plays_runparticipant AS p
    JOIN plays_boundary AS b ON b.run_id = coalesce(plays_run.root_id, plays_run.id)
    WHERE p.run_id = plays_run.id AND p.role = 'engine' AND (
        b.answered_at > p.claimed_at
        OR b.status = 'open' AND b.due_at > p.claimed_at AND b.due_at <= clock_timestamp()
    )
)"""

_ROW_MAY_RUN = """
EXISTS (
    SELECT 1 FROM plays_mapframe AS f JOIN plays_rowstate AS r ON r.frame_id = f.id
    WHERE f.run_id = plays_run.id AND r.status = 'waiting' AND r.wake_at <= clock_timestamp()
)"""

_LOCK_RUN = "SELECT id FROM plays_run WHERE id = %(run)s FOR UPDATE"

# What a person asked for last counts, also where the engine stopped for another reason.
_END_RUN = f"""
UPDATE plays_run SET sequence = sequence + 1, requested = 'none',
    status = ended.status, result = %(result)s, error = %(error)s,
    stop_reason = CASE WHEN ended.by_person THEN 'person' ELSE %(stop_reason)s END,
    stop_message = CASE
        WHEN NOT ended.by_person THEN %(stop_message)s
        WHEN ended.status = 'cancelled' THEN 'Cancelled by a person.'
        ELSE 'Paused by a person.'
    END,
    queued_at = CASE ended.status WHEN 'queued' THEN clock_timestamp() ELSE queued_at END,
    finished_at = CASE WHEN ended.status NOT IN ('queued', 'waiting', 'paused')
        THEN clock_timestamp() END
FROM (
    SELECT id AS ended_run, status, status IN ('paused', 'cancelled') AND requested <> 'none'
        AS by_person
    FROM (
        SELECT id, requested, CASE
            WHEN %(status)s = 'waiting' AND ({_ANSWERED} OR {_ROW_MAY_RUN}) THEN 'queued'
            WHEN %(status)s IN ('paused', 'queued', 'waiting') AND requested = 'cancel'
                THEN 'cancelled'
            WHEN %(status)s IN ('queued', 'waiting') AND requested = 'pause' THEN 'paused'
            ELSE %(status)s
        END AS status
        FROM plays_run WHERE id = %(run)s AND status = 'running' FOR UPDATE
    ) AS judged
) AS ended
WHERE id = ended.ended_run
RETURNING sequence, ended.status
"""  # noqa: S608  # put together from constants

_END_LEASE = """
UPDATE plays_runparticipant SET lease_until = clock_timestamp()
WHERE run_id = %(run)s AND role = 'engine' AND epoch = %(epoch)s
RETURNING epoch
"""

_COUNT_ROWS = """
SELECT sum(total), sum((row_totals ->> 'completed')::bigint), sum((row_totals ->> 'failed')::bigint)
FROM plays_mapframe WHERE run_id = %(run)s AND is_sealed
"""

_EXPIRE = """
UPDATE plays_runparticipant AS p SET lease_until = clock_timestamp()
FROM plays_run AS r
WHERE r.id = p.run_id AND r.status = 'running' AND p.worker = %(worker)s
    AND p.lease_until > clock_timestamp()
RETURNING p.run_id
"""

_QUEUE_DUE = f"""
UPDATE plays_run SET status = 'queued', sequence = sequence + 1, queued_at = clock_timestamp()
WHERE status = 'waiting' AND ({_ANSWERED} OR {_ROW_MAY_RUN})
RETURNING id, sequence
"""  # noqa: S608  # put together from constants

_ASKED_OF_THE_DEAD = """
SELECT r.id, p.epoch, r.requested FROM plays_run AS r
JOIN plays_runparticipant AS p ON p.run_id = r.id AND p.role = 'engine'
WHERE r.status = 'running' AND r.requested <> 'none'
    AND p.lease_until <= clock_timestamp() + make_interval(secs => %(left)s)
"""

_TO_MOVE = f"""
SELECT id FROM plays_run
WHERE status IN ('queued', 'running') AND NOT {_LIVE_LEASE}
ORDER BY queued_at LIMIT 1000
"""  # noqa: S608  # put together from constants
