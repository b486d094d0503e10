"""Answers over the API: who may, what they do, and what comes too late."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from plays.api import schemas
from plays.models import Boundary, EarlyAnswer, LateAnswer, Role, RowState, Run, row_id
from plays.services import waittokens
from plays.services.leases import run_claim, run_finish
from plays.services.waits import EARLY_MOST, LATE_MOST, event_answer, wait_answer
from tests.fake_runs import FakeRun, make_run
from tests.integration.cast import Cast, set_role, signed_in
from tests.integration.host_runs import until
from tests.integration.together import at_once
from tests.integration.waits import FORM, answer, by_token, make_wait, post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def fake(committed_cast: Cast) -> FakeRun:
    """A running run with one map of 5 rows in Alice's workspace."""
    fake = make_run(committed_cast.workspace, committed_cast.alice)
    fake.add_map(5)
    return fake


@pytest.fixture
def alice(committed_cast: Cast) -> Client:
    return signed_in(committed_cast.alice)


def stored(wait: Boundary) -> tuple[str, Any]:
    wait.refresh_from_db()
    return wait.status, wait.payload


def row(fake: FakeRun, position: int) -> RowState:
    return RowState.objects.get(pk=row_id(fake.frame.pk, position))


def test_a_runner_answers_and_the_row_may_run_again(fake: FakeRun, committed_cast: Cast) -> None:
    set_role(committed_cast.alice, Role.RUNNER)
    wait = make_wait(fake, 2)
    before = fake.run.sequence
    told = answer(signed_in(committed_cast.alice), wait, {"yes": [1, None]})
    assert (told.status_code, told.json()["waits"]) == (200, 1)
    assert stored(wait) == ("received", {"yes": [1, None]})
    assert wait.answered_by == committed_cast.alice
    woken = row(fake, 2).wake_at
    assert woken is not None
    assert woken <= timezone.now()
    assert row(fake, 1).wake_at is None
    fake.run.refresh_from_db()
    assert fake.run.sequence > before
    assert fake.run.status == "running"


def test_an_answer_queues_a_run_that_only_waits(fake: FakeRun, alice: Client, valkey: Any) -> None:
    fake.set(status="waiting")
    assert answer(alice, make_wait(fake)).status_code == 200
    fake.run.refresh_from_db()
    assert fake.run.status == "queued"
    assert valkey.llen("rq:queue:runs") == 1


def test_a_paused_run_takes_answers_and_stays_paused(fake: FakeRun, alice: Client) -> None:
    fake.set(status="paused")
    wait = make_wait(fake)
    assert answer(alice, wait).status_code == 200
    assert stored(wait)[0] == "received"
    fake.run.refresh_from_db()
    assert fake.run.status == "paused"


def test_whoever_holds_the_token_answers_that_wait_alone(fake: FakeRun) -> None:
    wait, other = make_wait(fake), make_wait(fake)
    nobody = Client(enforce_csrf_checks=True)
    for header in (by_token(wait, of=other), {"Authorization": "Bearer forged:token"}):
        assert answer(nobody, wait, **header).status_code == 404
    assert nobody.get(f"/api/v1/waits/{wait.pk}?token=forged").status_code == 404
    assert stored(wait) == ("open", None)
    assert answer(nobody, wait, "by header", **by_token(wait)).status_code == 200
    assert stored(wait) == ("received", "by header")
    assert wait.answered_by is None
    address = f"/api/v1/waits/{other.pk}?token={waittokens.issue(other.pk)}"
    assert post(nobody, address, "by address").status_code == 200
    assert stored(other) == ("received", "by address")


