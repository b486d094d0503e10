"""The addresses of a run: its page, what may be done to it, its table, and the API."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from plays.api import api
from plays.views import run

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/<uuid:run_id>/", run.run_detail, name="run-detail"),
    path("runs/<uuid:run_id>/download.csv", run.run_download, name="run-download"),
    path("runs/<uuid:run_id>/<slug:action>/", run.run_act, name="run-act"),
    path("api/v1/", api.urls),
]
