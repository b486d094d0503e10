"""The addresses of a run: its page, what may be done to it, its table, its waits, and the API."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from plays.api import api
from plays.views import run, waits

urlpatterns: list[URLPattern | URLResolver] = [
    path("runs/<uuid:run_id>/", run.run_detail, name="run-detail"),
    path("runs/<uuid:run_id>/download.csv", run.run_download, name="run-download"),
    path("runs/<uuid:run_id>/waits/", waits.run_waits, name="run-waits"),
    path("waits/<int:wait_id>/", waits.wait_page, name="wait-answer"),
    path("waits/<int:wait_id>/form/", waits.wait_form, name="wait-form"),
    path("runs/<uuid:run_id>/<slug:action>/", run.run_act, name="run-act"),
    path("api/v1/", api.urls),
]
