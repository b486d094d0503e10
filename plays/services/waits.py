"""Answers to waits, from people and from systems outside.

Each answer is one transaction that takes the run's row first, as the engine does when it registers a
wait: so answers and registrations have one order, and an event is applied once. What comes too late is
kept to be seen and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from plays import live, queues
from plays.models import Boundary, EarlyAnswer, LateAnswer, MapFrame, RowState, Run, row_id
from plays.models.run import LIVE
from plays.schemacheck import form_or_none, schema_problems
from plays.services.refusals import InputInvalid, Refused
from runtime.values import canonical_bytes, sanitise

Json = Any
Person = AbstractBaseUser | None

PAYLOAD_KB = 256
EARLY_MOST = 10_000
"""Events of one run that are kept for waits to come."""

LATE_MOST = 20
"""Late answers to one wait, or to one run's event, that are kept."""

EVENT_CHARACTERS = 200
SLEEPS = "A sleep ends by itself: nothing answers it."


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of an answer: ``waits`` that it answered now, and one sentence for who sent it.

    ``is_accepted`` is False for an answer that came too late. One that is sent again is accepted and
    answers nothing. An event that is kept for a wait to come is accepted too.
    """

    is_accepted: bool
    sentence: str
    waits: int = 0


def wait_answer(boundary: Boundary, payload: Json, *, by: Person = None) -> Answered:
    """Answer one wait for an event, and let its row and run go on.

    The payload must be JSON of at most 256 kB and fit the wait's form. Raises InputInvalid; nothing
    is changed then.
    """
    if boundary.event is None:
        raise Refused(SLEEPS)
    payload = _checked(payload, [boundary.form])
    with transaction.atomic():
        status = _run_status(boundary)
        now = _as_it_is(boundary)
        if now.status == Boundary.Status.RECEIVED and _same(now.payload, payload):
            return Answered(True, "This was answered already, in the same way.")
        if why := _too_late(now, status):
            _keep_late(now.run_id, now.event or "", payload, by=by, boundary=now, why=why)
            return Answered(False, why)
        _receive([now], payload, by)
    return Answered(True, "The run goes on with your answer.", 1)


def event_answer(run: Run, event: str, payload: Json, *, by: Person = None) -> Answered:
    """Answer every open wait of a root run for this event; without one, keep it for the next.

    After a wait for it that ended at its deadline it is late, until a new wait is there. Raises
    InputInvalid where the payload does not fit a wait's form, and Refused where too many are kept.
    """
    if not 0 < len(event) <= EVENT_CHARACTERS:
        raise Refused(f"An event's name has 1 to {EVENT_CHARACTERS} characters.")
    payload = _checked(payload, [])
    with transaction.atomic():
        status = _lock(run.pk).get(run.pk, "")
        waits = Boundary.objects.filter(run=run, event=event)
        open_ones = list(waits.filter(status=Boundary.Status.OPEN, due_at__gt=Now()).order_by("id"))
        if status not in LIVE:
            why = f"The run is over: it is {status.replace('_', ' ')}."
        elif open_ones:
            _checked(payload, [wait.form for wait in open_ones])
            _receive(open_ones, payload, by)
            return Answered(True, "The run goes on with this answer.", len(open_ones))
        elif _last_timed_out(waits):
            why = "The wait for this event ended at its deadline, before this answer came."
        else:
            _keep_early(run, event, payload, by)
            return Answered(True, "Kept for the first wait for this event.")
        _keep_late(run.pk, event, payload, by=by, boundary=None, why=why)
    return Answered(False, why)


def wait_end(boundary: Boundary) -> None:
    """End a wait for an event now, as if its deadline had come. Raises Refused where it is over."""
    with transaction.atomic():
        status = _run_status(boundary)
        now = _as_it_is(boundary)
        if now.event is None:
            raise Refused(SLEEPS)
        if why := _too_late(now, status):
            raise Refused(why)
        _settle([now], status=Boundary.Status.TIMED_OUT)


def _checked(payload: Json, forms: Iterable[Json]) -> Json:
    """Give the payload as it is stored. Raises InputInvalid where it is too large or does not fit."""
    try:
        clean = sanitise(payload)[0]
        size = len(canonical_bytes(clean))
    except RecursionError:
        raise InputInvalid({"": "The payload is nested too deeply."}) from None
    if size > PAYLOAD_KB * 1024:
        told = f"The payload has {size / 1024:,.0f} kB; at most {PAYLOAD_KB} kB are taken."
        raise InputInvalid({"": told})
    for form in forms:
        problems: dict[str, str] = {}
        for name, sentence in schema_problems(form_or_none(form), clean):
            problems.setdefault(name, sentence)
        if problems:
            raise InputInvalid(problems)
    return clean


def _run_status(boundary: Boundary) -> str:
    """Lock the runs that a wait belongs to; give the status of the one in which it waits."""
    frame = boundary.frame_id and MapFrame.objects.filter(pk=boundary.frame_id).first()
    owner = frame.run_id if frame else boundary.run_id
    return _lock(boundary.run_id, owner).get(owner, "")


def _lock(*runs: UUID) -> dict[UUID, str]:
    """Take the next number of each run, and with it its row; give their statuses."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"runs": list(runs)})
        found = cursor.fetchall()
    for run, sequence, _ in found:
        live.hint(run, sequence)
    return {run: status for run, _, status in found}


