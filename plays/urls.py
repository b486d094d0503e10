"""The addresses of pages and API."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path

from plays import run_urls
from plays.views import failures, plays, runs, tools, uploads, workspace
from plays.views.session import SignIn

urlpatterns: list[URLPattern | URLResolver] = [
    path("", plays.play_list, name="play-list"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("workspace/", workspace.workspace_choose, name="workspace-choose"),
    path("samples/", plays.samples, name="samples-load"),
    path("too-large/", failures.body_too_large, name="body-too-large"),
    path("plays/publish/", plays.play_publish, name="play-publish"),
    path("plays/<int:play_id>/", plays.play_detail, name="play-detail"),
    path("plays/<int:play_id>/run/", runs.run_new, name="run-new"),
    path(
        "plays/<int:play_id>/revisions/<int:number>/", plays.revision_detail, name="revision-detail"
    ),
    path(
        "plays/<int:play_id>/revisions/<int:number>/source/",
        plays.revision_source,
        name="revision-source",
    ),
    path(
        "plays/<int:play_id>/revisions/<int:number>/live/",
        plays.revision_live,
        name="revision-live",
    ),
    path("runs/", runs.run_list, name="run-list"),
    path("tools/", tools.tool_list, name="tool-list"),
    path("uploads/", uploads.upload_list, name="upload-list"),
    path("uploads/new/", uploads.upload_create, name="upload-create"),
    path("uploads/<uuid:upload_id>/", uploads.upload_detail, name="upload-detail"),
    path("uploads/<uuid:upload_id>/reading/", uploads.upload_change_reading, name="upload-reading"),
    path("uploads/<uuid:upload_id>/file/", uploads.upload_download, name="upload-download"),
    *run_urls.urlpatterns,
]
