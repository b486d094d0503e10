"""The page of one run: its head, the live grid beside it, and what may be done to the run.

The page is sent with the run as it is; everything after that comes through the socket, and rows, cells
and actions through the API. The forms work without scripts too, by way of :func:`run_act`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from plays.downloads import table_response
from plays.models import Role, Run
from plays.selectors import grid
from plays.selectors.access import may, require_role, run_for_user
from plays.services.refusals import Refused
from plays.services.runs import run_cancel, run_pause, run_resume, run_retry

ACTIONS: dict[str, Callable[[Run], None]] = {
    "pause": run_pause,
    "cancel": run_cancel,
}


@login_required
@require_GET
def run_detail(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show a run."""
    run = run_for_user(request.user, run_id)
    is_runner = may(request.user, run.workspace_id, Role.RUNNER)
    snapshot = _snapshot(run) | {
        "may_act": is_runner,
        "token": get_token(request),
        "nonce": str(request.csp_nonce),  # type: ignore[attr-defined]  # set by csp's middleware
    }
    shown = {"run": run, "is_runner": is_runner, "snapshot": snapshot}
    return render(request, "plays/run.html", shown)


@login_required
@require_GET
def run_download(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """Send the run's table, or that of the map ``frame``; ``for=excel`` makes it safe there."""
    run = run_for_user(request.user, run_id)
    is_for_excel = request.GET.get("for") == "excel"
    try:
        table = grid.run_table(run, _number(request.GET.get("frame")))
    except grid.NoTable as nothing:
        messages.warning(request, str(nothing))
        return redirect("run-detail", run.pk)
    return table_response(table, spreadsheet_safe=is_for_excel, bom=is_for_excel)


@login_required
@require_POST
def run_act(request: HttpRequest, run_id: UUID, action: str) -> HttpResponse:
    """Pause, resume, cancel or retry, and go back to the page of the run, or of the new one."""
    run = run_for_user(request.user, run_id)
    require_role(request.user, run.workspace_id, Role.RUNNER)
    try:
        if action == "retry":
            user = cast("AbstractBaseUser", request.user)
            run = run_retry(run, user, request.POST.get("what", "failed"))
        elif action == "resume":
            user = cast("AbstractBaseUser", request.user)
            run_resume(run, user, without_provider=request.POST.get("without_provider"))
        elif action in ACTIONS:
            ACTIONS[action](run)
        else:
            raise Http404
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect("run-detail", run.pk)


def _snapshot(run: Run) -> dict[str, Any]:
    """Give the run as the page's script starts with it."""
    return {
        "run": grid.run_state(run),
        "frames": grid.run_frames(run),
        "logs": grid.log_page(run.pk),
        "urls": {
            "api": reverse("api:run_detail", args=[run.pk]),
            "socket": f"/ws/runs/{run.pk}/",
            "download": reverse("run-download", args=[run.pk]),
            "icons": static("plays/icons.svg"),
            "waits": reverse("run-waits", args=[run.pk]),
            "wait": reverse("wait-form", args=[0]),
        },
    }


def _number(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Http404
    return int(text)
