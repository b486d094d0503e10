"""Raising the limits of one run, which acts at once, and profiles, which act on the next run."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.urls import reverse

from plays.models import GovernanceProfile, MapFrame, Run
from plays.services.limits import run_limits_raise
from plays.services.refusals import Refused
from plays.services.runs import run_start
from tests.integration.admin_world import World, build_world, make_run, signed_in


@pytest.fixture
def world(db: None) -> World:
    return build_world()


@pytest.fixture
def client(world: World) -> Client:
    return signed_in(world.admin)


def form_of(run: Run) -> str:
    return reverse("admin:plays_run_limits", args=(run.pk,))


def given(run: Run, **changed: object) -> dict[str, Any]:
    """What the form sends where only some limits were changed."""
    present = {name: value for name, value in run.limits.items() if value is not None}
    return {**present, **changed}


def limits_of(run: Run) -> dict[str, Any]:
    return Run.objects.get(pk=run.pk).limits


def messages_logged() -> list[str]:
    return [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]


def profile_page(profile: GovernanceProfile) -> str:
    return reverse("admin:plays_governanceprofile_change", args=(profile.pk,))


def profile_form(profile: GovernanceProfile, **changed: object) -> dict[str, Any]:
    columns = GovernanceProfile.objects.filter(pk=profile.pk).values()[0]
    sent = {name: value for name, value in columns.items() if value not in (None, False)}
    sent |= {name: value for name, value in changed.items() if value is not None}
    return {name: value for name, value in sent.items() if changed.get(name, value) is not None}


# One run


def test_the_form_shows_each_limit_with_what_is_used(client: Client, world: World) -> None:
    page = client.get(form_of(world.run))
    form = page.context["form"]
    assert list(form.fields) == [
        field.name
        for field in GovernanceProfile._meta.fields
        if world.run.limits.get(field.name) is not None
    ]
    assert {field.name: used for field, used in form.lines}["max_tool_call_count"] == 500
    assert "max_tool_calls_per_row is added for each of 25 rows." in page.text
    assert "This run has no limit for" in page.text


def test_a_limit_is_raised_once_it_is_confirmed(client: Client, world: World) -> None:
    sent = given(world.run, max_tool_call_count=800, max_retries_per_row=5)
    asked = client.post(form_of(world.run), sent)
    assert "They cannot be lowered again." in asked.text
    assert limits_of(world.run) == world.run.limits
    done = client.post(form_of(world.run), {**sent, "confirmed": "yes"}, follow=True)
    raised = {"max_tool_call_count": 800, "max_retries_per_row": 5}
    assert limits_of(world.run) == world.run.limits | raised
    assert "It holds from the next reservation on." in done.text
    (told,) = messages_logged()
    assert "max_tool_call_count from 500 to 800" in told
    assert "max_retries_per_row from 2 to 5" in told


def test_the_confirmation_carries_what_it_asks_about(client: Client, world: World) -> None:
    sent = given(world.run, max_tool_call_count=800)
    form = client.post(form_of(world.run), sent).context["form"]
    hidden = {field.html_name: field.value() for field in form}
    client.post(form_of(world.run), {**hidden, "confirmed": "yes"})
    assert limits_of(world.run)["max_tool_call_count"] == 800


def test_going_back_from_the_confirmation_keeps_the_values(client: Client, world: World) -> None:
    sent = given(world.run, max_tool_call_count=800)
    page = client.post(form_of(world.run), {**sent, "change": "yes"})
    assert 'name="max_tool_call_count" value="800"' in page.text
    assert "They cannot be lowered again." not in page.text


def test_a_raised_limit_is_what_the_gateway_reads(client: Client, world: World) -> None:
    sent = given(world.run, max_tool_call_count=800)
    client.post(form_of(world.run), {**sent, "confirmed": "yes"})
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (limits->>'max_tool_call_count')::numeric FROM plays_run WHERE id = %s",
            [world.run.pk],
        )
        assert cursor.fetchone() == (800,)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"max_tool_call_count": 499},
            "max_tool_call_count is 500; it can be raised, not lowered.",
        ),
        ({"max_tool_call_count": ""}, "This field is required."),
        ({"max_tool_call_count": "many"}, "Enter a whole number."),
        ({"max_tool_call_count": -1}, "Ensure this value is greater than or equal to 0."),
        ({"max_tool_call_count": 2**31}, "Ensure this value is less than or equal to 2147483647."),
        ({}, "Nothing was raised: give at least one limit a higher value."),
    ],
)
def test_what_raises_nothing_is_told(
    client: Client, world: World, changed: dict[str, object], sentence: str
) -> None:
    sent = given(world.run, **changed)
    for more in ({}, {"confirmed": "yes"}):
        assert sentence in client.post(form_of(world.run), {**sent, **more}).text
    assert limits_of(world.run) == world.run.limits
    assert messages_logged() == []


def test_a_limit_of_credits_is_raised_and_taken_away(client: Client, world: World) -> None:
    run = make_run(world.revision, world.admin)
    Run.objects.filter(pk=run.pk).update(limits={**run.limits, "max_credits": 12.5})
    run.refresh_from_db()
    client.post(form_of(run), {**given(run, max_credits="20.25"), "confirmed": "yes"})
    assert limits_of(run)["max_credits"] == 20.25
    run.refresh_from_db()
    client.post(form_of(run), {**given(run, max_credits=""), "confirmed": "yes"})
    assert limits_of(run)["max_credits"] is None
    assert messages_logged() == [
        "Raised max_credits from 12.5 to 20.25.",
        "Raised max_credits from 20.25 to no limit.",
    ]


def test_a_run_paused_for_a_limit_is_told_to_be_resumable(client: Client, world: World) -> None:
    run = make_run(world.revision, world.admin, status="paused", stop_reason="limit")
    sent = {**given(run, max_tool_call_count=800), "confirmed": "yes"}
    page = client.post(form_of(run), sent, follow=True).text
    assert "This run is paused for a limit: it can be resumed now." in page
    assert reverse("admin:plays_run_ask", args=(run.pk, "resume")) in page


def test_the_list_leads_to_the_form_of_one_run(client: Client, world: World) -> None:
    where = reverse("admin:plays_run_changelist")
    chosen = {"action": "raise_limits", "_selected_action": [str(world.run.pk)]}
    assert client.post(where, chosen)["Location"] == form_of(world.run)
    other = make_run(world.revision, world.admin)
    chosen["_selected_action"].append(str(other.pk))  # type: ignore[attr-defined]
    assert "Choose one run to raise its limits." in client.post(where, chosen, follow=True).text


def test_a_run_that_is_over_and_a_child_keep_their_limits(client: Client, world: World) -> None:
    over = make_run(world.revision, world.admin, status="completed")
    child = make_run(world.revision, world.admin, parent=world.run, root=world.run)
    for run, sentence in ((over, "mean nothing any more"), (child, "belong to the root run")):
        sent = {**given(run, max_tool_call_count=800), "confirmed": "yes"}
        assert sentence in client.post(form_of(run), sent).text
        assert limits_of(run) == run.limits


def test_of_two_who_raise_at_once_the_second_looks_again(world: World) -> None:
    first, second = Run.objects.get(pk=world.run.pk), Run.objects.get(pk=world.run.pk)
    run_limits_raise(first, {"max_tool_call_count": 900})
    with pytest.raises(Refused, match="Somebody changed this run meanwhile"):
        run_limits_raise(second, {"max_tool_call_count": 800})
    assert limits_of(world.run)["max_tool_call_count"] == 900


def test_rows_of_the_whole_tree_are_told(client: Client, world: World) -> None:
    child = make_run(world.revision, world.admin, parent=world.run, root=world.run)
    MapFrame.objects.create(
        run=child, path="c", table="c", columns=[], fields=[], is_sealed=True, total=5
    )
    assert "for each of 30 rows." in client.get(form_of(world.run)).text


# Profiles


def test_a_profile_acts_on_the_next_run_only(client: Client, world: World) -> None:
    before = run_start(world.revision, world.admin, {})
    client.post(profile_page(world.profile), profile_form(world.profile, max_tool_call_count=700))
    after = run_start(world.revision, world.admin, {})
    assert limits_of(before)["max_tool_call_count"] == 500
    assert limits_of(after)["max_tool_call_count"] == 700


def test_marking_another_profile_moves_the_default(client: Client, world: World) -> None:
    small = GovernanceProfile.objects.create(name="Small", max_tool_call_count=10)
    client.post(profile_page(small), profile_form(small, is_default="on"))
    assert list(GovernanceProfile.objects.filter(is_default=True)) == [small]
    run = run_start(world.revision, world.admin, {})
    assert limits_of(run)["max_tool_call_count"] == 10


def test_a_profile_is_added(client: Client, world: World) -> None:
    sent = profile_form(world.profile, name="Large", is_default=None, max_credits="5000.5")
    client.post(reverse("admin:plays_governanceprofile_add"), sent)
    large = GovernanceProfile.objects.get(name="Large")
    assert (large.is_default, float(large.max_credits or 0)) == (False, 5000.5)


def test_there_is_always_a_default(client: Client, world: World) -> None:
    sent = profile_form(world.profile, is_default=None)
    page = client.post(profile_page(world.profile), sent).text
    assert "One profile is always the default: mark another one instead." in page
    where = reverse("admin:plays_governanceprofile_delete", args=(world.profile.pk,))
    assert client.post(where, {"post": "yes"}).status_code == 403
    client.post(
        reverse("admin:plays_governanceprofile_changelist"),
        {"action": "delete_selected", "_selected_action": [world.profile.pk], "post": "yes"},
    )
    assert GovernanceProfile.objects.get().is_default


def test_two_profiles_of_one_name_are_refused(client: Client, world: World) -> None:
    sent = profile_form(world.profile, is_default=None)
    page = client.post(reverse("admin:plays_governanceprofile_add"), sent).text
    assert "Governance profile with this Name already exists." in page
