"""Who may run a run: claims, leases, the end, and the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import redis

from tests.integration.together import at_once

if TYPE_CHECKING:
    from plays.models import Run
    from tests.integration.cast import Cast


@pytest.fixture
def run(committed_cast: Cast) -> Run:
    """A queued run."""
    from plays.services.runs import run_start

    return run_start(committed_cast.revision, committed_cast.alice, committed_cast.leads)


def completed(status: str = "completed", **told: object) -> dict[str, object]:
    return {"status": status, "result": {"value": 1}, "error": None, **told}


def expire(run: Run) -> None:
    from django.db.models.functions import Now

    from plays.models import RunParticipant

    RunParticipant.objects.filter(run=run).update(lease_until=Now())


def frame_with(run: Run, **row_totals: int) -> None:
    from plays.models import MapFrame

    MapFrame.objects.create(
        run=run,
        path=f"map{MapFrame.objects.count()}",
        table="t",
        title="t",
        columns=[],
        fields=[],
        is_sealed=True,
        total=sum(row_totals.values()),
        row_totals=row_totals,
    )


def test_a_queued_run_is_claimed_once(run: Run) -> None:
    # case D10
    from plays.services.leases import run_claim

    claims = []
    at_once([lambda: claims.append(run_claim(run.pk, "a"))] * 2)
    assert [claim is None for claim in claims].count(False) == 1
    run.refresh_from_db()
    assert run.status == "running"
    assert run.started_at is not None


def test_a_live_lease_is_left_alone_and_an_expired_one_taken(run: Run) -> None:
    # case D2, C6
    from plays.services.leases import run_claim

    first = run_claim(run.pk, "a")
    assert first is not None
    assert run_claim(run.pk, "b") is None
    expire(run)
    second = run_claim(run.pk, "b")
    assert second is not None
    assert second.epoch == first.epoch + 1
    (line,) = run.log_lines.all()
    assert line.text == "worker a was lost; another goes on from what is committed"


def test_of_two_who_find_an_expired_lease_one_takes_it(run: Run) -> None:
    # case C3
    from plays.services.leases import run_claim

    run_claim(run.pk, "dead")
    expire(run)
    claims = []
    at_once([lambda: claims.append(run_claim(run.pk, "b"))] * 2)
    assert [claim is None for claim in claims].count(False) == 1


def test_only_the_current_epoch_can_end_a_run(run: Run) -> None:
    # case D8
    from plays.services.leases import run_claim, run_finish

    first = run_claim(run.pk, "a")
    expire(run)
    second = run_claim(run.pk, "b")
    assert first is not None
    assert second is not None
    assert run_finish(first, completed()) is None
    assert run_finish(second, completed()) == "completed"
    assert run_finish(second, completed()) is None
    run.refresh_from_db()
    assert (run.status, run.result) == ("completed", {"value": 1})
    assert run.finished_at is not None


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([{}], "completed"),
        ([{"completed": 3}], "completed"),
        ([{"completed": 2, "failed": 1}], "completed_with_failures"),
        ([{"completed": 2}, {"failed": 2}], "completed_with_failures"),
        ([{"failed": 3}], "failed"),
    ],
)
def test_the_rows_decide_how_a_completed_run_is_called(
    run: Run, rows: list[dict[str, int]], status: str
) -> None:
    # case B3
    from plays.services.leases import run_claim, run_finish

    claim = run_claim(run.pk, "a")
    assert claim is not None
    for totals in rows:
        frame_with(run, **totals)
    assert run_finish(claim, completed()) == status
    run.refresh_from_db()
    assert bool(run.error) == (status == "failed")


def test_a_run_that_gives_way_is_queued_again_with_its_lease_let_go(run: Run) -> None:
    from plays.services.leases import run_claim, run_release

    claim = run_claim(run.pk, "a")
    assert claim is not None
    assert run_release(claim)
    run.refresh_from_db()
    assert run.status == "queued"
    assert run_claim(run.pk, "b") is not None


def test_a_cancel_that_came_last_counts(run: Run) -> None:
    from plays.services.leases import run_claim, run_finish

    claim = run_claim(run.pk, "a")
    assert claim is not None
    assert run.request("cancel")
    told = completed("paused", stop_reason="limit", stop_message="a limit")
    assert run_finish(claim, told) == "cancelled"
    run.refresh_from_db()
    assert (run.stop_reason, run.stop_message) == ("person", "Cancelled by a person.")
    assert run.requested == "none"
    assert run.finished_at is not None


def test_a_limit_pauses_with_its_sentence_and_no_end(run: Run) -> None:
    from plays.services.leases import run_claim, run_finish

    claim = run_claim(run.pk, "a")
    assert claim is not None
    told = completed("paused", stop_reason="limit", stop_message="raise it there")
    assert run_finish(claim, told) == "paused"
    run.refresh_from_db()
    assert (run.stop_reason, run.stop_message) == ("limit", "raise it there")
    assert run.finished_at is None


def test_a_run_does_not_wait_for_what_has_been_answered(run: Run) -> None:
    from django.db.models.functions import Now
    from django.utils import timezone

    from plays.models import Boundary
    from plays.services.leases import run_claim, run_finish

    claim = run_claim(run.pk, "a")
    assert claim is not None
    boundary = Boundary.objects.create(
        run=run, name="b", event="e", due_at=timezone.now() + timezone.timedelta(hours=1)
    )
    Boundary.objects.filter(pk=boundary.pk).update(status="received", answered_at=Now())
    assert run_finish(claim, completed("waiting")) == "queued"


def test_a_waiting_run_is_queued_when_its_time_has_come(run: Run) -> None:
    # case Q7, S2
    from django.utils import timezone

    from plays.models import Boundary
    from plays.services.leases import run_claim, run_finish, runs_sweep

    claim = run_claim(run.pk, "a")
    assert claim is not None
    hour = timezone.timedelta(hours=1)
    boundary = Boundary.objects.create(run=run, name="b", due_at=timezone.now() + hour)
    assert run_finish(claim, completed("waiting")) == "waiting"
    assert runs_sweep() == 0
    Boundary.objects.filter(pk=boundary.pk).update(due_at=timezone.now())
    assert runs_sweep() == 1
    run.refresh_from_db()
    assert run.status == "queued"


def test_the_sweep_queues_runs_that_an_emptied_queue_lost(run: Run, valkey: redis.Redis) -> None:
    # case Q5
    from plays.queues import runs_queue
    from plays.services.leases import runs_sweep

    valkey.flushdb()
    assert runs_queue().count == 0
    assert runs_sweep() == 1
    assert runs_queue().count == 1


def test_what_rq_says_of_a_job_changes_no_run_that_is_over(run: Run) -> None:
    # case Q1
    from rq.job import JobStatus

    from plays.queues import enqueue, runs_queue
    from plays.services.leases import run_claim, run_finish, runs_sweep, worker_expire

    enqueue(run.pk)
    (job,) = runs_queue().get_jobs()
    claim = run_claim(run.pk, "a")
    assert claim is not None
    assert run_finish(claim, completed()) == "completed"
    job.set_status(JobStatus.FAILED)
    runs_queue().failed_job_registry.add(job, ttl=60)
    runs_queue().empty()
    worker_expire("a")
    assert runs_sweep() == 0
    assert run_claim(run.pk, "b") is None
    run.refresh_from_db()
    assert run.status == "completed"


def test_a_run_is_never_queued_twice_for_one_claim(run: Run) -> None:
    # case Q6, D10
    from plays.queues import enqueue, runs_queue
    from plays.services.leases import runs_sweep

    enqueue(run.pk)
    runs_sweep()
    assert runs_queue().count == 1


def test_the_sweep_finds_runs_whose_worker_is_gone(run: Run, valkey: redis.Redis) -> None:
    # case C5
    from plays.queues import runs_queue
    from plays.services.leases import run_claim, runs_sweep

    run_claim(run.pk, "dead")
    valkey.flushdb()
    assert runs_sweep() == 0
    expire(run)
    assert runs_sweep() == 1
    assert runs_queue().count == 1


def test_a_worker_that_misses_renewals_loses_a_run_that_was_cancelled(run: Run) -> None:
    # case X2
    from django.utils import timezone

    from plays.models import RunParticipant
    from plays.services.leases import run_claim, runs_sweep

    run_claim(run.pk, "just died")
    run.request("cancel")
    runs_sweep()
    run.refresh_from_db()
    assert run.status == "running"
    almost = timezone.now() + timezone.timedelta(seconds=26)
    RunParticipant.objects.filter(run=run).update(lease_until=almost)
    runs_sweep()
    run.refresh_from_db()
    assert run.status == "cancelled"


@pytest.mark.parametrize(("asked", "status"), [("cancel", "cancelled"), ("pause", "paused")])
def test_what_was_asked_of_a_dead_worker_is_obeyed_by_the_sweep(
    run: Run, asked: str, status: str
) -> None:
    # case X2
    from plays.services.leases import run_claim, runs_sweep

    run_claim(run.pk, "dead")
    run.request(asked)
    expire(run)
    runs_sweep()
    run.refresh_from_db()
    assert (run.status, run.stop_reason) == (status, "person")


def test_a_play_process_that_died_gets_a_successor_in_the_same_lease(run: Run) -> None:
    from plays.services.leases import run_claim, run_finish, run_reclaim

    first = run_claim(run.pk, "a")
    assert first is not None
    second = run_reclaim(first, "it was killed")
    assert second is not None
    assert second.epoch == first.epoch + 1
    assert run_reclaim(first, "again") is None
    assert run_finish(first, completed()) is None
    assert [line.text for line in run.log_lines.all()] == ["it was killed"]
    assert run_finish(second, completed()) == "completed"


def test_the_runs_of_a_work_horse_known_to_be_dead_are_queued_at_once(run: Run) -> None:
    # case Q4
    from plays.queues import runs_queue
    from plays.services.leases import run_claim, worker_expire

    run_claim(run.pk, "host-1")
    runs_queue().empty()
    worker_expire("another")
    assert runs_queue().count == 0
    worker_expire("host-1")
    assert runs_queue().count == 1
    assert run_claim(run.pk, "host-2") is not None