def test_strangers_find_nothing_and_viewers_may_not(fake: FakeRun, committed_cast: Cast) -> None:
    wait = make_wait(fake)
    run = f"/api/v1/runs/{fake.run.pk}"
    charlie, bob = signed_in(committed_cast.charlie), signed_in(committed_cast.bob)
    assert charlie.get(f"/api/v1/waits/{wait.pk}").status_code == 404
    assert charlie.get(f"{run}/waits").status_code == 404
    assert answer(charlie, wait).status_code == 404
    assert post(charlie, f"{run}/events/ok", 1).status_code == 404
    assert answer(bob, wait).status_code == 403
    assert post(bob, f"{run}/events/ok", 1).status_code == 403
    assert bob.get(f"/api/v1/waits/{wait.pk}").json()["token"] is None
    assert answer(Client(), wait).status_code == 401
    assert stored(wait) == ("open", None)
    assert not LateAnswer.objects.exists()


def test_a_session_answers_only_from_our_own_pages(fake: FakeRun, committed_cast: Cast) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(committed_cast.alice)
    wait = make_wait(fake)
    assert answer(careful, wait).status_code == 403
    assert stored(wait) == ("open", None)


def test_the_same_answer_may_come_twice_and_another_may_not(fake: FakeRun, alice: Client) -> None:
    wait = make_wait(fake)
    answer(alice, wait, {"a": 1})
    again = answer(alice, wait, {"a": 1})
    assert (again.status_code, again.json()["waits"]) == (200, 0)
    for other in ({"a": 2}, {"a": True}):
        refused = answer(alice, wait, other)
        assert refused.status_code == 409
        assert "answered already" in refused.json()["detail"]
    assert stored(wait) == ("received", {"a": 1})
    assert [late.payload for late in LateAnswer.objects.order_by("id")] == [{"a": 2}, {"a": True}]


@pytest.mark.parametrize("by", ["person", "token"])
def test_a_late_answer_is_recorded_and_ignored(fake: FakeRun, alice: Client, by: str) -> None:
    # case S3
    wait = make_wait(fake, seconds=-1)
    header = by_token(wait) if by == "token" else {}
    client = Client() if by == "token" else alice
    refused = answer(client, wait, "late", **header)
    assert refused.status_code == 409
    assert refused.json()["detail"] == "This came too late: the wait has ended."
    assert stored(wait) == ("open", None)
    late = LateAnswer.objects.get()
    assert (late.boundary, late.payload, late.why) == (wait, "late", refused.json()["detail"])
    assert not EarlyAnswer.objects.exists()


def test_an_answer_to_a_run_that_is_over_is_late(fake: FakeRun, alice: Client) -> None:
    wait = make_wait(fake)
    fake.set(status="cancelled")
    refused = answer(alice, wait)
    assert refused.status_code == 409
    assert refused.json()["detail"] == "This came too late: the run is cancelled."
    assert alice.get(f"/api/v1/waits/{wait.pk}").json()["status"] == "over"
    assert post(alice, f"/api/v1/runs/{fake.run.pk}/events/new", 1).status_code == 409
    assert LateAnswer.objects.count() == 2


def test_late_answers_are_kept_once_each_and_not_without_end(fake: FakeRun, alice: Client) -> None:
    wait = make_wait(fake, seconds=-1)
    for n in range(LATE_MOST + 5):
        answer(alice, wait, n)
        answer(alice, wait, n)
    assert LateAnswer.objects.count() == LATE_MOST


def test_an_expired_token_opens_nothing_but_that_it_is_too_late(fake: FakeRun) -> None:
    wait = make_wait(fake, seconds=-1, message="secret", form=FORM)
    told = Client().get(f"/api/v1/waits/{wait.pk}", headers=by_token(wait)).json()
    assert (told["status"], told["message"], told["form"]) == ("timed_out", None, None)
    page = Client().get(f"/waits/{wait.pk}/?token={waittokens.issue(wait.pk)}")
    assert "Too late" in page.content.decode()
    assert "secret" not in page.content.decode()


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ({}, "approved: This input is required."),
        ({"approved": "yes"}, "approved: 'yes' is not of type 'boolean'."),
        (None, "None is not of type 'object'."),
        ({"approved": True, "note": "x" * 101}, "note: "),
    ],
)
def test_an_answer_must_fit_the_form(fake: FakeRun, alice: Client, payload: Any, told: str) -> None:
    wait = make_wait(fake, form=FORM)
    refused = answer(alice, wait, payload)
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith(told)
    assert stored(wait) == ("open", None)
    assert answer(alice, wait, {"approved": False}).status_code == 200


