"""The list of runs, and the form that starts one."""

from __future__ import annotations

import re
import uuid
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from django.http import HttpResponse

from plays.models import GovernanceProfile, Revision, Run
from plays.services.revisions import revision_publish
from plays.services.runs import run_start
from plays.services.uploads import upload_accept
from tests.integration.cast import PLAY, SCHEMA_PLAY, Cast, set_role, signed_in
from tests.integration.together import at_once


def form_page(cast: Cast, query: str = "") -> str:
    answer = signed_in(cast.alice).get(f"/plays/{cast.revision.play_id}/run/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def hidden(page: str, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def press_start(cast: Cast, of: Revision | None = None, **form: Any) -> HttpResponse:
    revision = of or cast.revision
    address = f"/plays/{revision.play_id}/run/"
    return signed_in(cast.alice).post(address, {"revision": str(revision.number), **form})


@pytest.fixture
def segment(cast: Cast) -> Revision:
    return revision_publish(cast.workspace, cast.alice, "segment.py", SCHEMA_PLAY.encode())


def test_the_form_asks_for_a_file_first(cast: Cast) -> None:
    page = form_page(cast)
    assert "Drop a CSV file here" in page
    assert "leads.csv" in page
    assert "Choose a file first." in page


def test_a_chosen_file_is_shown_before_the_run(cast: Cast) -> None:
    page = form_page(cast, f"?leads={cast.upload.pk}")
    assert "acme.example" in page
    assert hidden(page, "file-leads") == str(cast.upload.pk)
    assert "Choose a file first." not in page


@pytest.mark.parametrize("query", ["?leads=x", f"?leads={uuid.uuid4()}", "?leads="])
def test_a_file_that_is_not_there_is_not_chosen(cast: Cast, query: str) -> None:
    assert "Choose a file first." in form_page(cast, query)


def test_a_file_of_another_workspace_is_not_chosen(cast: Cast) -> None:
    cast.upload.workspace = cast.charlie.membership_set.get().workspace
    cast.upload.save()
    page = form_page(cast, f"?leads={cast.upload.pk}")
    assert "leads.csv" not in page


def test_a_file_without_the_columns_of_the_row_key_gets_a_warning(cast: Cast) -> None:
    assert "has no column" not in form_page(cast, f"?leads={cast.upload.pk}")
    other = upload_accept(cast.workspace, cast.alice, BytesIO(b"name,domain\na,b\n"), "x.csv")
    page = form_page(cast, f"?leads={other.pk}")
    assert "This file has no column first_name, last_name, which" in page


def test_limits_are_told_for_the_rows_of_the_file(cast: Cast) -> None:
    GovernanceProfile.objects.update_or_create(
        is_default=True, defaults={"name": "Default", "max_credits": "12.50"}
    )
    page = form_page(cast, f"?leads={cast.upload.pk}")
    for part in ("540", "500 + 20 per row", "204", "12.5"):
        assert part in page


def test_starting_leads_to_the_run(cast: Cast) -> None:
    answer = press_start(cast, **{"file-leads": str(cast.upload.pk)})
    run = Run.objects.get()
    assert answer.headers["Location"] == f"/runs/{run.pk}/"
    assert (run.input, run.created_by) == (cast.leads, cast.alice)


def test_two_presses_of_start_make_one_run(cast: Cast) -> None:
    page = form_page(cast, f"?leads={cast.upload.pk}")
    form = {name: hidden(page, name) for name in ("token", "file-leads")}
    first, second = press_start(cast, **form), press_start(cast, **form)
    assert first.headers["Location"] == second.headers["Location"]
    assert Run.objects.count() == 1


def test_two_presses_at_once_make_one_run(committed_cast: Cast) -> None:
    # case D10
    cast = committed_cast
    page = form_page(cast, f"?leads={cast.upload.pk}")
    form = {name: hidden(page, name) for name in ("token", "file-leads")}
    at_once([partial(press_start, cast, **form)] * 3)
    assert Run.objects.count() == 1


def test_the_revision_that_was_shown_is_the_one_that_runs(cast: Cast) -> None:
    changed = PLAY.replace("Find e-mails", "Find them").encode()
    revision_publish(cast.workspace, cast.alice, "find_emails.py", changed)
    press_start(cast, **{"file-leads": str(cast.upload.pk)})
    assert Run.objects.get().revision == cast.revision


@pytest.mark.parametrize("number", ["", "x", "7", "9" * 20])
def test_a_revision_that_is_not_there_cannot_be_run(cast: Cast, number: str) -> None:
    answer = press_start(cast, **{"revision": number, "file-leads": str(cast.upload.pk)})
    assert answer.status_code == 404
    assert not Run.objects.exists()


def test_starting_without_a_file_is_told_beside_it(cast: Cast) -> None:
    answer = press_start(cast)
    assert answer.status_code == 422
    assert "Choose a CSV file." in answer.content.decode()
    assert not Run.objects.exists()


def test_the_form_has_the_plays_inputs_in_their_order(cast: Cast, segment: Revision) -> None:
    address = f"/plays/{segment.play_id}/run/"
    page = signed_in(cast.alice).get(address).content.decode()
    names = ["input-minimum", "input-market", "input-tags", "input-strict"]
    positions = [page.index(f'name="{name}"') for name in names]
    assert positions == sorted(positions)
    assert "Fewest employees" in page


def test_inputs_get_the_types_of_the_schema(cast: Cast, segment: Revision) -> None:
    form = {
        "file-companies": str(cast.upload.pk),
        "input-minimum": "5",
        "input-market": '"Asia"',
        "input-tags": '["a"]',
        "input-strict": "on",
    }
    assert press_start(cast, segment, **form).status_code == 302
    assert Run.objects.get().input == {
        "companies": cast.upload.ref,
        "minimum": 5,
        "market": "Asia",
        "tags": ["a"],
        "strict": True,
    }


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"input-minimum": ""}, "This field is required."),
        ({"input-minimum": "many"}, "Enter a whole number."),
        ({"input-minimum": "0"}, "greater than or equal to 1"),
        ({"input-market": '"Mars"'}, "not one of the available choices"),
        ({"input-tags": "[a"}, "This is no JSON"),
        ({"input-tags": "[1]"}, "At 0: 1 is not of type"),
    ],
)
def test_a_wrong_input_is_told_beside_it_and_nothing_starts(
    cast: Cast, segment: Revision, wrong: dict[str, str], sentence: str
) -> None:
    form = {"file-companies": str(cast.upload.pk), "input-minimum": "5", **wrong}
    answer = press_start(cast, segment, **form)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert sentence in page.replace("&#x27;", "'")
    assert "acme.example" in page
    assert not Run.objects.exists()


