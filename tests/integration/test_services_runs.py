"""Starting, pausing, resuming, cancelling and retrying runs."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.utils import timezone

from plays import queues
from plays.models import (
    GovernanceProfile,
    MapFrame,
    RowState,
    Run,
    RunParticipant,
    RunUsage,
    row_id,
)
from plays.services.refusals import InputInvalid, Refused
from plays.services.revisions import revision_publish
from plays.services.runs import run_cancel, run_pause, run_resume, run_retry, run_start
from tests.integration.cast import SCHEMA_PLAY, Cast
from tests.integration.together import at_once


def make_run(cast: Cast, status: str = "queued", **columns: Any) -> Run:
    run = run_start(cast.revision, cast.alice, cast.leads)
    Run.objects.filter(pk=run.pk).update(status=status, **columns)
    run.refresh_from_db()
    return run


def hold(run: Run, *, seconds: float) -> RunParticipant:
    """Give the run to a worker whose lease ends so many seconds from now."""
    return RunParticipant.objects.create(
        run=run, epoch=3, lease_until=timezone.now() + timedelta(seconds=seconds), worker="w"
    )


def test_a_started_run_is_queued_with_its_own_limits(cast: Cast) -> None:
    GovernanceProfile.objects.filter(is_default=True).update(max_credits="12.5")
    run = run_start(cast.revision, cast.alice, cast.leads)
    run.refresh_from_db()
    assert (run.status, run.input, run.created_by) == ("queued", cast.leads, cast.alice)
    assert run.limits["max_tool_call_count"] == 500
    assert RunUsage.objects.get(run=run).tool_calls == 0


def test_a_limit_on_credits_is_copied_as_a_number(cast: Cast) -> None:
    run_start(cast.revision, cast.alice, cast.leads)
    GovernanceProfile.objects.update(max_credits="12.5")
    run = run_start(cast.revision, cast.alice, cast.leads)
    run.refresh_from_db()
    assert run.limits["max_credits"] == 12.5


def test_a_run_is_enqueued_once_it_is_committed(committed_cast: Cast) -> None:
    cast = committed_cast
    with transaction.atomic():
        run = run_start(cast.revision, cast.alice, cast.leads)
        assert queues.runs_queue().jobs == []
    assert [job.args for job in queues.runs_queue().jobs] == [(str(run.pk),)]


def test_a_run_starts_though_the_queue_is_out_of_reach(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    # case Q13
    def broken(run_id: uuid.UUID) -> None:
        raise redis.ConnectionError

    monkeypatch.setattr(queues, "enqueue", broken)
    run = run_start(committed_cast.revision, committed_cast.alice, committed_cast.leads)
    assert Run.objects.get(pk=run.pk).status == "queued"


def test_asking_twice_with_one_id_gives_one_run(cast: Cast) -> None:
    token = uuid.uuid4()
    first = run_start(cast.revision, cast.alice, cast.leads, run_id=token)
    second = run_start(cast.revision, cast.alice, cast.leads, run_id=token)
    assert first == second
    assert Run.objects.count() == 1


def test_asking_at_once_with_one_id_gives_one_run(committed_cast: Cast) -> None:
    # case D10
    cast, token = committed_cast, uuid.uuid4()
    at_once(
        [lambda: run_start(cast.revision, cast.alice, cast.leads, run_id=token) for _ in range(4)]
    )
    assert Run.objects.count() == 1


def test_another_persons_run_is_not_given_for_its_id(cast: Cast) -> None:
    token = uuid.uuid4()
    run_start(cast.revision, cast.alice, cast.leads, run_id=token)
    with pytest.raises(Refused):
        run_start(cast.revision, cast.bob, cast.leads, run_id=token)
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    "given",
    [{}, {"leads": ""}, {"leads": "leads.csv"}, {"leads": f"upload:{uuid.uuid4()}"}, {"leads": 7}],
)
def test_a_run_without_its_file_is_refused(cast: Cast, given: dict[str, Any]) -> None:
    with pytest.raises(InputInvalid) as refused:
        run_start(cast.revision, cast.alice, given)
    assert list(refused.value.problems) == ["leads"]
    assert not Run.objects.exists()


def test_a_file_of_another_workspace_is_refused(cast: Cast) -> None:
    elsewhere = cast.charlie.membership_set.get().workspace
    cast.upload.workspace = elsewhere
    cast.upload.save()
    with pytest.raises(InputInvalid, match="not in the workspace"):
        run_start(cast.revision, cast.alice, cast.leads)


def test_the_schema_of_a_play_judges_its_input(cast: Cast) -> None:
    revision = revision_publish(cast.workspace, cast.alice, "segment.py", SCHEMA_PLAY.encode())
    given = {"companies": cast.upload.ref, "minimum": 0, "market": "Mars", "tags": ["a", 1]}
    with pytest.raises(InputInvalid) as refused:
        run_start(revision, cast.alice, given)
    assert list(refused.value.problems) == ["market", "minimum", "tags"]
    assert refused.value.problems["tags"].startswith("At 1: ")
    run_start(revision, cast.alice, {"companies": cast.upload.ref, "minimum": 5})


def test_a_schema_fetches_nothing_from_the_network(cast: Cast) -> None:
    cast.revision.input_schema = {"$ref": "http://127.0.0.1:1/schema.json"}
    with pytest.raises(InputInvalid, match="does not hold"):
        run_start(cast.revision, cast.alice, cast.leads)


def test_a_nul_in_an_input_is_replaced(cast: Cast) -> None:
    run = run_start(cast.revision, cast.alice, {**cast.leads, "note": "a\0b"})
    run.refresh_from_db()
    assert run.input["note"] == "a\ufffdb"


@pytest.mark.parametrize("status", ["queued", "waiting"])
def test_a_run_that_nobody_holds_is_paused_at_once(cast: Cast, status: str) -> None:
    run = make_run(cast, status)
    run_pause(run)
    assert (run.status, run.stop_reason) == ("paused", "person")


def test_a_run_that_a_worker_holds_is_only_asked_to_pause(cast: Cast) -> None:
    run = make_run(cast, "running")
    hold(run, seconds=30)
    run_pause(run)
    assert (run.status, run.requested) == ("running", "pause")


@pytest.mark.parametrize("status", ["paused", "completed", "failed", "cancelled"])
def test_a_run_that_does_not_move_cannot_be_paused(cast: Cast, status: str) -> None:
    run = make_run(cast, status)
    with pytest.raises(Refused, match=f"it is {status}"):
        run_pause(run)


def test_a_paused_run_goes_on_in_the_queue(committed_cast: Cast, valkey: redis.Redis) -> None:
    run = make_run(committed_cast, "paused", stop_reason="limit", stop_message="Used up.")
    valkey.flushdb()
    run_resume(run)
    assert (run.status, run.stop_reason, run.stop_message) == ("queued", "", "")
    assert len(queues.runs_queue().jobs) == 1


def test_a_run_that_goes_on_without_a_provider_records_it(cast: Cast) -> None:
    run = make_run(cast, "paused", left_out=["sandbox_b"])
    run_resume(run, cast.alice, without_provider="sandbox_a")
    assert run.left_out == ["sandbox_a", "sandbox_b"]
    run.refresh_from_db()
    assert run.left_out == ["sandbox_a", "sandbox_b"]
    (told,) = LogEntry.objects.filter(object_id=str(run.pk))
    assert (told.user, told.change_message) == (
        cast.alice, "Resumed without the provider sandbox_a."
    )  # fmt: skip


def test_only_a_paused_run_can_be_resumed(cast: Cast) -> None:
    with pytest.raises(Refused, match="it is queued"):
        run_resume(make_run(cast))


@pytest.mark.parametrize("status", ["queued", "waiting", "paused"])
def test_a_run_that_nobody_holds_is_cancelled_at_once(cast: Cast, status: str) -> None:
    run = make_run(cast, status)
    run_cancel(run)
    run.refresh_from_db()
    assert (run.status, run.requested) == ("cancelled", "none")
    assert run.finished_at is not None


def test_a_run_that_a_worker_holds_is_only_asked_to_cancel(cast: Cast) -> None:
    run = make_run(cast, "running")
    held = hold(run, seconds=30)
    run_cancel(run)
    held.refresh_from_db()
    assert (run.status, run.requested, held.epoch) == ("running", "cancel", 3)


@pytest.mark.parametrize("seconds", [-1, 26])
def test_a_run_whose_worker_died_is_cancelled_at_once_and_the_worker_fenced(
    cast: Cast, seconds: float
) -> None:
    # case X2
    run = make_run(cast, "running")
    dead = hold(run, seconds=seconds)
    run_cancel(run)
    dead.refresh_from_db()
    assert (run.status, dead.epoch) == ("cancelled", 4)


def test_rows_of_a_cancelled_run_do_not_stay_running(cast: Cast) -> None:
    run = make_run(cast, "running", sequence=8)
    hold(run, seconds=-1)
    frame = make_frame(run)
    run_cancel(run)
    row = RowState.objects.get(frame=frame)
    assert (row.status, row.cells["email"]["status"]) == ("cancelled", "cancelled")
    assert row.sequence == run.sequence == 9


@pytest.mark.parametrize("status", ["completed", "completed_with_failures", "failed", "cancelled"])
def test_a_run_that_is_over_cannot_be_cancelled(cast: Cast, status: str) -> None:
    run = make_run(cast, status)
    with pytest.raises(Refused, match="cannot be cancelled"):
        run_cancel(run)


def test_each_change_moves_the_sequence(cast: Cast) -> None:
    run = make_run(cast, "queued", sequence=4)
    run_pause(run)
    run_resume(run)
    run_cancel(run)
    assert run.sequence == 7


def test_of_two_who_cancel_at_once_one_is_told(committed_cast: Cast) -> None:
    run = make_run(committed_cast)
    told: list[str] = []

    def cancel() -> None:
        try:
            run_cancel(Run.objects.get(pk=run.pk))
        except Refused as refused:
            told.append(str(refused))

    at_once([cancel, cancel])
    assert told == ["The run cannot be cancelled: it is cancelled."]


@pytest.mark.parametrize(
    ("what", "selection"),
    [
        ("failed", {"rows": "failed", "fields": None}),
        ("empty", {"rows": "empty", "fields": None}),
        ("all", {"rows": "all", "fields": None}),
        ({"rows": [0, 4], "fields": ["email"]}, {"rows": [0, 4], "fields": ["email"]}),
        ({"fields": ["email"]}, {"rows": "all", "fields": ["email"]}),
    ],
)
def test_a_retry_is_a_new_run_of_the_same_revision(
    cast: Cast, what: Any, selection: dict[str, Any]
) -> None:
    run = make_run(cast, "completed_with_failures")
    retry = run_retry(run, cast.alice, what)
    retry.refresh_from_db()
    assert (retry.retry_of, retry.selection, retry.input) == (run, selection, run.input)
    assert (retry.revision, retry.status) == (run.revision, "queued")


@pytest.mark.parametrize(
    "what", ["some", {"rows": [-1]}, {"rows": [True]}, {"rows": 3}, {"fields": "email"}]
)
def test_a_retry_of_no_selection_is_refused(cast: Cast, what: Any) -> None:
    run = make_run(cast, "failed")
    with pytest.raises(Refused):
        run_retry(run, cast.alice, what)
    assert Run.objects.count() == 1


def test_a_run_that_still_goes_on_cannot_be_retried(cast: Cast) -> None:
    run = make_run(cast, "paused")
    with pytest.raises(Refused, match="still going"):
        run_retry(run, cast.alice)


def test_a_retry_whose_file_is_gone_is_refused(cast: Cast) -> None:
    run = make_run(cast, "failed")
    cast.upload.delete()
    with pytest.raises(InputInvalid):
        run_retry(run, cast.alice)


def test_a_start_that_fails_later_in_its_transaction_leaves_nothing(committed_cast: Cast) -> None:
    cast = committed_cast

    @transaction.atomic
    def start_and_fail() -> None:
        run_start(cast.revision, cast.alice, cast.leads)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        start_and_fail()
    assert not Run.objects.exists()
    assert queues.runs_queue().jobs == []


def make_frame(run: Run) -> MapFrame:
    """Make a sealed map with one row that is running."""
    frame = MapFrame.objects.create(
        run=run,
        path="leads",
        table="find_emails_leads",
        title="leads",
        columns=["domain"],
        fields=[{"name": "email", "digest": "", "stale_after_seconds": None, "parts": []}],
        is_sealed=True,
        total=1,
        totals={"email": {"running": 1}},
        row_totals={"running": 1},
    )
    RowState.objects.create(
        id=row_id(frame.pk, 0),
        frame=frame,
        position=0,
        row_key="k",
        input={"domain": "acme.example"},
        cells={"email": {"status": "running", "sequence": 7}},
        status="running",
    )
    return frame
