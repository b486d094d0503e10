"""A worker's process killed in the middle of a run: how soon the next one calls a provider again."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime

import psutil

from benchmarks.installation import Installation
from benchmarks.machine import is_play_process
from benchmarks.product import LiveProduct, batch_tools, product, uploaded, wait_for_end
from benchmarks.results import Result, figure
from benchmarks.sizes import Sizes

NAME = "takeover"
GOAL_SECONDS = 2.0


def measure(here: Installation, sizes: Sizes) -> list[Result]:
    from plays.models import RunParticipant, ToolCall

    with here.sandbox(sizes.latency_ms) as sandbox, product(here, sandbox) as live:
        batch_tools(is_batched=True)
        run = live.start("emails", uploaded(uuid.uuid4().hex[:8], sizes.takeover_rows))
        _wait_until_half(run, sizes.takeover_rows)
        known, killed = _play_processes(live), time.time()
        _kill_host(live)
        begun = _next_play_process(live, known)
        wait_for_end(run)
    claimed = RunParticipant.objects.get(run=run).claimed_at
    assert claimed is not None
    # What the gateway had under way at the kill is no call of the new process.
    calls = ToolCall.objects.filter(run=run, created_at__gt=datetime.fromtimestamp(begun, UTC))
    first = calls.order_by("created_at").values_list("created_at", flat=True)[0]
    waited = (first - claimed).total_seconds()
    return [
        Result(
            NAME,
            f"first new call after the takeover, {sizes.takeover_rows:,} rows half done",
            f"{waited:.2f} s",
            f"within {GOAL_SECONDS:g} s",
            waited <= GOAL_SECONDS,
        ),
        figure(NAME, "from the kill to the takeover", f"{claimed.timestamp() - killed:.2f} s"),
        figure(NAME, "how the run ended", f"{run.status}, {_rows(run)} rows"),
    ]


def _wait_until_half(run: object, n: int) -> None:
    from plays.models import Run

    while Run.objects.get(pk=run.pk).counters.get("rows_done", 0) < n // 2:  # type: ignore[attr-defined]
        time.sleep(0.1)


def _kill_host(live: LiveProduct) -> None:
    """Kill the process that serves the run; its play process goes with it."""
    for process in live.workers[0].children():
        if "sweep" not in process.cmdline():
            process.kill()
            psutil.wait_procs([process], timeout=10)


def _next_play_process(live: LiveProduct, known: set[int]) -> float:
    """Wait for a play process that was not there before, and give the time."""
    while not _play_processes(live) - known:
        time.sleep(0.01)
    return time.time()


def _play_processes(live: LiveProduct) -> set[int]:
    below = live.workers[0].children(recursive=True)
    return {process.pid for process in below if is_play_process(process)}


def _rows(run: object) -> str:
    (frame,) = run.frames.all()  # type: ignore[attr-defined]
    return ", ".join(f"{n:,} {status}" for status, n in frame.row_totals.items())
