"""The REST API, version 1: what the pages do, for programs. Its own page is ``/api/v1/docs``.

A person who may not see a thing gets 404; one who may see it and not change it, 403. A refusal is
``{"detail": sentence}``.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.security import django_auth

from plays.api.rows import router as rows
from plays.api.runs import router as runs
from plays.api.waits import router as waits
from plays.api.waits import run_router as waits_of_runs
from plays.selectors.grid import NoTable, UnknownColumn
from plays.services.refusals import InputInvalid, Refused

api = NinjaAPI(
    title="Deepline",
    version="1",
    description="Runs, their rows and cells, what they wait for, and what may be done to them.",
    urls_namespace="api",
    auth=django_auth,
    docs_decorator=login_required,
)
api.add_router("/runs", runs)
api.add_router("/runs", rows)
api.add_router("/runs", waits_of_runs)
api.add_router("/waits", waits)


def _refusal(status: int) -> Callable[[HttpRequest, object], HttpResponse]:
    def answer(request: HttpRequest, error: object) -> HttpResponse:
        return api.create_response(request, {"detail": str(error)}, status=status)

    return answer


api.add_exception_handler(PermissionDenied, _refusal(403))
api.add_exception_handler(NoTable, _refusal(404))
api.add_exception_handler(Refused, _refusal(409))
api.add_exception_handler(InputInvalid, _refusal(422))
api.add_exception_handler(UnknownColumn, _refusal(422))
