"""Runs of the sample plays that are hit, and what is compared of them afterwards."""

from __future__ import annotations

import csv
import io
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection
from django.db.models.functions import Now

from deepline_site.home import PROJECT
from plays.exports import write_csv
from plays.models import MapFrame, RowState, Run, RunParticipant, RunUsage, ToolCall, Workspace
from plays.selectors.grid.columns import output_columns
from plays.selectors.grid.tables import frame_rows, run_table
from plays.services.revisions import revision_publish
from plays.services.runs import run_start
from plays.services.uploads import upload_accept
from plays.tools.sandbox.rules import canonical

EXAMPLES = PROJECT / "examples"
LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 180.0
UNFINISHED = ("pending", "running")

Given = TypeVar("Given")


class Stuck(Exception):
    """Something did not come, however long it was waited for."""


@dataclass(frozen=True)
class Order:
    """One run to be made: a play, and rows of a sample file that no other order has."""

    number: int
    play: str
    data: str
    input_name: str
    rows: int

    def file(self) -> bytes:
        """Give the rows, with domains of this order's own, so that no two orders ask the same."""
        with (EXAMPLES / "data" / f"{self.data}_10000.csv").open(newline="") as source:
            reader = csv.DictReader(source)
            rows = [row for row, _ in zip(reader, range(self.rows), strict=False)]
        written = io.StringIO()
        writer = csv.DictWriter(written, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "domain": f"r{self.number}.{row['domain']}"})
        return written.getvalue().encode()


KINDS = (
    ("email_waterfall.py", "leads", "leads", 2000),
    ("people_search.py", "companies", "companies", 500),
    ("company_segments.py", "companies", "companies", 6000),
)


def order(number: int, share: float) -> Order:
    """Give the order of a number; the plays take turns. ``share`` of the usual rows."""
    play, data, name, rows = KINDS[number % len(KINDS)]
    return Order(number, play, data, name, max(20, int(rows * share)))


def short_order(number: int) -> Order:
    """Give an order whose run is over after a few seconds."""
    return Order(number, "email_waterfall.py", "leads", "leads", 40)


def until(what: Callable[[], Given], told: str) -> Given:
    """Wait for something of another process, and give it. Raises Stuck."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := what()):
        if time.monotonic() > deadline:
            raise Stuck(f"waited in vain for {told}")
        time.sleep(LOOK_SECONDS)
    return found


def patiently(look: Callable[[], Given]) -> Given:
    """Ask the database, for as long as it takes to come back."""
    while True:
        try:
            return look()
        except (OperationalError, InterfaceError):
            connection.close()
            time.sleep(LOOK_SECONDS)


def start(wanted: Order, side: str) -> UUID:
    """Start an order's run in a workspace of its own, where nothing is paid yet."""
    workspace = Workspace.objects.create(name=f"{side} {wanted.number}")
    source = (EXAMPLES / "plays" / wanted.play).read_bytes()
    revision = revision_publish(workspace, None, wanted.play, source)
    upload = upload_accept(workspace, None, io.BytesIO(wanted.file()), f"{wanted.data}.csv")
    return run_start(revision, None, {wanted.input_name: upload.ref}).pk


@dataclass(frozen=True)
class Moment:
    """How far a run is: its status, its epoch, who has it, and how much it has done."""

    status: str
    epoch: int
    worker: str
    done: int

    @property
    def is_over(self) -> bool:
        return self.status not in ("queued", "running", "waiting", "paused")

    @property
    def worker_pid(self) -> int:
        return int(self.worker.split("-")[-2]) if self.worker else 0


def moment(run: UUID) -> Moment:
    """Look at a run."""

    def look() -> Moment:
        held = Run.objects.get(pk=run)
        who = RunParticipant.objects.filter(run=run).first()
        done = sum(int(held.counters.get(name, 0)) for name in ("members", "rows_done"))
        return Moment(held.status, who.epoch if who else 0, who.worker if who else "", done)

    return patiently(look)


def has_work_in_flight(run: UUID) -> bool:
    """Whether a worker holds the run, with calls at the provider and rows that are not finished."""

    def look() -> bool:
        held = RunParticipant.objects.filter(run=run, lease_until__gt=Now())
        calls = ToolCall.objects.filter(run=run, status="claimed")
        rows = RowState.objects.filter(frame__run=run, status__in=UNFINISHED)
        is_running = Run.objects.filter(pk=run, status="running").exists()
        return is_running and held.exists() and calls.exists() and rows.exists()

    return patiently(look)


def claimed_calls() -> Counter[tuple[str, str]]:
    """Give the calls that are under way, by tool and input."""

    def look() -> Counter[tuple[str, str]]:
        held = ToolCall.objects.filter(status="claimed").values_list("tool", "input")
        return Counter((tool, canonical(given)) for tool, given in held)

    return patiently(look)


@dataclass
class Result:
    """What must be the same whatever happened. ``spent`` is without calls that were repeated."""

    status: str
    returned: Any
    tables: dict[str, bytes]
    totals: dict[str, Any]
    ledger: Counter[str]
    spent: dict[str, Any]
    repeats: int = field(compare=False)

    def differences(self, other: Result) -> list[str]:
        """Name what differs from another result."""
        names = ("status", "returned", "tables", "totals", "ledger", "spent")
        return [name for name in names if getattr(self, name) != getattr(other, name)]


def result(run_id: UUID) -> Result:
    """Read what a run that is over gave."""
    run = Run.objects.get(pk=run_id)
    frames = list(MapFrame.objects.filter(run=run).order_by("id"))
    calls = list(ToolCall.objects.filter(run=run))
    usage = RunUsage.objects.get(pk=run_id)
    repeats = sum(call.attempts - 1 for call in calls)
    returned = (run.result or {}).get("dataset", run.result)
    table = run_table(run)
    return Result(
        run.status,
        {name: (returned or {}).get(name) for name in ("kind", "count", "columns")},
        {frame.table: _table(frame) for frame in frames}
        | {"output": b"".join(write_csv(table.rows, table.columns))},
        {frame.table: (frame.total, frame.totals, frame.row_totals) for frame in frames}
        | {name: run.counters.get(name, 0) for name in ("rows_done", "rows_failed")},
        Counter(_line(call) for call in calls),
        {
            "credits": usage.credits_spent,
            "reserved": usage.credits_reserved,
            "calls": usage.tool_calls - repeats,
            "retries": usage.retries,
        },
        repeats,
    )


def _table(frame: MapFrame) -> bytes:
    columns = output_columns(frame.columns, frame.fields)
    return b"".join(write_csv(frame_rows(frame.pk), columns))


def _line(call: ToolCall) -> str:
    told = [call.tool, call.input, call.status, call.result, str(call.credits), str(call.reserved)]
    return canonical(told)
