"""Every page of the administration opens, shows values safely, and to nobody else."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from plays.models import LogLine, MapFrame, Revision, ToolCall
from tests.integration.admin_world import (
    CHUNK,
    CLAIM,
    HOSTILE,
    PASSWORD,
    World,
    build_world,
    make_revision,
    make_run,
    make_upload,
    signed_in,
)

PAGES = [
    *("Workspace", "Membership", "Play", "Revision", "Upload"),
    *("Run", "MapFrame", "RowState", "LogLine", "TraceStep", "RunUsage", "RunParticipant"),
    *("CheckpointEntry", "Receipt", "Boundary", "ToolCall", "GovernanceProfile", "ToolPolicy"),
    *("EarlyAnswer", "LateAnswer"),
]


@pytest.fixture
def world(db: None) -> World:
    return build_world()


@pytest.fixture
def client(world: World) -> Client:
    return signed_in(world.admin)


def list_of(name: str, query: str = "") -> str:
    return reverse(f"admin:plays_{name.lower()}_changelist") + query


def page_of(record: Model) -> str:
    return reverse(f"admin:plays_{record._meta.model_name}_change", args=(record.pk,))


def first_of(name: str) -> Model:
    record: Model = apps.get_model("plays", name)._default_manager.all()[0]
    return record


@pytest.mark.parametrize("name", PAGES)
def test_a_list_shows_its_records(client: Client, name: str) -> None:
    answer = client.get(list_of(name))
    assert answer.status_code == 200
    assert answer.context["cl"].result_count == 1
    assert page_of(first_of(name)) in answer.text


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("term", ["17", "00000000-0000-4000-8000-000000000000", "' OR 1=1 --", "%"])
def test_a_search_for_anything_opens(client: Client, name: str, term: str) -> None:
    assert client.get(list_of(name), {"q": term}).status_code == 200


@pytest.mark.parametrize("name", PAGES)
def test_a_record_has_a_page(client: Client, name: str) -> None:
    assert client.get(page_of(first_of(name))).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        *("MapFrame", "LogLine", "TraceStep", "RunUsage", "RunParticipant"),
        *("CheckpointEntry", "Receipt", "Boundary", "EarlyAnswer", "LateAnswer", "ToolCall"),
    ],
)
def test_a_run_is_a_filter_of_what_it_left(client: Client, world: World, name: str) -> None:
    other = make_run(world.revision, world.admin)
    ours = client.get(list_of(name), {"run": world.run.pk})
    assert ours.context["cl"].result_count == 1
    assert client.get(list_of(name), {"run": other.pk}).context["cl"].result_count == (
        1 if name == "RunUsage" else 0
    )


@pytest.mark.parametrize("name", ["MapFrame", "RowState", "ToolCall", "CheckpointEntry"])
def test_a_filter_that_cannot_be_read_is_told_and_filters_nothing(
    client: Client, name: str
) -> None:
    parameter = "frame" if name in ("RowState", "CheckpointEntry") else "run"
    answer = client.get(list_of(name), {parameter: "no id"}, follow=True)
    assert answer.context["cl"].result_count == 1
    assert "A filter could not be read, so nothing is filtered." in answer.text


def test_a_status_is_offered_once_the_list_is_narrowed(client: Client, world: World) -> None:
    whole = client.get(list_of("RowState"))
    of_frame = client.get(list_of("RowState"), {"frame": world.frame.pk})
    failed = client.get(list_of("RowState"), {"frame": world.frame.pk, "status": "failed"})
    assert "By status" not in whole.text
    assert "By status" in of_frame.text
    assert (of_frame.context["cl"].result_count, failed.context["cl"].result_count) == (1, 0)


@pytest.mark.parametrize("term", ["5", "key-of-row-5"])
def test_a_row_is_found_by_its_number_or_key_within_its_map(
    client: Client, world: World, term: str
) -> None:
    found = client.get(list_of("RowState"), {"frame": world.frame.pk, "q": term})
    missed = client.get(list_of("RowState"), {"frame": world.frame.pk, "q": "6"})
    assert [row.pk for row in found.context["cl"].result_list] == [world.row.pk]
    assert missed.context["cl"].result_count == 0


def test_a_run_is_found_by_its_id_and_by_its_play(client: Client, world: World) -> None:
    for term in (str(world.run.pk), "work addr"):
        answer = client.get(list_of("Run"), {"q": term})
        assert [run.pk for run in answer.context["cl"].result_list] == [world.run.pk]
    assert client.get(list_of("Run"), {"q": "other"}).context["cl"].result_count == 0


def test_log_lines_are_searched_by_text_within_a_run(client: Client, world: World) -> None:
    LogLine.objects.create(
        run=world.run, sequence=2, at="2026-01-05T00:00Z", level="info", text="Paused"
    )
    answer = client.get(list_of("LogLine"), {"run": world.run.pk, "q": "pause"})
    assert [line.text for line in answer.context["cl"].result_list] == ["Paused"]


def test_runs_are_filtered_by_status_and_reason(client: Client, world: World) -> None:
    make_run(world.revision, world.admin, status="paused", stop_reason="limit")
    make_run(world.revision, world.admin, status="paused", stop_reason="person")
    paused = client.get(list_of("Run"), {"status__exact": "paused"})
    limited = client.get(list_of("Run"), {"status__exact": "paused", "stop_reason": "limit"})
    assert (paused.context["cl"].result_count, limited.context["cl"].result_count) == (2, 1)


def test_what_is_stored_is_shown_as_text(client: Client, world: World) -> None:
    for name in ("RowState", "LogLine", "ToolCall", "CheckpointEntry"):
        for address in (list_of(name), page_of(first_of(name))):
            page = client.get(address).text
            assert HOSTILE not in page
            assert "&lt;script&gt;" in page


def test_a_list_shows_the_beginning_and_the_page_the_whole(client: Client, world: World) -> None:
    assert "the end" not in client.get(list_of("RowState")).text
    assert "the end" in client.get(page_of(world.row)).text


def test_json_is_shown_indented(client: Client, world: World) -> None:
    assert "{\n  &quot;email&quot;: {\n" in client.get(page_of(world.row)).text


def test_a_source_is_highlighted_and_escaped(client: Client, world: World) -> None:
    page = client.get(page_of(world.revision)).text
    assert '<span class="kn">import</span>' in page
    assert "&lt;b&gt;kept as text&lt;/b&gt;" in page
    assert "<b>kept as text</b>" not in page


def test_a_bundle_shows_its_files(client: Client, world: World) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("play.py", "import math\n")
        bundle.writestr("lookup/rules.py", "RULES = 3\n")
    revision = make_revision(
        world.play,
        2,
        world.admin,
        format=Revision.Format.BUNDLE,
        filename="addresses.zip",
        source=archive.getvalue(),
    )
    page = client.get(page_of(revision)).text
    assert "lookup/rules.py" in page
    assert "RULES" in page


def test_a_broken_bundle_has_a_page(client: Client, world: World) -> None:
    revision = make_revision(
        world.play,
        2,
        world.admin,
        format=Revision.Format.BUNDLE,
        filename="broken.zip",
        source=b"PK no archive",
    )
    assert "This bundle cannot be read." in client.get(page_of(revision)).text


def test_a_run_leads_to_everything_recorded_of_it(client: Client, world: World) -> None:
    page = client.get(page_of(world.run)).text
    assert f'href="/runs/{world.run.pk}/"' in page
    assert list_of("RowState", f"?frame={world.frame.pk}") in page
    for name in ("MapFrame", "ToolCall", "RunParticipant", "Receipt", "LogLine", "Boundary"):
        assert list_of(name, f"?run={world.run.pk}") in page


def test_secrets_and_files_are_shown_nowhere(client: Client, world: World, settings: Any) -> None:
    pages = [client.get(list_of(name)).text for name in PAGES]
    pages += [client.get(page_of(first_of(name))).text for name in PAGES]
    for secret in (CLAIM, CHUNK.decode(), PASSWORD, settings.SECRET_KEY):
        assert not any(secret in page for page in pages)


@pytest.mark.parametrize(
    "name", ["Run", "RunUsage", "LogLine", "MapFrame", "Revision", "Upload", "ToolCall"]
)
def test_a_list_asks_no_more_for_more_records(client: Client, world: World, name: str) -> None:
    client.get(list_of(name))
    with CaptureQueriesContext(connection) as few:
        client.get(list_of(name))
    for number in range(2, 12):
        more_records(world, number)
    with CaptureQueriesContext(connection) as many:
        answer = client.get(list_of(name))
    assert answer.context["cl"].result_count == 11
    assert len(many) == len(few)


def more_records(world: World, number: int) -> None:
    revision = make_revision(world.play, number, world.admin)
    run = make_run(revision, world.admin)
    make_upload(world.workspace, world.admin)
    LogLine.objects.create(run=run, sequence=1, at=run.created_at, level="info", text="Begun")
    MapFrame.objects.create(run=run, path="leads", table="leads", columns=[], fields=[])
    ToolCall.objects.create(
        key=f"{number:064x}", workspace=world.workspace, run=run, tool="t", provider="p", input={}
    )


@pytest.mark.parametrize("name", ["Run", "RunUsage", "ToolCall", "RowState"])
def test_a_list_leaves_large_columns_in_the_database(client: Client, name: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        client.get(list_of(name))
    heavy = re.compile(r'"plays_\w+"\."(input|data|cells|result|error|limits|source|pipeline)"[ ,]')
    assert not [query["sql"] for query in asked if heavy.search(query["sql"])]


def test_a_call_whose_run_is_gone_is_shown(client: Client, world: World) -> None:
    call = ToolCall.objects.get()
    ToolCall.objects.update(run="00000000-0000-4000-8000-000000000000")
    assert page_of(call) in client.get(list_of("ToolCall")).text
    assert client.get(page_of(call)).status_code == 200
    ToolCall.objects.update(run=None)


@pytest.mark.parametrize("name", PAGES)
def test_pages_hold_nothing_that_the_policy_refuses(client: Client, name: str) -> None:
    for address in (list_of(name), page_of(first_of(name))):
        page = client.get(address).text
        assert not re.search(r"<style|<script(?![^>]*\ssrc=)[^>]*>| on\w+=\"| style=\"", page)


def test_the_index_is_grouped_by_what_a_person_looks_for(client: Client) -> None:
    page = client.get(reverse("admin:index")).text
    assert "Deepline administration" in page
    headings = ["Runs", "Gateway", "Plays and files", "Limits", "Durability", "Queues and workers"]
    places = [page.index(f">{heading}</a>") for heading in headings]
    assert places == sorted(places)


@pytest.mark.parametrize("name", PAGES)
def test_whoever_is_not_staff_gets_the_login(world: World, name: str) -> None:
    person = User.objects.create_user("charlie")
    for client in (Client(), signed_in(person)):
        for address in (list_of(name), page_of(first_of(name))):
            answer = client.get(address)
            assert answer.status_code == 302
            assert answer["Location"] == f"/admin/login/?next={address}"


@pytest.mark.parametrize("name", PAGES)
def test_staff_see_only_what_they_were_given(world: World, name: str) -> None:
    person = User.objects.create_user("dana", is_staff=True)
    client = signed_in(person)
    assert client.get(list_of(name)).status_code == 403
    person.user_permissions.add(Permission.objects.get(codename=f"view_{name.lower()}"))
    assert client.get(list_of(name)).status_code == 200
    assert client.get(page_of(first_of(name))).status_code == 200
