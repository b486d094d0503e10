"""Runs of the sample play on the real product, for the tests that kill parts of it."""

from __future__ import annotations

import io
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from deepline_site.home import PROJECT
from plays.exports import write_csv
from plays.models import Run, Workspace
from plays.selectors.grid.tables import run_table
from plays.services.revisions import revision_publish
from plays.services.runs import run_start
from plays.services.uploads import upload_accept

EMAIL_PLAY = PROJECT / "examples" / "plays" / "email_waterfall.py"
LEADS = PROJECT / "examples" / "data" / "leads_1000.csv"
LOOK_SECONDS = 0.02
PATIENCE_SECONDS = 60.0

# Short enough for a test to see a takeover, long enough for a machine that is busy.
QUICK = {"DEEPLINE_LEASE_SECONDS": "3", "DEEPLINE_SWEEP_SECONDS": "0.5"}


def leads(rows: int) -> bytes:
    """Give the sample leads, cut to so many rows."""
    return b"".join(LEADS.read_bytes().splitlines(keepends=True)[: rows + 1])


def start_run(
    rows: int = 400, *, workspace: str = "Acme", source: bytes | None = None, name: str = "play.py"
) -> Run:
    """Start the e-mail play, or another, in a workspace of this name, where nothing is paid yet."""
    made, _ = Workspace.objects.get_or_create(name=workspace)
    revision = revision_publish(made, None, name, source or EMAIL_PLAY.read_bytes())
    upload = upload_accept(made, None, io.BytesIO(leads(rows)), "leads.csv")
    return run_start(revision, None, {"leads": upload.ref})


def until(what: Callable[[], Any], told: str) -> Any:
    """Wait for something of another process; give it. It fails with what was waited for."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := what()):
        assert time.monotonic() < deadline, f"waited in vain for {told}"
        time.sleep(LOOK_SECONDS)
    return found


def ended(run: Run) -> Run:
    """Wait until a run is over, and give it as it is stored."""
    until(lambda: not Run.objects.get(pk=run.pk).is_live, f"the end of run {run.pk}")
    run.refresh_from_db()
    return run


def is_under_way(run: Run, members: int = 100) -> bool:
    """Whether a run has had answers to so many calls."""
    return int(Run.objects.get(pk=run.pk).counters.get("members", 0)) >= members


def output(run: Run) -> bytes:
    """Give the run's output as it is downloaded."""
    table = run_table(run)
    return b"".join(write_csv(table.rows, table.columns))


def provider_stats(gateway_url: str) -> dict[str, Any]:
    """Give what really reached the provider."""
    with urllib.request.urlopen(f"{gateway_url}/sandbox/stats") as answer:
        told: dict[str, Any] = json.load(answer)
    return told


def play_processes(below: psutil.Process) -> list[psutil.Process]:
    """Give the play processes below a process, without those that keep them."""
    ours = _running(below, "plays.playhost.isolation")
    return [process for process in ours if not process.children()]


def work_horses(worker: psutil.Process) -> list[psutil.Process]:
    """Give a worker's work-horses: its forks, which have its own command line."""
    return [child for child in worker.children() if _command(child)[-1:] == ["worker"]]


def _running(below: psutil.Process, module: str) -> list[psutil.Process]:
    return [child for child in below.children(recursive=True) if module in _command(child)]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def write_play(directory: Path, source: str) -> Path:
    """Write a play's text to a file."""
    path = directory / "play.py"
    path.write_text(source)
    return path
