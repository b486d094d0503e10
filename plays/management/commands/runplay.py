"""`manage.py runplay`: one play to its end from the command line, without web and queue."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from deepline_site import embedded, environment
from deepline_site.home import Home
from deepline_site.tether import keep_private
from plays.models import Run
from plays.oneplay import Order, Report, run_one, write_output
from plays.privategateway import GatewayFailed, private_gateway
from plays.selectors.grid.tables import NoTable
from plays.services.refusals import Refused
from plays.uploads import UploadError
from runtime.errors import PlayInvalid

EXIT_CODES = {
    "completed": 0,
    "failed": 1,
    "completed_with_failures": 2,
    "cancelled": 3,
    "waiting": 4,
    "paused": 4,
}


class Command(BaseCommand):
    help = (
        "Run one play to its end. Exit status: 0 completed, 1 failed, 2 completed with failures,"
        " 3 cancelled, 4 waiting or paused."
    )
    # Checks would speak of pages, and look at servers that this command has yet to start.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("play", type=Path, metavar="PLAY")
        parser.add_argument(
            "--csv",
            action="append",
            default=[],
            type=_file,
            metavar="[NAME=]FILE",
            help="a CSV file for the input NAME, by default the only one that the play reads as CSV",
        )
        parser.add_argument("--input", type=_object, default={}, metavar="JSON")
        parser.add_argument("--output", type=Path, metavar="OUT.csv")
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        keep_private()
        if environment.MISTAKES:
            raise CommandError(" ".join(environment.MISTAKES))
        order = Order(options["play"], options["csv"], options["input"])
        try:
            with _everything_running() as gateway_url:
                is_shown = sys.stderr.isatty() and not options["json"]
                run, report = run_one(order, gateway_url, is_shown=is_shown)
                self._write(run, options["output"])
        except PlayInvalid as error:
            raise CommandError(_problems(order.play, error)) from None
        except (UploadError, Refused, OSError, GatewayFailed, embedded.ServicesError) as error:
            raise CommandError(str(error)) from None
        self._tell(run, report, as_json=options["json"])
        raise SystemExit(EXIT_CODES[report.status])

    def _write(self, run: Run, path: Path | None) -> None:
        if path is None:
            return
        if run.result is None or "dataset" not in run.result:
            self.stderr.write(f"The run returned no dataset: {path} was not written.")
            return
        try:
            write_output(run, path)
        except NoTable as error:
            self.stderr.write(f"{error} {path} was not written.")

    def _tell(self, run: Run, report: Report, *, as_json: bool) -> None:
        why = run.stop_message or (run.error or {}).get("message", "")
        if why:
            self.stderr.write(why)
        if as_json:
            self.stdout.write(json.dumps(asdict(report)))
            return
        counts = ", ".join(f"{n:,} {status}" for status, n in sorted(report.counts.items()))
        value = (run.result or {}).get("value")
        self.stdout.write(
            f"{report.status.replace('_', ' ')}: {report.rows:,} rows ({counts or 'none'}),"
            f" {report.members:,} calls in {report.requests:,} requests, {report.credits:g} credits,"
            f" {report.seconds:.1f} s"
        )
        if value is not None:
            self.stdout.write(json.dumps(value, ensure_ascii=False))


@contextmanager
def _everything_running() -> Iterator[str]:
    """Have servers, tables and a gateway inside the block; give the gateway's address."""
    home = Home.from_environment()
    with embedded.servers(home):
        _begin_again_if_moved(home)
        with home.lock("migrate"):
            call_command("migrate", interactive=False, verbosity=0)
        if settings.DEEPLINE_GATEWAY_URL:
            yield settings.DEEPLINE_GATEWAY_URL
        else:
            with private_gateway() as url:
                yield url


def _begin_again_if_moved(home: Home) -> None:
    """Start this command anew where an embedded server had to take another port than settings say."""
    if environment.text("DATABASE_URL") is not None:
        return
    if str(settings.DATABASES["default"]["PORT"]) != str(home.server("postgres").port):
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606  # no shell is wanted


def _file(text: str) -> tuple[str, Path]:
    """Read ``NAME=FILE`` or ``FILE``; a file whose own name holds ``=`` needs a NAME."""
    name, separator, path = text.partition("=")
    return (name, Path(path)) if separator and not Path(text).exists() else ("", Path(text))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("a JSON object is needed")
    return value


def _problems(play: Path, error: PlayInvalid) -> str:
    return "\n".join(
        f"{play}:{problem.line}: {problem.message}"
        if problem.line
        else f"{play}: {problem.message}"
        for problem in error.problems
    )
