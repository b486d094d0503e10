"""One play from a file to its end: published, started, claimed and run by this process itself.

What ``manage.py runplay`` does once servers and gateway are there. It is a participant with a
lease like any worker; that the run is claimed in the transaction that makes it keeps workers of
the same installation away.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from plays.compose import Execution, run_execute
from plays.exports import write_csv
from plays.jobs import settle
from plays.models import Revision, Run, RunRequest, RunUsage, Workspace
from plays.playhost.orm import OrmThread
from plays.progressbar import ProgressBar
from plays.selectors.grid.tables import run_table
from plays.services.inputs import csv_inputs
from plays.services.leases import run_claim
from plays.services.refusals import Refused
from plays.services.revisions import revision_publish
from plays.services.runs import run_start
from plays.services.uploads import upload_accept
from plays.services.workspaces import workspace_default
from plays.stores import Participant

Json = Any

DEFAULT_INPUT = "csv"


@dataclass(frozen=True, slots=True)
class Order:
    """What a person asked for. ``files`` holds (input name or "", path)."""

    play: Path
    files: Sequence[tuple[str, Path]]
    input: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Report:
    """How it went: the last line of ``--json``. ``credits`` as the gateway charged them."""

    run: str
    status: str
    rows: int
    counts: dict[str, int]
    requests: int
    members: int
    credits: float
    seconds: float
    peak_rss: int


def run_one(order: Order, gateway_url: str, *, is_shown: bool) -> tuple[Run, Report]:
    """Run a play to its end or stop; give the stored run and the report.

    Raises PlayInvalid, UploadError, Refused and OSError before anything runs. Ctrl-C cancels the
    run.
    """
    began = time.monotonic()
    run, participant = _claimed(order)
    with ProgressBar(run.pk, is_shown=is_shown) as bar:
        execution = asyncio.run(_executed(run, participant, gateway_url, bar))
    settle(execution)
    run.refresh_from_db()
    return run, _report(run, execution, time.monotonic() - began)


def write_output(run: Run, path: Path) -> None:
    """Write the dataset that a run returned as CSV; the file appears whole or not at all.

    Raises NoTable where it returned none, and OSError.
    """
    table = run_table(run)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.writelines(write_csv(table.rows, table.columns))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _claimed(order: Order) -> tuple[Run, Participant]:
    workspace = workspace_default()
    revision = revision_publish(
        workspace, None, order.play.name, order.play.read_bytes(), note="Run from the command line"
    )
    given = {**order.input, **_uploaded(order, revision, workspace)}
    with transaction.atomic():
        run = run_start(revision, None, given)
        participant = run_claim(run.pk, f"runplay {os.getpid()}")
    assert participant is not None, "nobody else can see the run before the commit"
    return run, participant


def _uploaded(order: Order, revision: Revision, workspace: Workspace) -> dict[str, str]:
    """Take the files in and give the inputs that refer to them."""
    inputs = csv_inputs(revision)
    default = inputs[0] if len(inputs) == 1 else DEFAULT_INPUT
    references: dict[str, str] = {}
    for name, path in order.files:
        name = name or default
        if name in references or name in order.input:
            raise Refused(f"The input {name} is given twice.")
        with path.open("rb") as file:
            references[name] = upload_accept(workspace, None, file, path.name).ref
    return references


async def _executed(
    run: Run, participant: Participant, gateway_url: str, bar: ProgressBar
) -> Execution:
    async with OrmThread() as orm:
        watching = asyncio.create_task(bar.follow(orm), name="the progress bar")
        cancelling: set[asyncio.Task[bool]] = set()

        def cancel() -> None:
            # A second Ctrl-C ends the command at once; the run's lease then runs out.
            loop.remove_signal_handler(signal.SIGINT)
            cancelling.add(loop.create_task(orm.read(lambda: run.request(RunRequest.CANCEL))))

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, cancel)
        try:
            return await run_execute(participant, gateway_url=gateway_url)
        finally:
            watching.cancel()
            await asyncio.gather(watching, *cancelling, return_exceptions=True)


def _report(run: Run, execution: Execution, seconds: float) -> Report:
    counts: dict[str, int] = {}
    for totals in run.frames.filter(is_sealed=True).values_list("row_totals", flat=True):
        for status, n in totals.items():
            counts[status] = counts.get(status, 0) + n
    usage = RunUsage.objects.get(run=run)
    return Report(
        run=str(run.pk),
        status=run.status,
        rows=sum(counts.values()),
        counts=counts,
        requests=run.counters.get("requests", 0),
        members=run.counters.get("members", 0),
        credits=float(usage.credits_spent),
        seconds=round(seconds, 3),
        peak_rss=execution.peak_rss,
    )
