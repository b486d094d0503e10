"""The pages of waits: a run's list, a wait's form, and the page for somebody without an account."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from plays.models import Boundary, LateAnswer, Role
from plays.services import waittokens
from tests.fake_runs import FakeRun, make_run
from tests.integration.cast import Cast, set_role, signed_in
from tests.integration.waits import FORM, make_wait

pytestmark = pytest.mark.django_db


@pytest.fixture
def fake(cast: Cast) -> FakeRun:
    """A running run with one map of 5 rows in Alice's workspace."""
    fake = make_run(cast.workspace, cast.alice)
    fake.add_map(5)
    return fake


def page_of(wait: Boundary, of: Boundary | None = None) -> str:
    """Give the address that somebody outside gets; with another wait's token where told."""
    return f"/waits/{wait.pk}/?token={waittokens.issue((of or wait).pk)}"


def fields(wait: Boundary, **values: Any) -> dict[str, Any]:
    """Give what a browser sends for a wait's form."""
    return {f"wait-{wait.pk}-{name}": value for name, value in values.items()}


def stored(wait: Boundary) -> tuple[str, Any]:
    wait.refresh_from_db()
    return wait.status, wait.payload


def test_somebody_outside_reads_answers_and_is_thanked(fake: FakeRun) -> None:
    wait = make_wait(fake, form=FORM, message="May <Ada> be greeted?")
    nobody = Client()
    shown = nobody.get(page_of(wait))
    text = shown.content.decode()
    assert shown.status_code == 200
    assert "no-store" in shown["Cache-Control"]
    assert "May &lt;Ada&gt; be greeted?" in text
    assert wait.due_at.strftime("%H:%M UTC") in text
    assert "Approve" in text
    assert str(fake.run.pk) not in text
    told = nobody.post(page_of(wait), fields(wait, approved="on", note="fine"))
    assert told.status_code == 200
    assert "Thank you" in told.content.decode()
    assert stored(wait) == ("received", {"approved": True, "note": "fine"})
    assert "Answered already" in nobody.get(page_of(wait)).content.decode()


def test_a_wait_without_a_form_offers_yes_no_and_json(fake: FakeRun) -> None:
    for sent, payload in (
        ({"answer": "yes"}, True),
        ({"answer": "no"}, False),
        ({"answer": "json", "json": '{"a": [1]}'}, {"a": [1]}),
    ):
        wait = make_wait(fake)
        told = {name: value for name, value in sent.items() if name == "answer"}
        told |= fields(wait, json=sent.get("json", ""))
        assert Client().post(page_of(wait), told).status_code == 200
        assert stored(wait) == ("received", payload)


def test_what_does_not_fit_is_told_beside_its_field(fake: FakeRun) -> None:
    wait = make_wait(fake, form={**FORM, "required": ["approved", "note"]})
    told = Client().post(page_of(wait), fields(wait, approved="on"))
    assert told.status_code == 422
    assert "This field is required." in told.content.decode()
    free = make_wait(fake)
    told = Client().post(page_of(free), {"answer": "json"} | fields(free, json="{no"))
    assert told.status_code == 422
    assert "This is no JSON" in told.content.decode()
    assert (stored(wait)[0], stored(free)[0]) == ("open", "open")


def test_a_form_that_asks_for_more_than_fields_can_say_is_checked_whole(fake: FakeRun) -> None:
    wait = make_wait(
        fake, form={**FORM, "properties": {"note": {"type": "string", "pattern": "^a"}}}
    )
    told = Client().post(page_of(wait), fields(wait, note="b"))
    assert told.status_code == 422
    assert "does not match" in told.content.decode()
    assert stored(wait)[0] == "open"


def test_too_late_and_answered_by_another_are_told(fake: FakeRun) -> None:
    wait = make_wait(fake, seconds=-1)
    told = Client().post(page_of(wait), {"answer": "yes"})
    assert told.status_code == 409
    assert "Too late" in told.content.decode()
    assert LateAnswer.objects.get().payload is True
    other = make_wait(fake)
    Client().post(page_of(other), {"answer": "yes"})
    told = Client().post(page_of(other), {"answer": "no"})
    assert told.status_code == 409
    assert "answered already" in told.content.decode()
    assert stored(other) == ("received", True)


def test_a_token_opens_its_own_wait_only(fake: FakeRun, cast: Cast) -> None:
    wait, other = make_wait(fake), make_wait(fake)
    for client in (Client(), signed_in(cast.charlie)):
        assert client.get(page_of(wait, of=other)).status_code == 404
        assert client.get(f"/waits/{wait.pk}/?token=forged").status_code == 404
        assert client.post(page_of(wait, of=other), {"answer": "yes"}).status_code == 404
    assert Client().get(f"/waits/{wait.pk}/")["Location"].startswith("/login/")
    assert signed_in(cast.charlie).get(page_of(wait)).status_code == 200


def test_members_see_and_runners_answer(fake: FakeRun, cast: Cast) -> None:
    wait = make_wait(fake)
    addresses = (f"/waits/{wait.pk}/", f"/waits/{wait.pk}/form/")
    for address in addresses:
        assert signed_in(cast.charlie).get(address).status_code == 404
        shown = signed_in(cast.bob).get(address).content.decode()
        assert "takes the role runner" in shown
        assert waittokens.issue(wait.pk) not in shown
        assert signed_in(cast.bob).post(address, {"answer": "yes"}).status_code == 403
    assert stored(wait)[0] == "open"
    set_role(cast.bob, Role.RUNNER)
    shown = signed_in(cast.bob).get(addresses[1]).content.decode()
    assert waittokens.issue(wait.pk) in shown
    assert signed_in(cast.bob).post(addresses[1], {"answer": "yes"}).status_code == 200
    assert stored(wait) == ("received", True)
    assert wait.answered_by == cast.bob


def test_the_list_of_waits_comes_in_pages(fake: FakeRun, cast: Cast) -> None:
    # case S4
    waits = [make_wait(fake, 1, seconds=1000 + n, message=f"Number {n}?") for n in range(51)]
    make_wait(fake, seconds=-1, message="long gone")
    make_wait(fake, seconds=5, event=None, message=None)
    address = f"/runs/{fake.run.pk}/waits/"
    first = signed_in(cast.alice).get(address).content.decode()
    assert first.count('class="wait"') == 50
    assert "1 to 50 of 52" in first
    assert "leads, row 2" in first
    assert waits[0].due_at.isoformat() in first
    second = signed_in(cast.alice).get(f"{address}?page=2").content.decode()
    assert "Number 50?" in second
    assert "Sleeps" in second
    assert "long gone" not in first + second
    assert signed_in(cast.charlie).get(address).status_code == 404
    assert "data-wait-open" not in signed_in(cast.bob).get(address).content.decode()


def test_tokens_reach_no_log(fake: FakeRun, cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    wait = make_wait(fake)
    token = waittokens.issue(wait.pk)
    for address in (f"/waits/{wait.pk + 99}/?token={token}", f"/api/v1/waits/9?token={token}"):
        assert Client().get(address).status_code == 404
    Client().post(f"/api/v1/waits/{wait.pk}?token={token}", "{", content_type="application/json")
    assert caplog.records
    assert token not in caplog.text
