"""Which workspace a request looks at, and changing it.

A person may be a member of several. Lists show one at a time: the one chosen last in this
session, else the first that the person joined.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from plays.models import Workspace
from plays.selectors.access import workspaces_of

CHOSEN = "workspace"
"""The session's key for the chosen workspace's number."""


def workspace_current(request: HttpRequest) -> Workspace | None:
    """Give the workspace of this request; None for a person who is a member of none."""
    mine = list(workspaces_of(request.user))
    chosen = [workspace for workspace in mine if workspace.pk == request.session.get(CHOSEN)]
    return next(iter(chosen or mine), None)


def workspace_required(request: HttpRequest) -> Workspace:
    """Give the workspace of this request, or raise PermissionDenied with what to do about it."""
    workspace = workspace_current(request)
    if workspace is None:
        raise PermissionDenied(
            "You are signed in but not a member of any workspace yet;"
            " ask an administrator to add you to one."
        )
    return workspace


@login_required
@require_POST
def workspace_choose(request: HttpRequest) -> HttpResponse:
    """Look at another workspace of this person from now on; a stranger's number changes nothing."""
    chosen = (
        workspaces_of(request.user).filter(pk__in=_numbers(request.POST.get("workspace"))).first()
    )
    if chosen is not None:
        request.session[CHOSEN] = chosen.pk
    return redirect("play-list")


def _numbers(text: str | None) -> list[int]:
    return [int(text)] if text and text.isascii() and text.isdigit() and len(text) < 10 else []