def test_a_form_that_is_no_schema_asks_for_nothing(fake: FakeRun, alice: Client) -> None:
    for form in ({"type": 5}, [1], {"properties": {"a": {"pattern": "("}}}):
        wait = make_wait(fake, form=form)
        assert alice.get(f"/api/v1/waits/{wait.pk}").json()["form"] is None
        assert answer(alice, wait, {"a": "b"}).status_code == 200


def test_a_payload_is_bounded_and_cleaned(fake: FakeRun, alice: Client) -> None:
    wait = make_wait(fake)
    assert "at most 256 kB" in answer(alice, wait, "x" * 300_000).json()["detail"]
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    told = answer(alice, wait, [deep, "a\x00b\ud800", 10**30])
    assert told.status_code == 200
    assert stored(wait)[1][1:] == ["a\ufffdb\ufffd", 10**30]


def test_bodies_that_are_no_answer_are_refused(fake: FakeRun, alice: Client) -> None:
    wait = make_wait(fake)
    address = f"/api/v1/waits/{wait.pk}"
    for body, status in (("{}", 422), ("[]", 422), ("{", 400), ("[" * 100_000, 400)):
        told = alice.post(address, body, content_type="application/json")
        assert told.status_code == status, body[:10]
    assert stored(wait) == ("open", None)


def test_a_sleep_is_answered_by_nobody(fake: FakeRun, alice: Client) -> None:
    wait = make_wait(fake, event=None, message=None)
    assert answer(alice, wait).json()["detail"] == "A sleep ends by itself: nothing answers it."


def test_an_event_answers_every_open_wait_for_it(fake: FakeRun, alice: Client) -> None:
    waits = [make_wait(fake, n, event="approve:acme.example/x") for n in range(3)]
    other = make_wait(fake)
    address = f"/api/v1/runs/{fake.run.pk}/events/approve:acme.example/x"
    told = post(alice, address, {"ok": 1})
    assert (told.status_code, told.json()["waits"]) == (200, 3)
    assert {stored(wait)[0] for wait in waits} == {"received"}
    assert stored(other)[0] == "open"
    assert [row(fake, n).wake_at is not None for n in range(4)] == [True, True, True, False]


def test_an_event_that_does_not_fit_one_form_answers_nothing(fake: FakeRun, alice: Client) -> None:
    waits = [make_wait(fake), make_wait(fake, form=FORM)]
    refused = post(alice, f"/api/v1/runs/{fake.run.pk}/events/ok", "text")
    assert refused.status_code == 422
    assert {stored(wait)[0] for wait in waits} == {"open"}


def test_an_early_event_is_kept_and_a_late_one_is_not(fake: FakeRun, alice: Client) -> None:
    # case S3
    address = f"/api/v1/runs/{fake.run.pk}/events/ok"
    kept = post(alice, address, 1)
    assert (kept.status_code, kept.json()["waits"]) == (200, 0)
    assert EarlyAnswer.objects.get().payload == 1
    make_wait(fake, seconds=-1)
    assert post(alice, address, 2).status_code == 409
    assert EarlyAnswer.objects.count() == 1
    assert LateAnswer.objects.get().payload == 2


def test_events_that_nobody_waits_for_are_kept_up_to_a_number(fake: FakeRun, alice: Client) -> None:
    EarlyAnswer.objects.bulk_create(
        EarlyAnswer(run=fake.run, event="e", at=timezone.now()) for _ in range(EARLY_MOST)
    )
    refused = post(alice, f"/api/v1/runs/{fake.run.pk}/events/e", 1)
    assert refused.status_code == 409
    assert "10,000 events" in refused.json()["detail"]


