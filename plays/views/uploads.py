"""Pages of uploads: the list, one upload with its report, taking a file in, giving it back."""

from __future__ import annotations

import uuid
from typing import cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header, url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from plays.forms import ReadingForm
from plays.models import Role, Upload
from plays.selectors.access import may, require_role, upload_for_user
from plays.selectors.uploads import upload_content, upload_preview, upload_runs, uploads_listed
from plays.services.uploads import Reading, UploadTooLarge, upload_accept, upload_reread
from plays.uploads import UploadError
from plays.views.failures import refusal, wants_json
from plays.views.paging import page_of, query_without_page
from plays.views.workspace import workspace_required

PREVIEW_RECORDS = 20
RUNS_SHOWN = 10
REFUSED = "This file was not taken"


@login_required
@require_GET
def upload_list(request: HttpRequest) -> HttpResponse:
    """Show the files of the workspace, the newest first."""
    workspace = workspace_required(request)
    page = page_of(request, uploads_listed(workspace))
    context = {
        "page": page,
        "query": query_without_page(request),
        "may_run": may(request.user, workspace.pk, Role.RUNNER),
        "limit_mb": settings.DEEPLINE_UPLOAD_LIMIT_MB,
    }
    return render(request, "plays/list_uploads.html", context)


@login_required
@require_GET
def upload_detail(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponse:
    """Show a file's first records, how it was read, and what was left out of it."""
    upload = upload_for_user(request.user, upload_id)
    context = {
        **preview_context(upload),
        "reading_form": ReadingForm(),
        "may_run": may(request.user, upload.workspace_id, Role.RUNNER),
        "runs": upload_runs(upload, RUNS_SHOWN),
    }
    return render(request, "plays/upload.html", context)


@login_required
@require_POST
def upload_create(request: HttpRequest) -> HttpResponse:
    """Take a file in, and go to its page or, with ``next`` and ``input``, back to a run's form."""
    try:
        workspace = workspace_required(request)
        require_role(request.user, workspace.pk, Role.RUNNER)
    except PermissionDenied as denied:
        return refusal(request, "Not allowed", str(denied), status=403)
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        return refusal(request, REFUSED, "Choose a file first.", status=400)
    try:
        user = cast("AbstractBaseUser", request.user)
        upload = upload_accept(workspace, user, file, file.name or "")
    except UploadTooLarge as error:
        return refusal(request, "Too large", str(error), status=413)
    except UploadError as error:
        return refusal(request, REFUSED, f"{file.name}: {error}", status=422)
    return _go_on(request, upload)


@login_required
@require_POST
def upload_change_reading(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponse:
    """Read a file in another way, and go on as after taking it in."""
    upload = upload_for_user(request.user, upload_id)
    require_role(request.user, upload.workspace_id, Role.RUNNER)
    form = ReadingForm(request.POST)
    if not form.is_valid():
        return refusal(request, REFUSED, "Choose an encoding and a delimiter.", status=422)
    reading = Reading(
        encoding=form.cleaned_data["encoding"] or None,
        delimiter=form.cleaned_data["delimiter"] or None,
        has_header=form.cleaned_data["first_line"] != "record",
    )
    try:
        reread = upload_reread(upload, cast("AbstractBaseUser", request.user), reading)
    except UploadError as error:
        sentence = f"Read like that, {upload.filename} gives no table. {error}"
        return refusal(request, "Nothing was changed", sentence, status=422)
    messages.success(request, f"{reread.filename} was read again.")
    return _go_on(request, reread)


@login_required
@require_GET
def upload_download(request: HttpRequest, upload_id: uuid.UUID) -> StreamingHttpResponse:
    """Give the file back, to the byte; it is sent as it is read."""
    upload = upload_for_user(request.user, upload_id)
    return StreamingHttpResponse(
        upload_content(upload),
        content_type="application/octet-stream",
        headers={
            "Content-Length": str(upload.size),
            "Content-Disposition": content_disposition_header(True, upload.filename) or "",
        },
    )


def preview_context(upload: Upload) -> dict[str, object]:
    """Give what the partial ``_preview.html`` shows of an upload."""
    return {"upload": upload, "records": upload_preview(upload, PREVIEW_RECORDS)}


def _go_on(request: HttpRequest, upload: Upload) -> HttpResponse:
    """Go where the form came from with the upload chosen there, else to the upload's page."""
    location = reverse("upload-detail", args=[upload.pk])
    back = request.POST.get("next", "")
    if back and url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        chosen = urlencode({request.POST.get("input", "file"): upload.pk})
        location = f"{back}{'&' if '?' in back else '?'}{chosen}"
    return JsonResponse({"location": location}) if wants_json(request) else redirect(location)
