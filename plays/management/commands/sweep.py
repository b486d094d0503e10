"""`manage.py sweep`: puts runs that nobody moves back in the queue, once or again and again."""

from __future__ import annotations

import logging
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, InterfaceError, connections

from deepline_site.tether import keep_private
from plays.services.leases import runs_sweep

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Put lost, due and never-started runs back in the queue."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--watch",
            action="store_true",
            help="go on every DEEPLINE_SWEEP_SECONDS until stopped",
        )

    def handle(self, *args: Any, watch: bool, **options: Any) -> None:
        keep_private()
        if not watch:
            self.stdout.write(f"{runs_sweep()} runs wait for a worker")
            return
        while True:
            _sweep()
            time.sleep(settings.DEEPLINE_SWEEP_SECONDS)


def _sweep() -> None:
    """Sweep once; while the database is away there is nothing to do but to try again."""
    try:
        runs_sweep()
    except (DatabaseError, InterfaceError) as error:
        logger.warning("runs cannot be swept now: %s", error)
        connections.close_all()
