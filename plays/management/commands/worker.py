"""`manage.py worker`: takes runs from the queue until SIGTERM, and keeps a sweeper beside it."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from deepline_site.tether import keep_private

# Imported before the first fork, so that no work-horse has to: that is a second per run.
from plays import jobs  # noqa: F401
from plays.queues import runs_queue
from plays.workers import RunWorker, sweeper


class Command(BaseCommand):
    help = "Take runs from the queue and move them along, until SIGTERM."

    def handle(self, *args: Any, **options: Any) -> None:
        keep_private()
        if not settings.DEEPLINE_GATEWAY_URL:
            raise CommandError(
                "A worker needs a gateway: start the product with `make run`, or set"
                " DEEPLINE_GATEWAY_URL to the address of one."
            )
        # Its own lines about jobs say nothing about runs.
        logging.getLogger("rq.worker").setLevel(logging.WARNING)
        with sweeper() as beside:
            RunWorker(runs_queue(), beside).work(logging_level="WARNING")
