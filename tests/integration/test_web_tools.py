"""The page of tools: the catalogue under the policies of now."""

from __future__ import annotations

from decimal import Decimal

from django.test import Client

from plays.models import ToolPolicy
from plays.tools import catalogue
from tests.integration.cast import Cast, signed_in


def test_every_tool_is_shown_with_what_it_costs(cast: Cast) -> None:
    page = signed_in(cast.bob).get("/tools/").content.decode()
    for tool in catalogue().ids():
        assert f"<code>{tool}</code>" in page
    assert "0.2" in page


def test_a_policy_changes_the_page_at_once(cast: Cast) -> None:
    ToolPolicy.objects.create(
        provider="sandbox_a", is_enabled=False, price=Decimal("0.75"), batch_size=17
    )
    page = signed_in(cast.alice).get("/tools/").content.decode()
    row = page.partition("<td><code>sandbox_a_email_finder</code>")[2].partition("</tr>")[0]
    assert "0.75" in row
    assert '<td class="number">17</td>' in row
    assert "switched off" in row


def test_fetching_is_a_tool_that_can_be_switched_off(cast: Cast) -> None:
    ToolPolicy.objects.create(provider="http", is_enabled=False)
    page = signed_in(cast.alice).get("/tools/").content.decode()
    row = page.partition("<td><code>http_fetch</code>")[2].partition("</tr>")[0]
    assert "response" in row
    assert "http_fetch is switched off (Tool policies, http)" in row


def test_strangers_are_asked_to_sign_in_and_people_without_a_workspace_see_nothing(
    cast: Cast,
) -> None:

    assert Client().get("/tools/").status_code == 302
    assert cast.alice.get_username() not in signed_in(cast.charlie).get("/tools/").content.decode()
