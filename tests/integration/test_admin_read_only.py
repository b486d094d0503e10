"""What the engine, the gateway and services write cannot be added to, changed or deleted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.forms import model_to_dict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from plays.models import Membership, Run, Workspace
from tests.integration.admin_world import World, build_world, signed_in

OWNED = [
    *("plays.Play", "plays.Revision", "plays.Upload", "plays.Run", "plays.MapFrame"),
    *("plays.RowState", "plays.LogLine", "plays.TraceStep", "plays.RunUsage"),
    *("plays.RunParticipant", "plays.CheckpointEntry", "plays.Receipt", "plays.Boundary"),
    *("plays.EarlyAnswer", "plays.LateAnswer"),
    *("plays.ToolCall", "admin.LogEntry"),
]


@pytest.fixture
def world(db: None) -> World:
    world = build_world()
    LogEntry.objects.create(
        user=world.admin,
        content_type=ContentType.objects.get_for_model(world.run),
        object_id=str(world.run.pk),
        action_flag=2,
        change_message="Made for a test.",
    )
    return world


@pytest.fixture
def client(world: World) -> Client:
    return signed_in(world.admin)


def address(label: str, page: str, *values: object) -> str:
    return reverse(f"admin:{label.lower().replace('.', '_')}_{page}", args=values)


def stored(label: str) -> list[dict[str, Any]]:
    return list(apps.get_model(label)._default_manager.order_by("pk").values())


@pytest.mark.parametrize("label", OWNED)
@pytest.mark.parametrize("method", ["get", "post"])
def test_nothing_is_added(client: Client, label: str, method: str) -> None:
    before = stored(label)
    assert getattr(client, method)(address(label, "add")).status_code == 403
    assert stored(label) == before


@pytest.mark.parametrize("label", OWNED)
def test_nothing_is_changed(client: Client, label: str) -> None:
    before = stored(label)
    record = apps.get_model(label)._default_manager.all()[0]
    given = {name: value or "" for name, value in model_to_dict(record).items()}
    answer = client.post(
        address(label, "change", record.pk), {**given, "name": "x", "status": "x", "_save": "Save"}
    )
    assert answer.status_code == 403
    assert stored(label) == before


@pytest.mark.parametrize("label", OWNED)
@pytest.mark.parametrize("method", ["get", "post"])
def test_nothing_is_deleted(client: Client, label: str, method: str) -> None:
    # case X5
    before = stored(label)
    record = apps.get_model(label)._default_manager.all()[0]
    answer = getattr(client, method)(address(label, "delete", record.pk), {"post": "yes"})
    assert answer.status_code == 403
    assert stored(label) == before


@pytest.mark.parametrize("label", OWNED)
def test_no_action_deletes(client: Client, label: str) -> None:
    before = stored(label)
    client.post(
        address(label, "changelist"),
        {"action": "delete_selected", "_selected_action": [before[0].popitem()[1]], "post": "yes"},
    )
    assert len(stored(label)) == len(before)


@pytest.mark.parametrize("label", OWNED)
def test_a_page_offers_no_field_and_no_saving(client: Client, label: str) -> None:
    record = apps.get_model(label)._default_manager.all()[0]
    page = client.get(address(label, "change", record.pk)).text
    assert 'name="_save"' not in page
    assert "deletelink" not in page
    assert "<textarea" not in page


def test_the_tables_on_a_run_take_no_rows(client: Client, world: World) -> None:
    page = client.get(address("plays.Run", "change", world.run.pk)).text
    for table in ("frames", "participants", "usage"):
        assert f'name="{table}-MAX_NUM_FORMS" value="0"' in page
    assert "-DELETE" not in page


def test_a_workspace_in_use_is_not_deleted(client: Client, world: World) -> None:
    where = address("plays.Workspace", "delete", world.workspace.pk)
    with CaptureQueriesContext(connection) as asked:
        assert client.get(where).status_code == 403
        assert client.post(where, {"post": "yes"}).status_code == 403
    assert not [query for query in asked if "plays_rowstate" in query["sql"]]
    assert len(stored("plays.Run")) == 1


def test_an_empty_workspace_is_deleted(client: Client, world: World) -> None:
    empty = Workspace.objects.create(name="Empty")
    Membership.objects.create(workspace=empty, user=world.admin)
    client.post(address("plays.Workspace", "delete", empty.pk), {"post": "yes"})
    assert not Workspace.objects.filter(pk=empty.pk).exists()


def test_a_person_who_made_something_is_not_deleted(client: Client, world: World) -> None:
    erin = User.objects.create_user("erin")
    Run.objects.update(created_by=erin)
    where = address("auth.User", "delete", erin.pk)
    assert client.post(where, {"post": "yes"}).status_code == 403
    client.post(
        address("auth.User", "changelist"),
        {"action": "delete_selected", "_selected_action": [erin.pk], "post": "yes"},
    )
    assert User.objects.filter(pk=erin.pk).exists()


def test_a_person_who_made_nothing_is_deleted(client: Client) -> None:
    erin = User.objects.create_user("erin")
    client.post(address("auth.User", "delete", erin.pk), {"post": "yes"})
    assert not User.objects.filter(pk=erin.pk).exists()
