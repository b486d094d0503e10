"""Pages of plays: the list, one play, publishing a text, its revisions and their differences."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractBaseUser
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_POST

from plays.highlighting import placed, source_files, source_text
from plays.models import Play, Revision, Role
from plays.selectors.access import may, play_for_user, require_role
from plays.selectors.plays import (
    plays_listed,
    revision_before,
    revision_difference,
    revisions_of,
)
from plays.selectors.runs import runs_of_play
from plays.services.refusals import Refused
from plays.services.revisions import SOURCE_LIMIT, revision_publish, revision_set_live
from plays.services.samples import samples_load
from plays.views.failures import refusal
from plays.views.pipeline import picture
from plays.views.workspace import workspace_required
from runtime.errors import PlayInvalid

RUNS_SHOWN = 6
SOURCE_LIMIT_MB = SOURCE_LIMIT // (1024 * 1024)


@login_required
@require_GET
def play_list(request: HttpRequest) -> HttpResponse:
    """Show the plays of the workspace."""
    workspace = workspace_required(request)
    context = {
        "lines": plays_listed(workspace),
        "may_publish": may(request.user, workspace.pk, Role.AUTHOR),
        "may_run": may(request.user, workspace.pk, Role.RUNNER),
        "limit_mb": SOURCE_LIMIT_MB,
    }
    return render(request, "plays/list_plays.html", context)


@login_required
@require_POST
def play_publish(request: HttpRequest) -> HttpResponse:
    """Publish an uploaded text, or show what is wrong with it beside its lines."""
    workspace = workspace_required(request)
    require_role(request.user, workspace.pk, Role.AUTHOR)
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        return refusal(request, "Nothing was published", "Choose a file first.", status=400)
    filename, source = file.name or "play.py", file.read(SOURCE_LIMIT + 1)
    note = request.POST.get("note", "")
    try:
        user = cast("AbstractBaseUser", request.user)
        revision = revision_publish(workspace, user, filename, source, note)
    except PlayInvalid as invalid:
        return _problems(request, filename, source, invalid)
    except Refused as refused:
        return refusal(request, "Nothing was published", str(refused), status=413)
    messages.success(request, f"Revision {revision.number} of {revision.play.name} is live.")
    return redirect("play-detail", revision.play_id)


@login_required
@require_GET
def play_detail(request: HttpRequest, play_id: int) -> HttpResponse:
    """Show a play: the picture and the text of its live revision, its revisions, its last runs."""
    play = play_for_user(request.user, play_id)
    if play.live is None:
        raise Http404
    return _play_page(request, play, play.live)


@login_required
@require_GET
def revision_detail(request: HttpRequest, play_id: int, number: int) -> HttpResponse:
    """Show one revision of a play: what changed in it, its picture and its text."""
    play = play_for_user(request.user, play_id)
    return _play_page(request, play, _revision(play, number), shows_difference=True)


@login_required
@require_GET
def revision_source(request: HttpRequest, play_id: int, number: int) -> HttpResponse:
    """Give a revision's file as it was uploaded."""
    revision = _revision(play_for_user(request.user, play_id), number)
    return HttpResponse(
        bytes(revision.source),
        content_type="application/octet-stream",
        headers={"Content-Disposition": content_disposition_header(True, revision.filename) or ""},
    )


@login_required
@require_POST
def revision_live(request: HttpRequest, play_id: int, number: int) -> HttpResponse:
    """Make a revision the live one."""
    play = play_for_user(request.user, play_id)
    require_role(request.user, play.workspace_id, Role.AUTHOR)
    revision = _revision(play, number)
    revision_set_live(revision)
    messages.success(
        request, f"Revision {number} is live: new runs take it; runs that have begun keep theirs."
    )
    return redirect("play-detail", play.pk)


@login_required
@require_POST
def samples(request: HttpRequest) -> HttpResponse:
    """Load the sample plays and files into the workspace."""
    workspace = workspace_required(request)
    require_role(request.user, workspace.pk, Role.AUTHOR)
    samples_load(workspace)
    messages.success(request, "The sample plays and their files are here; they run offline.")
    return redirect("play-list")


def _play_page(
    request: HttpRequest, play: Play, revision: Revision, *, shows_difference: bool = False
) -> HttpResponse:
    context = {
        "play": play,
        "revision": revision,
        "is_live": revision.pk == play.live_id,
        "picture": picture(revision.pipeline),
        "files": source_files(revision.filename, bytes(revision.source)),
        "revisions": revisions_of(play),
        "lines": runs_of_play(play, RUNS_SHOWN),
        "may_publish": may(request.user, play.workspace_id, Role.AUTHOR),
        "may_run": may(request.user, play.workspace_id, Role.RUNNER),
        "limit_mb": SOURCE_LIMIT_MB,
    }
    if shows_difference:
        context |= _difference(revision)
    return render(request, "plays/play.html", context)


def _difference(revision: Revision) -> dict[str, object]:
    before = revision_before(revision)
    if before is None:
        return {"shows_difference": True}
    texts = [source_text(r.filename, bytes(r.source)) for r in (before, revision)]
    return {
        "shows_difference": True,
        "before": before,
        "difference": revision_difference(*texts),
    }


def _revision(play: Play, number: int) -> Revision:
    revision = play.revisions.select_related("created_by").filter(number=number).first()
    if revision is None:
        raise Http404
    return revision


def _problems(
    request: HttpRequest, filename: str, source: bytes, invalid: PlayInvalid
) -> HttpResponse:
    problems = placed(filename, source, invalid.problems)
    context = {
        "filename": filename,
        "problems": problems,
        "files": source_files(filename, source, problems),
        "limit_mb": SOURCE_LIMIT_MB,
    }
    return render(request, "plays/play_problems.html", context, status=422)
