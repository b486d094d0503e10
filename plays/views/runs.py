"""The list of runs, and the form that starts one. The page of a run itself is ``views.run``."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from plays.forms import InputForm, ReadingForm
from plays.models import Play, Revision, Role, RunStatus, Upload
from plays.selectors.access import may, play_for_user, require_role
from plays.selectors.runs import run_lines, runs_listed
from plays.selectors.uploads import uploads_listed
from plays.services.inputs import csv_inputs, is_required
from plays.services.refusals import InputInvalid, Refused
from plays.services.runs import run_start
from plays.views.failures import refusal
from plays.views.limits import limit_lines
from plays.views.paging import page_of, query_without_page
from plays.views.uploads import preview_context
from plays.views.workspace import workspace_required

UPLOADS_OFFERED = 100


@login_required
@require_GET
def run_list(request: HttpRequest) -> HttpResponse:
    """Show the runs of the workspace, filtered by ``status`` and ``play``."""
    workspace = workspace_required(request)
    plays = workspace.plays.order_by("name")
    asked = request.GET.get("play", "")
    play = next((play for play in plays if str(play.pk) == asked), None)
    status = request.GET.get("status", "")
    page = page_of(request, runs_listed(workspace, status=status, play=play))
    context = {
        "page": page,
        "lines": run_lines(page.object_list),
        "query": query_without_page(request),
        "plays": plays,
        "play": play,
        "status": status if status in RunStatus.values else "",
        "statuses": RunStatus.choices,
        "may_run": may(request.user, workspace.pk, Role.RUNNER),
    }
    return render(request, "plays/list_runs.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def run_new(request: HttpRequest, play_id: int) -> HttpResponse:
    """Choose files and inputs for a run of a play, and start it."""
    play = play_for_user(request.user, play_id)
    require_role(request.user, play.workspace_id, Role.RUNNER)
    if request.method == "POST":
        return _start(request, play)
    if play.live is None:
        raise Http404
    form = InputForm(play.live)
    return _form_page(request, play.live, form, _chosen(play.live, request.GET))


def _start(request: HttpRequest, play: Play) -> HttpResponse:
    """Start the run that the form describes; its token makes a second press give the same run."""
    revision = _shown_revision(play, request.POST.get("revision", ""))
    form = InputForm(revision, request.POST)
    chosen = _chosen(revision, request.POST, prefix="file-")
    if not form.is_valid():
        return _form_page(request, revision, form, chosen, status=422)
    files = {name: upload.ref for name, upload in chosen.items()}
    user = cast("AbstractBaseUser", request.user)
    try:
        run = run_start(revision, user, {**files, **form.given()}, run_id=_token(request))
    except InputInvalid as invalid:
        return _form_page(request, revision, form, chosen, problems=invalid.problems, status=422)
    except Refused as refused:
        return refusal(request, "No run was started", str(refused), status=409)
    return redirect("run-detail", run.pk)


def _form_page(
    request: HttpRequest,
    revision: Revision,
    form: InputForm,
    chosen: Mapping[str, Upload],
    *,
    problems: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    told = dict(problems or {})
    files = [
        _file_part(revision, name, chosen, told.pop(name, "")) for name in csv_inputs(revision)
    ]
    for name, sentence in told.items():
        form.add_error(name if name in form.fields else None, sentence)
    context = {
        "play": revision.play,
        "revision": revision,
        "form": form,
        "files": files,
        "offered": uploads_listed(revision.play.workspace)[:UPLOADS_OFFERED] if files else [],
        "reading_form": ReadingForm(),
        "limits": limit_lines(chosen.values()),
        "token": uuid.uuid4(),
        "limit_mb": settings.DEEPLINE_UPLOAD_LIMIT_MB,
        "is_complete": all(file["upload"] or not file["is_required"] for file in files),
    }
    return render(request, "plays/start_run.html", context, status=status)


def _file_part(
    revision: Revision, name: str, chosen: Mapping[str, Upload], problem: str
) -> dict[str, Any]:
    """Give what the form shows of one input that is a file."""
    schema = revision.input_schema if isinstance(revision.input_schema, dict) else {}
    about = schema.get("properties", {}).get(name, {})
    others = {other: upload.pk for other, upload in chosen.items() if other != name}
    back = reverse("run-new", args=[revision.play_id])
    part = {
        "name": name,
        "title": about.get("title") or name,
        "help": about.get("description") or "",
        "is_required": is_required(revision, name),
        "problem": problem,
        "others": others,
        "back": f"{back}?{urlencode(others)}" if others else back,
        "upload": None,
    }
    if name not in chosen:
        return part
    warning = _missing_columns(revision, name, chosen[name])
    return {**part, **preview_context(chosen[name]), "warning": warning}


def _missing_columns(revision: Revision, name: str, upload: Upload) -> str:
    """Say which columns a file lacks of those that the play makes its row keys from; "" for none.

    Only a warning: the play may give columns other names as it reads the file.
    """
    has = {column["name"] for column in upload.columns}
    maps = [m for m in revision.pipeline.get("maps", []) if m.get("source") == f"input:{name}"]
    needed = dict.fromkeys(column for entry in maps for column in entry.get("key") or [])
    missing = ", ".join(column for column in needed if column not in has)
    if not missing:
        return ""
    return f"This file has no column {missing}, which the play makes its row keys from."


def _chosen(revision: Revision, given: Mapping[str, Any], *, prefix: str = "") -> dict[str, Upload]:
    """Give the uploads of the play's workspace that were chosen, by the name of their input."""
    mine = Upload.objects.filter(workspace=revision.play.workspace_id)
    found = {}
    for name in csv_inputs(revision):
        upload_id = _uuid(given.get(f"{prefix}{name}"))
        upload = mine.filter(pk=upload_id).first() if upload_id else None
        if upload is not None:
            found[name] = upload
    return found


def _shown_revision(play: Play, number: str) -> Revision:
    """Give the revision that the form showed, live or not any more."""
    revision = None
    if number.isascii() and number.isdigit() and len(number) < 9:
        revision = play.revisions.filter(number=int(number)).first()
    if revision is None:
        raise Http404
    return revision


def _token(request: HttpRequest) -> uuid.UUID | None:
    return _uuid(request.POST.get("token"))


def _uuid(text: object) -> uuid.UUID | None:
    try:
        return uuid.UUID(str(text))
    except ValueError:
        return None
