"""Waits: the list on a run's page, the form of one, and the page for somebody without an account.

Who holds a wait's token may answer that wait. Otherwise it takes a member of the workspace: viewers
see what is asked, runners answer.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from plays.forms import AnswerForm
from plays.models import Boundary, Role
from plays.selectors import waits as selectors
from plays.selectors.access import may, run_for_user, wait_for_user
from plays.services import waittokens
from plays.services.refusals import InputInvalid, Refused
from plays.services.waits import Answered, wait_answer
from plays.views.paging import page_of

ANSWERS = {"yes": True, "no": False}
"""The buttons of a wait without a form, and the payloads that they send."""


@login_required
@require_GET
def run_waits(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Give a page of what a run waits for, as a part of the run's page."""
    run = run_for_user(request.user, run_id)
    page = page_of(request, selectors.waits_listed(run, only_open=True))
    may_answer = may(request.user, run.workspace_id, Role.RUNNER)
    context = {"run": run, "page": page, "may_answer": may_answer}
    return render(request, "plays/_waits.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def wait_form(request: HttpRequest, wait_id: int) -> HttpResponse:
    """Give one wait's form, or take its answer, as a part of the run's page."""
    return _show(request, _mine(request, wait_id), "plays/_wait_form.html")


@never_cache
@require_http_methods(["GET", "POST"])
def wait_page(request: HttpRequest, wait_id: int) -> HttpResponse:
    """Show what is asked, and take the answer, of a member or of whoever holds the wait's token."""
    token = request.GET.get("token", "")
    if token:
        wait = selectors.wait_by_id(wait_id) if waittokens.read(token) == wait_id else None
        if wait is None:
            raise Http404
        return _show(request, wait, "plays/wait.html", token=token)
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    return _show(request, _mine(request, wait_id), "plays/wait.html")


def _mine(request: HttpRequest, wait_id: int) -> Boundary:
    wait = wait_for_user(request.user, wait_id)
    if wait.event is None:
        raise Http404
    return wait


def _show(request: HttpRequest, wait: Boundary, template: str, *, token: str = "") -> HttpResponse:
    is_runner = not token and may(request.user, wait.run.workspace_id, Role.RUNNER)
    may_answer = bool(token) or is_runner
    form, answered = AnswerForm(wait), None
    if request.method == "POST":
        if not may_answer:
            raise PermissionDenied("Viewers see what is asked; to answer takes the role runner.")
        form = AnswerForm(wait, request.POST)
        answered = _answer(request, wait, form, by=request.user if is_runner else None)
        wait.refresh_from_db()
    context = {
        "wait": wait,
        "status": selectors.wait_status(wait),
        "form": form,
        "answered": answered,
        "may_answer": may_answer,
        "action": f"?token={token}" if token else "",
        "outside": _outside(request, wait) if is_runner else None,
    }
    return render(request, template, context, status=_http_status(request, form, answered))


def _answer(request: HttpRequest, wait: Boundary, form: AnswerForm, *, by: Any) -> Answered | None:
    """Take what was sent; None where it does not fit, which the form then says."""
    person: AbstractBaseUser | None = by
    pressed = request.POST.get("answer", "")
    if not form.is_valid():
        return None
    payload = ANSWERS[pressed] if form.is_free and pressed in ANSWERS else form.payload()
    try:
        return wait_answer(wait, payload, by=person)
    except InputInvalid as invalid:
        form.tell(invalid.problems)
    except Refused as refused:
        form.add_error(None, str(refused))
    return None


def _outside(request: HttpRequest, wait: Boundary) -> dict[str, str]:
    """Give what a runner may hand to somebody outside: a page, and a command for a system."""
    token = waittokens.issue(wait.pk)
    page = request.build_absolute_uri(reverse("wait-answer", args=[wait.pk]))
    address = request.build_absolute_uri(reverse("api:answer", args=[wait.pk]))
    body = json.dumps({"payload": {}})
    return {
        "page": f"{page}?token={token}",
        "command": (
            f"curl -X POST {address} -H 'Authorization: Bearer {token}'"
            f" -H 'Content-Type: application/json' -d '{body}'"
        ),
    }


def _http_status(request: HttpRequest, form: AnswerForm, answered: Answered | None) -> int:
    if request.method != "POST" or (answered and answered.is_accepted):
        return 200
    return 422 if answered is None else 409