def _as_it_is(boundary: Boundary) -> Boundary:
    """Read a wait again, after its run is locked; ``is_due`` tells whether its deadline has come."""
    due = Q(due_at__lte=Now())
    found: Boundary = Boundary.objects.annotate(is_due=due).get(pk=boundary.pk)
    return found


def _too_late(boundary: Boundary, status: str) -> str:
    """Say why an answer comes too late, or ""."""
    if boundary.status == Boundary.Status.RECEIVED:
        return "This was answered already, with another answer, which counts."
    is_due = boundary.is_due  # type: ignore[attr-defined]  # annotated by _as_it_is
    if boundary.status == Boundary.Status.TIMED_OUT or is_due:
        return "This came too late: the wait has ended."
    if status not in LIVE:
        return f"This came too late: the run is {status.replace('_', ' ') or 'gone'}."
    return ""


def _receive(waits: Sequence[Boundary], payload: Json, by: Person) -> None:
    _settle(waits, status=Boundary.Status.RECEIVED, payload=payload, answered_by_id=_number(by))


def _settle(waits: Sequence[Boundary], **columns: Any) -> None:
    """End open waits of locked runs, wake their rows, and queue the runs that only wait."""
    chosen = Boundary.objects.filter(pk__in=[wait.pk for wait in waits])
    chosen.filter(status=Boundary.Status.OPEN).update(answered_at=Now(), **columns)
    rows = [
        row_id(wait.frame_id, wait.position)
        for wait in waits
        if wait.frame_id is not None and wait.position is not None
    ]
    RowState.objects.filter(pk__in=rows).update(wake_at=Now())
    frames = {wait.frame_id for wait in waits if wait.frame_id is not None}
    owners = MapFrame.objects.filter(pk__in=frames).values_list("run_id", flat=True)
    _queue({*owners, *(wait.run_id for wait in waits)})


def _queue(runs: set[UUID]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, {"runs": list(runs)})
        for run, sequence in cursor.fetchall():
            queues.enqueue_on_commit(run)
            live.hint(run, sequence)


def _last_timed_out(waits: Any) -> bool:
    """Whether the newest wait for an event ended at its deadline; an open one is due here."""
    newest = waits.order_by("-id").first()
    return newest is not None and newest.status != Boundary.Status.RECEIVED


def _keep_early(run: Run, event: str, payload: Json, by: Person) -> None:
    if EarlyAnswer.objects.filter(run=run).count() >= EARLY_MOST:
        raise Refused(
            f"{EARLY_MOST:,} events of this run wait for somebody who asks for them already:"
            " no more are kept."
        )
    EarlyAnswer.objects.create(run=run, event=event, payload=payload, by_id=_number(by), at=Now())


def _keep_late(
    run: UUID, event: str, payload: Json, *, by: Person, boundary: Boundary | None, why: str
) -> None:
    """Keep an answer that came too late, once, where a person can see it."""
    late = LateAnswer.objects.filter(run=run, event=event, boundary=boundary)[:LATE_MOST]
    if len(late) == LATE_MOST or any(_same(kept.payload, payload) for kept in late):
        return
    LateAnswer.objects.create(
        run_id=run,
        event=event,
        boundary=boundary,
        payload=payload,
        why=why,
        by_id=_number(by),
        at=Now(),
    )


def _number(person: Person) -> int | None:
    return None if person is None else person.pk


def _same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON; True and 1 are not, though Python takes them for it."""
    return canonical_bytes(one) == canonical_bytes(other)


_LOCK = """
WITH locked AS (
    SELECT id FROM plays_run WHERE id = ANY(%(runs)s) ORDER BY id FOR UPDATE
)
UPDATE plays_run AS r SET sequence = r.sequence + 1 FROM locked WHERE r.id = locked.id
RETURNING r.id, r.sequence, r.status
"""

_QUEUE = """
UPDATE plays_run SET status = 'queued', queued_at = clock_timestamp(), sequence = sequence + 1
WHERE id = ANY(%(runs)s) AND status = 'waiting'
RETURNING id, sequence
"""
