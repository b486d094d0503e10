"""`manage.py setup_site`: migrations, and at the first start an administrator and the samples."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import transaction

from plays.services.samples import samples_load

ADMINISTRATOR = "admin"


class Command(BaseCommand):
    help = "Bring the database up to date; the first time, make an administrator and load samples."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        if get_user_model().objects.filter(is_superuser=True).exists():
            return
        password = secrets.token_urlsafe(12)
        # Both or neither: a first start that is interrupted is a first start again.
        with transaction.atomic():
            get_user_model().objects.create_superuser(ADMINISTRATOR, password=password)
            samples_load()
        self.stdout.write(f"Administrator: {ADMINISTRATOR}  password: {password}")
        self.stdout.write(
            "It is shown this once. `.venv/bin/python manage.py changepassword "
            f"{ADMINISTRATOR}` sets another."
        )
