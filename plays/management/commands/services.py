"""`manage.py services start | stop | status`: the embedded PostgreSQL and Valkey."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from deepline_site import embedded
from deepline_site.home import Home


class Command(BaseCommand):
    help = "Start, stop or show the embedded PostgreSQL and Valkey of this installation."
    # Checks would look at servers that this command has yet to start.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["start", "stop", "status"])

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        home = Home.from_environment()
        try:
            if action == "start":
                embedded.start(home)
                embedded.keep(home)
            if action == "stop":
                embedded.stop(home)
            self._show(embedded.status(home))
        except embedded.ServicesError as error:
            raise CommandError(str(error)) from None

    def _show(self, servers: list[embedded.ServerStatus]) -> None:
        for server in servers:
            place = f"127.0.0.1:{server.port}, process {server.pid}"
            self.stdout.write(f"{server.name}: {place if server.pid else 'stopped'}")
        if not servers:
            self.stdout.write("DATABASE_URL and REDIS_URL name the servers; none is embedded.")
