"""Tool policies are checked before they are stored, and what is stored is what calls go by at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from plays.models import ToolPolicy
from plays.tools.policies import specs_for
from tests.integration.admin_world import signed_in

TOOL = "sandbox_a_email_finder"
ADD = "admin:plays_toolpolicy_add"


@pytest.fixture
def client(db: None) -> Client:
    return signed_in(User.objects.create_superuser("olivia"))


def add(client: Client, **given: object) -> Any:
    sent = {"provider": "sandbox_a", "tool": TOOL, "is_enabled": "on", "windows": "[]"}
    return client.post(reverse(ADD), {**sent, **given})


def test_a_policy_acts_on_the_next_look_at_its_tool(client: Client) -> None:
    assert not specs_for([TOOL])[0].unusable
    answer = add(client, batch_size=7, price="0.25", linger_seconds="0.2")
    assert answer.status_code == 302
    (spec,) = specs_for([TOOL])
    assert spec.batch is not None
    assert (spec.batch.size, spec.price, spec.linger_seconds) == (7, 0.25, 0.2)


def test_a_provider_is_switched_off_and_on(client: Client) -> None:
    sent = {"provider": "sandbox", "windows": "[]"}
    client.post(reverse(ADD), sent)
    assert "switched off" in specs_for([TOOL])[0].unusable
    policy = ToolPolicy.objects.get()
    change = reverse("admin:plays_toolpolicy_change", args=(policy.pk,))
    client.post(change, {**sent, "initial-windows": "[]", "is_enabled": "on"})
    assert not specs_for([TOOL])[0].unusable
    told = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert told == ["Added.", "Changed Is enabled."]


@pytest.mark.parametrize("windows", ["[]", "", "[[10, 1]]", "[[10, 0.5], [5000, 86400]]"])
def test_windows_are_requests_in_seconds(client: Client, windows: str) -> None:
    assert add(client, windows=windows).status_code == 302
    assert not specs_for([TOOL])[0].unusable


@pytest.mark.parametrize(
    "windows",
    [
        "[10, 1]",
        "[[10]]",
        "[[10, 1, 1]]",
        "[[0, 1]]",
        "[[1.5, 1]]",
        "[[10, 0]]",
        "[[10, -1]]",
        "[[true, 1]]",
        '[["10", 1]]',
        '{"10": 1}',
        '"10 in 1"',
        "[null]",
    ],
)
def test_other_windows_are_refused_in_a_sentence(client: Client, windows: str) -> None:
    page = add(client, windows=windows).text
    assert "Write a list of [requests, seconds], such as [[10, 1], [500, 60]]." in page
    assert "Both numbers are above 0" in page
    assert not ToolPolicy.objects.exists()


def test_windows_that_are_no_json_are_refused(client: Client) -> None:
    assert "Enter a valid JSON." in add(client, windows="[[10, 1]").text


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"provider": "nobody"}, "Select a valid choice. nobody is not one of the"),
        ({"tool": "no_such_tool"}, "Select a valid choice. no_such_tool is not one of the"),
        ({"provider": "sandbox_b"}, f"{TOOL} is a tool of sandbox_a, not of sandbox_b."),
        ({"concurrency": 0}, "At least 1; switch the tool off to send nothing."),
        ({"batch_size": 0}, "At least 1; switch the tool off to send nothing."),
        ({"price": -1}, "A number of at least 0."),
        ({"linger_seconds": -1}, "A number of at least 0."),
        ({"linger_seconds": "nan"}, "Enter a number."),
        ({"hit_life_seconds": -1}, "Ensure this value is greater than or equal to 0."),
    ],
)
def test_what_cannot_be_obeyed_is_refused(
    client: Client, given: dict[str, object], sentence: str
) -> None:
    assert sentence in add(client, **given).text
    assert not ToolPolicy.objects.exists()


def test_one_policy_each(client: Client) -> None:
    add(client)
    assert "already exists" in add(client).text


def test_a_policy_of_a_tool_that_is_gone_can_be_looked_at_and_deleted(client: Client) -> None:
    gone = ToolPolicy.objects.create(provider="gone", tool="gone_finder")
    page = client.get(reverse("admin:plays_toolpolicy_change", args=(gone.pk,)))
    assert '<option value="gone_finder" selected>' in page.text
    client.post(reverse("admin:plays_toolpolicy_delete", args=(gone.pk,)), {"post": "yes"})
    assert not ToolPolicy.objects.exists()