def test_of_two_answers_at_once_one_counts(fake: FakeRun) -> None:
    wait = make_wait(fake)
    told: list[bool] = []
    at_once([lambda n=n: told.append(wait_answer(wait, n).is_accepted) for n in range(4)])
    assert sorted(told) == [False, False, False, True]
    assert LateAnswer.objects.count() == 3


def is_blocked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_an_answer_that_meets_the_end_of_a_run_that_would_wait_queues_it(fake: FakeRun) -> None:
    fake.set(status="queued")
    participant = run_claim(fake.run.pk, "test")
    assert participant is not None
    wait = make_wait(fake)

    def finish() -> str | None:
        try:
            return run_finish(participant, {"status": "waiting"})
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as worker:
        with transaction.atomic():
            assert wait_answer(wait, 1).is_accepted
            finished = worker.submit(finish)
            until(is_blocked, "the end of the run to meet the answer")
        assert finished.result() == "queued"


def test_events_at_once_are_all_kept_in_one_order(fake: FakeRun) -> None:
    # case P3
    at_once([lambda n=n: event_answer(fake.run, "e", n) for n in range(8)])
    kept = list(EarlyAnswer.objects.order_by("id"))
    assert sorted(early.payload for early in kept) == list(range(8))
    assert sorted(kept, key=lambda early: early.at) == kept


def test_a_runs_waits_are_listed_open_ones_first_with_their_deadlines(
    fake: FakeRun, alice: Client
) -> None:
    # case S4
    late = make_wait(fake, seconds=-5)
    later, sooner = make_wait(fake, 1, seconds=900), make_wait(fake, seconds=300, form=FORM)
    sleep = make_wait(fake, 2, seconds=100, event=None, message=None)
    address = f"/api/v1/runs/{fake.run.pk}/waits"
    told = alice.get(address).json()
    assert schemas.Waits.model_validate(told).total == 4
    assert [one["id"] for one in told["waits"]] == [sooner.pk, later.pk, sleep.pk, late.pk]
    assert all(one["due_at"] for one in told["waits"])
    first, second, third, last = told["waits"]
    assert first["form"] == FORM
    assert second["place"] == {"frame": fake.frame.pk, "title": "leads", "position": 1}
    assert (third["token"], last["token"], last["status"]) == (None, None, "timed_out")
    assert post(Client(), first["answer_url"], {"approved": True}).status_code == 401
    bearer = {"Authorization": f"Bearer {first['token']}"}
    assert post(Client(), first["answer_url"], {"approved": True}, **bearer).status_code == 200
    page = alice.get(address, {"first": 1, "count": 1, "only_open": True}).json()
    assert (page["total"], [one["id"] for one in page["waits"]]) == (2, [sleep.pk])
    state = alice.get(f"/api/v1/runs/{fake.run.pk}").json()["waits"]
    assert (state["open"], state["sleeping"]) == (1, 1)
    assert state["due_at"] == sleep.due_at.isoformat()


def test_a_cell_under_way_tells_what_its_row_waits_for(fake: FakeRun, alice: Client) -> None:
    wait = make_wait(fake, 0)
    fake.cell(0, "email", "waiting")
    rows = f"/api/v1/runs/{fake.run.pk}/frames/{fake.frame.pk}/rows/0"
    cell = alice.get(f"{rows}/cell?column=email").json()
    assert [one["id"] for one in cell["waits"]] == [wait.pk]
    assert schemas.CellDetail.model_validate(cell)
    assert alice.get(f"{rows}/cell?column=verdict").json()["waits"] == []
    assert [one["id"] for one in alice.get(rows).json()["waits"]] == [wait.pk]


def test_a_run_that_is_over_waits_for_nothing(fake: FakeRun, alice: Client) -> None:
    make_wait(fake)
    fake.set(status="cancelled")
    told = alice.get(f"/api/v1/runs/{fake.run.pk}").json()["waits"]
    assert told == {"open": 0, "sleeping": 0, "due_at": None}
    assert Run.objects.count() == 1
