"""The site's addresses: Django's admin, and everything of `plays`."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("plays.urls")),
]
