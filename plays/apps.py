"""The application's entry in Django: its name and its system checks."""

from __future__ import annotations

from django.apps import AppConfig


class PlaysConfig(AppConfig):
    name = "plays"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from plays import checks  # noqa: F401  (registers the checks)
