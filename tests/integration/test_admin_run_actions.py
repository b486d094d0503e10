"""What an operator asks of runs: confirmed first, done through the services, logged, and refused in words."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoCaptureOnCommitCallbacks
from redis import Redis

from plays import queues
from plays.models import Play, Run, RunParticipant, RunRequest, RunStatus
from plays.services.leases import run_claim
from tests.integration.admin_world import (
    World,
    build_world,
    hold,
    make_revision,
    make_run,
    signed_in,
)

LIST = "admin:plays_run_changelist"


@pytest.fixture
def world(db: None) -> World:
    return build_world()


@pytest.fixture
def client(world: World) -> Client:
    return signed_in(world.admin)


def asking(run: Run, change: str) -> str:
    return reverse("admin:plays_run_ask", args=(run.pk, change))


def choose(client: Client, change: str, *runs: Run, **given: str) -> HttpResponse:
    """Choose an action of the list for some runs."""
    chosen = {"action": change, "_selected_action": [str(run.pk) for run in runs], **given}
    return client.post(reverse(LIST), chosen, follow=True)  # type: ignore[return-value]


def status_of(run: Run) -> str:
    return Run.objects.get(pk=run.pk).status


def logged() -> list[tuple[str, str]]:
    entries = LogEntry.objects.order_by("pk")
    return [(entry.object_id or "", entry.get_change_message()) for entry in entries]


@pytest.mark.parametrize(
    ("change", "before", "after", "told"),
    [
        ("pause", "queued", "paused", "Asked to pause."),
        ("pause", "waiting", "paused", "Asked to pause."),
        ("resume", "paused", "queued", "Resumed."),
        ("requeue", "waiting", "queued", "Put back in the queue."),
        ("cancel", "paused", "cancelled", "Asked to cancel."),
        ("cancel", "queued", "cancelled", "Asked to cancel."),
    ],
)
def test_a_run_is_changed_once_it_is_confirmed(
    client: Client, world: World, change: str, before: str, after: str, told: str
) -> None:
    run = make_run(world.revision, world.admin, status=before)
    asked = client.get(asking(run, change))
    assert asked.status_code == 200
    assert str(run) in asked.text
    assert client.post(asking(run, change)).status_code == 200
    assert (status_of(run), logged()) == (before, [])
    done = client.post(asking(run, change), {"confirmed": "yes"}, follow=True)
    assert f"{run}: {told}" in done.text
    assert (status_of(run), logged()) == (after, [(str(run.pk), told)])


@pytest.mark.parametrize("change", ["pause", "cancel"])
def test_a_worker_is_asked_where_it_holds_the_run(
    client: Client, world: World, change: str
) -> None:
    hold(world.run, seconds=30)
    client.post(asking(world.run, change), {"confirmed": "yes"})
    world.run.refresh_from_db()
    assert (world.run.status, world.run.requested) == (RunStatus.RUNNING, change)
    assert f"Running, asked to {change}" in client.get(reverse(LIST)).text


def test_the_list_asks_before_it_changes_several_runs(client: Client, world: World) -> None:
    runs = [make_run(world.revision, world.admin, status="paused") for _ in range(3)]
    asked = choose(client, "cancel", *runs[:2])
    assert [str(run) in asked.text for run in runs] == [True, True, False]  # type: ignore[attr-defined]
    assert logged() == []
    choose(client, "cancel", *runs[:2], confirmed="yes")
    assert [status_of(run) for run in runs] == ["cancelled", "cancelled", "paused"]
    assert len(logged()) == 2


def test_the_list_goes_back_to_what_it_showed(client: Client, world: World) -> None:
    where = reverse(LIST) + "?status__exact=queued"
    chosen = {"action": "cancel", "_selected_action": [world.run.pk], "confirmed": "yes"}
    assert client.post(where, chosen)["Location"] == where


@pytest.mark.parametrize("change", ["pause", "resume", "requeue", "cancel"])
@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_run_that_is_over_is_left_alone(
    client: Client, world: World, change: str, status: str
) -> None:
    run = make_run(world.revision, world.admin, status=status)
    answer = client.post(asking(run, change), {"confirmed": "yes"}, follow=True)
    assert f"it is {status}." in answer.text
    assert (status_of(run), logged()) == (status, [])


def test_one_refusal_does_not_keep_the_others(client: Client, world: World) -> None:
    over = make_run(world.revision, world.admin, status="completed")
    answer = choose(client, "cancel", over, world.run, confirmed="yes")
    assert "The run cannot be cancelled: it is completed." in answer.text  # type: ignore[attr-defined]
    assert status_of(world.run) == "cancelled"
    assert [about for about, _ in logged()] == [str(world.run.pk)]


def test_a_requeued_run_gets_a_job(
    client: Client,
    world: World,
    valkey: Redis,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        client.post(asking(world.run, "requeue"), {"confirmed": "yes"})
    jobs = queues.runs_queue().jobs
    assert [job.args for job in jobs] == [(str(world.run.pk),)]


def test_a_requeued_run_is_taken_from_its_worker(client: Client, world: World) -> None:
    held = hold(world.run, seconds=3600)
    Run.objects.filter(pk=world.run.pk).update(requested=RunRequest.PAUSE)
    client.post(asking(world.run, "requeue"), {"confirmed": "yes"})
    world.run.refresh_from_db()
    after = RunParticipant.objects.get(pk=held.pk)
    assert (world.run.status, world.run.requested) == (RunStatus.QUEUED, RunRequest.NONE)
    assert after.epoch == held.epoch + 1
    claimed = run_claim(world.run.pk, "another worker")
    assert claimed is not None
    assert claimed.epoch == held.epoch + 2


def test_a_child_run_is_moved_by_its_parent(client: Client, world: World) -> None:
    child = make_run(world.revision, world.admin, parent=world.run, root=world.run)
    page = client.get(reverse("admin:plays_run_change", args=(child.pk,))).text
    assert "/ask/" not in page
    answer = client.post(asking(child, "requeue"), {"confirmed": "yes"}, follow=True)
    assert "The run that called this one moves it" in answer.text
    assert logged() == []


@pytest.mark.parametrize(
    ("status", "offered"),
    [
        ("queued", {"pause", "requeue", "cancel"}),
        ("running", {"pause", "requeue", "cancel"}),
        ("paused", {"resume", "cancel"}),
        ("completed", set()),
    ],
)
def test_a_run_offers_what_suits_it(
    client: Client, world: World, status: str, offered: set[str]
) -> None:
    run = make_run(world.revision, world.admin, status=status)
    page = client.get(reverse("admin:plays_run_change", args=(run.pk,))).text
    changes = {"pause", "resume", "requeue", "cancel"}
    assert {change for change in changes if asking(run, change) in page} == offered


def test_more_runs_than_can_be_read_are_not_asked_about(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plays.admin.confirming.AT_ONCE", 1)
    other = make_run(world.revision, world.admin)
    answer = choose(client, "cancel", world.run, other, confirmed="yes")
    assert "Choose at most 1 at once." in answer.text  # type: ignore[attr-defined]
    assert logged() == []


def test_whoever_may_only_look_changes_nothing(world: World) -> None:
    person = User.objects.create_user("dana", is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_run"))
    client = signed_in(person)
    page = client.get(reverse("admin:plays_run_change", args=(world.run.pk,))).text
    assert "/ask/" not in page
    assert "/limits/" not in page
    assert client.post(asking(world.run, "cancel"), {"confirmed": "yes"}).status_code == 403
    assert client.get(reverse("admin:plays_run_limits", args=(world.run.pk,))).status_code == 403
    choose(client, "cancel", world.run, confirmed="yes")
    assert (status_of(world.run), logged()) == ("queued", [])


def test_whoever_is_not_staff_changes_nothing(world: World) -> None:
    for client in (Client(), signed_in(User.objects.create_user("charlie"))):
        answer = client.post(asking(world.run, "cancel"), {"confirmed": "yes"})
        assert answer["Location"].startswith("/admin/login/")
    assert status_of(world.run) == "queued"


def test_what_is_not_there_is_not_found(client: Client, world: World) -> None:
    nowhere = "00000000-0000-4000-8000-000000000000"
    assert client.get(reverse("admin:plays_run_ask", args=(nowhere, "cancel"))).status_code == 404
    assert client.get(reverse("admin:plays_run_ask", args=("x", "cancel"))).status_code == 404
    assert client.get(asking(world.run, "delete")).status_code == 404


def test_a_revision_is_made_live_once_it_is_confirmed(client: Client, world: World) -> None:
    second = make_revision(world.play, 2, world.admin)
    where = reverse("admin:plays_revision_ask", args=(second.pk, "set_live"))
    assert where in client.get(reverse("admin:plays_revision_change", args=(second.pk,))).text
    client.post(where)
    assert Play.objects.get().live == world.revision
    client.post(where, {"confirmed": "yes"})
    assert Play.objects.get().live == second
    assert logged() == [(str(second.pk), "Made the live revision.")]


def test_the_log_shows_who_did_what(client: Client, world: World) -> None:
    client.post(asking(world.run, "cancel"), {"confirmed": "yes"})
    page = client.get(reverse("admin:admin_logentry_changelist")).text
    for told in ("olivia", str(world.run), "Asked to cancel."):
        assert told in page
    history = client.get(reverse("admin:plays_run_history", args=(world.run.pk,))).text
    assert "Asked to cancel." in history
