"""The API of runs: what they are, and what may be done to them."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from ninja import Router, Status

from plays.api.schemas import LogLine, Refusal, ResumeIn, RetryIn, Run, Started, TraceStep
from plays.downloads import table_response
from plays.models import Role
from plays.models import Run as RunRecord
from plays.selectors import grid
from plays.selectors.access import require_role, run_for_user
from plays.services.runs import run_cancel, run_pause, run_resume, run_retry

router = Router(tags=["runs"])

REFUSED = {403: Refusal, 404: Refusal, 409: Refusal}


@router.get("/{uuid:run_id}", response={200: Run, 404: Refusal})
def run_detail(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """Give a run: status, counts that add up, spending and limits, its maps."""
    return _described(run_for_user(request.user, run_id))


@router.post("/{uuid:run_id}/pause", response={200: Run, **REFUSED})
def pause(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """Pause a run; what it found is kept. A running one pauses as soon as its worker hears it."""
    run = _run_to_change(request, run_id)
    run_pause(run)
    return _described(run)


@router.post("/{uuid:run_id}/resume", response={200: Run, **REFUSED})
def resume(request: HttpRequest, run_id: UUID, how: ResumeIn | None = None) -> dict[str, Any]:
    """Let a paused run go on where it stopped."""
    run = _run_to_change(request, run_id)
    user = cast("AbstractBaseUser", request.user)
    run_resume(run, user, without_provider=how.without_provider if how else None)
    return _described(run)


@router.post("/{uuid:run_id}/cancel", response={200: Run, **REFUSED})
def cancel(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """Cancel a run; what it found is kept, and no call leaves any more."""
    run = _run_to_change(request, run_id)
    run_cancel(run)
    return _described(run)


@router.post("/{uuid:run_id}/retry", response={201: Started, **REFUSED})
def retry(request: HttpRequest, run_id: UUID, what: RetryIn) -> Status[dict[str, str]]:
    """Start a new run that asks again for a part of the cells and takes over the rest."""
    run = _run_to_change(request, run_id)
    started = run_retry(run, cast("AbstractBaseUser", request.user), what.dict())
    return Status(201, {"id": str(started.pk), "url": reverse("run-detail", args=[started.pk])})


@router.get("/{uuid:run_id}/log", response={200: list[LogLine], 404: Refusal})
def log(
    request: HttpRequest, run_id: UUID, before: int | None = None, search: str = "", level: str = ""
) -> list[dict[str, Any]]:
    """Give up to 200 log lines, newest last, that precede the line ``before``."""
    run = run_for_user(request.user, run_id)
    return grid.log_page(run.pk, before=before, search=search, level=level)


@router.get("/{uuid:run_id}/trace", response={200: list[TraceStep], 404: Refusal})
def trace(request: HttpRequest, run_id: UUID) -> list[dict[str, Any]]:
    """Give the run's trace: its steps as they began, each with counts, a preview and what stands below."""
    return grid.run_trace(run_for_user(request.user, run_id).pk)


@router.get("/{uuid:run_id}/download.csv", response={200: None, 404: Refusal})
def download(
    request: HttpRequest,
    run_id: UUID,
    frame: int | None = None,
    spreadsheet_safe: bool = False,
    bom: bool = False,
) -> HttpResponseBase:
    """Give the table that the run returned, or the chosen map as it is now, as CSV."""
    run = run_for_user(request.user, run_id)
    return table_response(grid.run_table(run, frame), spreadsheet_safe=spreadsheet_safe, bom=bom)


def _run_to_change(request: HttpRequest, run_id: UUID) -> RunRecord:
    run = run_for_user(request.user, run_id)
    require_role(request.user, run.workspace_id, Role.RUNNER)
    return run


def _described(run: RunRecord) -> dict[str, Any]:
    run.refresh_from_db()
    return {**grid.run_state(run), "frames": grid.run_frames(run)}
