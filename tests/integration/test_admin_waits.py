"""Waits in the administration: shown with status and deadline, answered, ended, and logged."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from plays.models import Boundary, LateAnswer, Run, RunStatus
from tests.fake_runs import FakeRun
from tests.integration.admin_world import World, build_world, signed_in
from tests.integration.waits import FORM, make_wait

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(db: None) -> World:
    return build_world()


@pytest.fixture
def fake(world: World) -> FakeRun:
    """A run that only waits."""
    Run.objects.filter(pk=world.run.pk).update(status=RunStatus.WAITING)
    return FakeRun(Run.objects.get(pk=world.run.pk))


@pytest.fixture
def client(world: World) -> Client:
    return signed_in(world.admin)


def page(wait: Boundary) -> str:
    return reverse("admin:plays_boundary_change", args=(wait.pk,))


def answering(wait: Boundary) -> str:
    return reverse("admin:plays_boundary_answer", args=(wait.pk,))


def stored(wait: Boundary) -> tuple[str, Any]:
    wait.refresh_from_db()
    return wait.status, wait.payload


def logged() -> list[str]:
    return [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]


def test_the_list_shows_status_and_deadline_as_they_are_now(client: Client, fake: FakeRun) -> None:
    # case S4
    make_wait(fake)
    make_wait(fake, seconds=-1)
    shown = client.get(reverse("admin:plays_boundary_changelist"), {"run": fake.run.pk}).text
    for status in ("Open", "Timed out", "Over"):
        assert f">{status}</span>" in shown
    assert shown.count("field-due_at") == 3


def test_an_open_wait_is_answered_by_its_form(client: Client, fake: FakeRun, world: World) -> None:
    wait = make_wait(fake, form=FORM)
    assert answering(wait) in client.get(page(wait)).text
    assert "May it go?" in client.get(answering(wait)).text
    refused = client.post(answering(wait), {f"wait-{wait.pk}-note": "x" * 101})
    assert refused.status_code == 200
    assert stored(wait) == ("open", None)
    told = client.post(answering(wait), {f"wait-{wait.pk}-approved": "on"}, follow=True)
    assert "The run goes on with your answer." in told.text
    assert stored(wait) == ("received", {"approved": True})
    assert wait.answered_by == world.admin
    assert Run.objects.get(pk=fake.run.pk).status == RunStatus.QUEUED
    assert logged() == ["Answered."]
    assert answering(wait) not in client.get(page(wait)).text


def test_a_wait_is_ended_once_it_is_confirmed(client: Client, fake: FakeRun) -> None:
    wait = make_wait(fake)
    due = wait.due_at
    address = reverse("admin:plays_boundary_ask", args=(wait.pk, "end"))
    assert address in client.get(page(wait)).text
    assert "as if the deadline had come" in client.get(address).text
    assert stored(wait) == ("open", None)
    client.post(address, {"confirmed": "yes"})
    assert stored(wait) == ("timed_out", None)
    assert wait.due_at == due
    assert Run.objects.get(pk=fake.run.pk).status == RunStatus.QUEUED
    assert logged() == ["Ended before its deadline."]
    again = client.post(address, {"confirmed": "yes"}, follow=True)
    assert "too late" in again.text
    assert len(logged()) == 1


def test_an_answer_after_that_is_late_and_seen(client: Client, fake: FakeRun) -> None:
    # case S3
    wait = make_wait(fake, seconds=-1)
    told = client.post(answering(wait), {f"wait-{wait.pk}-json": "1"}, follow=True)
    assert "This came too late" in told.text
    late = LateAnswer.objects.get(boundary=wait)
    shown = client.get(reverse("admin:plays_lateanswer_change", args=(late.pk,))).text
    assert "This came too late: the wait has ended." in shown
    assert logged() == []


def test_a_sleep_is_neither_answered_nor_ended(client: Client, fake: FakeRun) -> None:
    wait = make_wait(fake, event=None, message=None)
    assert answering(wait) not in client.get(page(wait)).text
    told = client.post(
        reverse("admin:plays_boundary_ask", args=(wait.pk, "end")),
        {"confirmed": "yes"},
        follow=True,
    )
    assert "A sleep ends by itself" in told.text
    told = client.post(answering(wait), {f"wait-{wait.pk}-json": "1"}, follow=True)
    assert "A sleep ends by itself" in told.text
    assert stored(wait) == ("open", None)


def test_who_may_only_look_neither_answers_nor_ends(fake: FakeRun) -> None:
    wait = make_wait(fake)
    looking = User.objects.create(username="victor", is_staff=True)
    looking.user_permissions.add(Permission.objects.get(codename="view_boundary"))
    viewer = signed_in(looking)
    assert viewer.post(answering(wait), {f"wait-{wait.pk}-json": "1"}).status_code == 403
    assert answering(wait) not in viewer.get(page(wait)).text
    assert stored(wait) == ("open", None)
