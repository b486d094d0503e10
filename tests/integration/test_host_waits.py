"""Runs that wait, on the real product: they free their worker, and answers and deadlines bring them back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from tests.product import LiveProduct, StartProduct

if TYPE_CHECKING:
    from plays.models import Run

APPROVALS = b"""
from runtime import play


async def approve(row, ctx):
    number = await ctx.step("draw", lambda: len(row["domain"]))
    answer = await ctx.wait_for_event("ok", event=f"ok-{row['domain']}", timeout_seconds=259200)
    return [number, answer["status"], answer["payload"]]


@play("approvals")
async def approvals(ctx, input):
    leads = await ctx.csv(input["leads"])
    rows = ctx.map("leads", leads).step("size", lambda row: len(row["domain"]))
    return await rows.step("approved", approve).run()
"""

SLEEPER = b"""
from runtime import play


@play("sleeper")
async def sleeper(ctx, input):
    leads = await ctx.csv(input["leads"])
    await ctx.sleep(86400)
    return await ctx.map("leads", leads).step("size", lambda row: len(row["domain"])).run()
"""


@pytest.fixture
def product(start_product: StartProduct) -> LiveProduct:
    from tests.integration.host_runs import QUICK

    return start_product(only=("gateway", "worker-1"), **QUICK)


def waiting(run: Run) -> Run:
    from plays.models import Run as Runs
    from tests.integration.host_runs import until

    until(lambda: Runs.objects.get(pk=run.pk).status == "waiting", f"run {run.pk} to wait")
    run.refresh_from_db()
    return run


def test_a_run_of_waiting_rows_frees_its_worker_and_goes_on_when_answered(
    product: LiveProduct,
) -> None:
    # rule 6.14, 6.15, 6.16, 6.19
    from plays.models import Boundary, RowState
    from plays.services.waits import wait_answer
    from tests.integration.host_runs import EMAIL_PLAY, ended, start_run

    run = waiting(start_run(5, source=APPROVALS))
    assert run.frames.get().row_totals == {"waiting": 5}
    assert run.frames.get().totals["approved"] == {"waiting": 5}

    other = ended(start_run(5, workspace="Other", source=EMAIL_PLAY.read_bytes()))
    assert other.status == "completed"

    first, *others = Boundary.objects.filter(run=run).order_by("position")
    wait_answer(first, "yes", by=None)
    until_settled(run, 1)
    waiting(run)
    assert run.frames.get().row_totals == {"waiting": 4, "completed": 1}
    for boundary in others:
        wait_answer(boundary, "no", by=None)
    assert ended(run).status == "completed"
    told = [row.data["approved"] for row in RowState.objects.filter(frame__run=run).order_by("id")]
    assert [answer[1:] for answer in told] == [["received", "yes"]] + [["received", "no"]] * 4


def until_settled(run: Run, rows: int) -> None:
    from tests.integration.host_runs import until

    until(lambda: run.frames.get().row_totals.get("completed") == rows, f"{rows} completed rows")


def test_deadlines_bring_waiting_runs_back_by_themselves(product: LiveProduct) -> None:
    # case S2
    # rule 12.6
    from plays.models import Boundary, RowState
    from tests.integration.host_runs import ended, start_run

    sleeping = waiting(start_run(3, source=SLEEPER))
    asking = waiting(start_run(3, workspace="Other", source=APPROVALS))
    past = timezone.now() - timedelta(seconds=1)
    Boundary.objects.update(due_at=past)
    RowState.objects.filter(frame__run=asking).update(wake_at=past)
    assert ended(sleeping).status == "completed"
    assert sleeping.frames.get().row_totals == {"completed": 3}
    assert ended(asking).status == "completed"
    values = [row.data["approved"][1] for row in RowState.objects.filter(frame__run=asking)]
    assert values == ["timed_out"] * 3


def test_waiting_runs_are_cancelled_or_paused_with_their_rows(product: LiveProduct) -> None:
    # case X2
    from plays.models import Boundary
    from plays.services.runs import run_cancel, run_pause, run_resume
    from plays.services.waits import wait_answer
    from tests.integration.host_runs import ended, start_run

    given_up = waiting(start_run(3, workspace="Other", source=APPROVALS))
    run_cancel(given_up)
    given_up.refresh_from_db()
    assert given_up.status == "cancelled"
    assert given_up.frames.get().row_totals == {"cancelled": 3}
    assert given_up.frames.get().totals["approved"] == {"cancelled": 3}

    run = waiting(start_run(2, source=APPROVALS))
    run_pause(run)
    for boundary in Boundary.objects.filter(run=run):
        wait_answer(boundary, "yes", by=None)
    run.refresh_from_db()
    assert run.status == "paused"
    assert run.frames.get().row_totals == {"waiting": 2}
    run_resume(run)
    assert ended(run).status == "completed"


BUSY = b"""
import time

from runtime import play


@play("busy")
async def busy(ctx, input):
    for number in range(12):
        answered = await ctx.tools.execute(
            id=f"later-{number}", tool="test_rate_limit", input={"value": number}
        )
    await ctx.step("blocks", lambda: time.sleep(5))
    return answered.status
"""


def test_a_lease_is_renewed_while_the_play_blocks_or_its_calls_wait(product: LiveProduct) -> None:
    # rule 1.1, 1.4
    # case D2
    from plays.models import RunParticipant
    from tests.integration.host_runs import ended, start_run

    run = ended(start_run(1, source=BUSY))
    assert (run.status, run.error) == ("completed", None)
    assert RunParticipant.objects.get(run=run).epoch == 1
