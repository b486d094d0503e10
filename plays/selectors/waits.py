"""What runs wait for: how much of it, until when, and what is asked.

Access is not decided here: callers bring a run or a wait that the person may see.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Case, Count, Min, Q, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from plays.models import Boundary, MapFrame, Run
from plays.schemacheck import form_or_none

State = dict[str, Any]

IS_OPEN = Q(status=Boundary.Status.OPEN, due_at__gt=Now())
PAGE_MAX = 200
OVER = "over"


def waits_summary(run: Run) -> State:
    """Count the open waits of a run: ``open`` ones for events, ``sleeping`` ones, the next deadline.

    ``due_at`` is that of the first to end, in ISO 8601, None where nothing is waited for.
    """
    if not run.is_live:
        return {"open": 0, "sleeping": 0, "due_at": None}
    told = (
        waits_of(run)
        .filter(IS_OPEN)
        .aggregate(
            open=Count("pk", filter=Q(event__isnull=False)),
            sleeping=Count("pk", filter=Q(event__isnull=True)),
            due_at=Min("due_at"),
        )
    )
    return {**told, "due_at": _iso(told["due_at"])}


def waits_of(run: Run) -> QuerySet[Boundary]:
    """Give the waits of a run: of a root run's whole tree, of another run those of its maps."""
    if run.root_id in (None, run.pk):
        return run.boundaries.all()
    return Boundary.objects.filter(frame__run=run).select_related("run")


def waits_listed(run: Run, *, only_open: bool = False) -> QuerySet[Boundary]:
    """Give a run's waits: open ones first, events before sleeps, then by their deadlines."""
    waits = waits_of(run).select_related("frame")
    if only_open:
        waits = waits.filter(IS_OPEN) if run.is_live else waits.none()
    return waits.order_by(
        Case(When(IS_OPEN, then=Value(0)), default=Value(1)),
        Case(When(event__isnull=False, then=Value(0)), default=Value(1)),
        "due_at",
        "pk",
    )


def waits_of_row(frame: MapFrame, position: int) -> list[State]:
    """Give what a row waits for, the first deadline first."""
    waits = Boundary.objects.filter(IS_OPEN, frame=frame, position=position)
    waits = waits.select_related("run", "frame").order_by("due_at")
    return [wait_state(wait) for wait in waits]


def wait_state(wait: Boundary) -> State:
    """Give a wait as pages and API show it; ``status`` as it is now, times in ISO 8601."""
    return {
        "id": wait.pk,
        "name": wait.name,
        "event": wait.event,
        "status": wait_status(wait),
        "message": wait.message,
        "form": form_or_none(wait.form),
        "created_at": _iso(wait.created_at),
        "due_at": _iso(wait.due_at),
        "answered_at": _iso(wait.answered_at),
        "place": wait.frame and wait_place(wait.frame, wait.position or 0),
    }


def wait_place(frame: MapFrame, position: int) -> State:
    """Give where a row is found: its map, and its position from 0."""
    return {"frame": frame.pk, "title": frame.title or frame.table, "position": position}


def wait_status(wait: Boundary) -> str:
    """Give open, received or timed_out; over for a sleep that ended, and where the run is over."""
    if wait.status != Boundary.Status.OPEN:
        return wait.status
    if wait.due_at <= timezone.now():
        return Boundary.Status.TIMED_OUT if wait.event else OVER
    return Boundary.Status.OPEN if wait.run.is_live else OVER


def root_of(run: Run) -> Run:
    """Give the root of a run's tree, whose waits and events are one."""
    return run if run.root_id in (None, run.pk) else Run.objects.get(pk=run.root_id)


def wait_by_id(wait_id: int) -> Boundary | None:
    """Give a wait whoever asks, for one who holds its token."""
    return Boundary.objects.select_related("run", "frame").filter(pk=wait_id).first()


def _iso(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat()