def test_the_list_shows_the_newest_first(cast: Cast) -> None:
    runs = [run_start(cast.revision, cast.alice, cast.leads) for _ in range(2)]
    page = signed_in(cast.bob).get("/runs/").content.decode()
    assert page.index(str(runs[1].pk)) < page.index(str(runs[0].pk))


def test_the_list_is_filtered_by_status_and_play(cast: Cast, segment: Revision) -> None:
    run = run_start(cast.revision, cast.alice, cast.leads)
    other = run_start(segment, cast.alice, {"companies": cast.upload.ref, "minimum": 5})
    Run.objects.filter(pk=other.pk).update(status="failed")
    client = signed_in(cast.bob)
    for query, shown in (
        ("", {run, other}),
        ("?status=failed", {other}),
        ("?status=queued", {run}),
        (f"?play={segment.play_id}", {other}),
        (f"?play={segment.play_id}&status=queued", set()),
        ("?status=nonsense&play=x", {run, other}),
    ):
        page = client.get(f"/runs/{query}").content.decode()
        assert {each for each in (run, other) if str(each.pk) in page} == shown


def test_an_empty_list_says_what_to_do(cast: Cast) -> None:
    client = signed_in(cast.bob)
    assert "Choose a play to run" in client.get("/runs/").content.decode()
    assert "No run fits" in client.get("/runs/?status=failed").content.decode()


def test_the_list_is_paged_and_keeps_its_filter(cast: Cast) -> None:
    for _ in range(51):
        run_start(cast.revision, cast.alice, cast.leads)
    page = signed_in(cast.bob).get("/runs/?status=queued").content.decode()
    assert "1 to 50 of 51 runs" in page
    assert 'href="?status=queued&amp;page=2"' in page


def test_runs_that_other_runs_started_are_not_in_the_list(cast: Cast) -> None:
    run = run_start(cast.revision, cast.alice, cast.leads)
    child = run_start(cast.revision, cast.alice, cast.leads)
    Run.objects.filter(pk=child.pk).update(parent=run)
    assert str(child.pk) not in signed_in(cast.bob).get("/runs/").content.decode()


def test_a_runner_may_use_the_form(cast: Cast) -> None:
    set_role(cast.bob, "runner")
    assert signed_in(cast.bob).get(f"/plays/{cast.revision.play_id}/run/").status_code == 200


def test_a_list_of_many_runs_takes_few_queries(
    cast: Cast, django_assert_max_num_queries: Any
) -> None:
    for _ in range(20):
        run_start(cast.revision, cast.alice, cast.leads)
    client = signed_in(cast.bob)
    with django_assert_max_num_queries(15):
        client.get("/runs/")
    with django_assert_max_num_queries(15):
        client.get("/")
