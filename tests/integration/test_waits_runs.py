"""Answers to real runs: over HTTP, by the hundred, and while a part of the product is away."""

from __future__ import annotations

import csv
import io
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from plays.models import Boundary, EarlyAnswer, LateAnswer, Run, RunStatus
from plays.services import waittokens
from plays.services.waits import event_answer, wait_answer
from tests.integration.cast import build_cast, signed_in
from tests.integration.host_runs import QUICK, ended, output, start_run, until
from tests.product import LiveProduct, StartProduct

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

PLAY = """
from runtime import play


@play("approvals")
async def approvals(ctx, input):
    async def approval(row, ctx):
        asked = {{"event": f"approve:{{row['first_name']}}", "timeout_seconds": {seconds}}}
        answer = await ctx.wait_for_event("ok", message="May it go?", **asked)
        return answer["payload"] if answer["status"] == "received" else answer["status"]

    leads = await ctx.csv(input["leads"])
    return await ctx.map("leads", leads).step("approved", approval).run()
"""

IN_TURN = b"""
from runtime import play


@play("in_turn")
async def in_turn(ctx, input):
    asked = {"event": "go", "timeout_seconds": 3600}
    return [(await ctx.wait_for_event("go", **asked))["payload"] for _ in range(3)]
"""


def start_approvals(rows: int, *, seconds: float = 3_600) -> Run:
    source = PLAY.format(seconds=seconds).encode()
    return start_run(rows, source=source, name="approvals.py")


def open_waits(run: Run) -> list[Boundary]:
    return list(Boundary.objects.filter(run=run, status="open").order_by("position"))


def until_waiting(run: Run, waits: int) -> list[Boundary]:
    """Wait until all rows wait and the run has given its worker back; give the waits."""

    def rests() -> list[Boundary]:
        status = Run.objects.get(pk=run.pk).status
        found = open_waits(run) if status == RunStatus.WAITING else []
        return found if len(found) == waits else []

    found: list[Boundary] = until(rests, f"{waits} waits of run {run.pk}")
    return found


def answer(product: LiveProduct, wait: Boundary, payload: Any) -> int:
    """Answer with the wait's token over real HTTP; give the status."""
    request = urllib.request.Request(
        f"{product.web_url}/api/v1/waits/{wait.pk}",
        json.dumps({"payload": payload}).encode(),
        {
            "Authorization": f"Bearer {waittokens.issue(wait.pk)}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request) as told:
            return int(told.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def approved(run: Run) -> list[str]:
    return [row["approved"] for row in csv.DictReader(io.StringIO(output(run).decode()))]


def test_hundreds_of_waiting_rows_are_answered_over_http(start_product: StartProduct) -> None:
    product = start_product(**QUICK)
    run = start_approvals(300)
    waits = until_waiting(run, 300)
    connection.close()
    with ThreadPoolExecutor(4) as clients:
        told = list(clients.map(lambda wait: answer(product, wait, f"yes {wait.position}"), waits))
    assert told == [200] * 300
    assert ended(run).status == RunStatus.COMPLETED
    assert approved(run) == [f"yes {n}" for n in range(300)]
    assert answer(product, waits[0], "yes 0") == 200
    assert answer(product, waits[0], "no") == 409
    assert LateAnswer.objects.count() == 1


def test_an_answer_comes_while_no_worker_lives(start_product: StartProduct) -> None:
    # case S2
    product = start_product(**QUICK)
    run = start_approvals(3)
    waits = until_waiting(run, 3)
    for worker in product.workers:
        worker.end()
    for wait in waits:
        assert answer(product, wait, "yes") == 200
    assert Run.objects.get(pk=run.pk).status == RunStatus.QUEUED
    product.start(product.workers[0].program)
    assert ended(run).status == RunStatus.COMPLETED
    assert approved(run) == ["yes"] * 3


def test_a_deadline_is_kept_though_every_worker_was_started_anew(
    start_product: StartProduct,
) -> None:
    # case S2
    product = start_product(**QUICK)
    run = start_approvals(2, seconds=6)
    waits = until(lambda: len(open_waits(run)) == 2 and open_waits(run), "two waits")
    for worker in product.workers:
        worker.end()
        product.start(worker.program)
    assert ended(run).status == RunStatus.COMPLETED
    assert approved(run) == ["timed_out"] * 2
    assert {wait.due_at for wait in waits} == set(
        Boundary.objects.filter(run=run).values_list("due_at", flat=True)
    )
    assert set(Boundary.objects.filter(run=run).values_list("status", flat=True)) == {"timed_out"}
    assert answer(product, waits[0], "late") == 409


def test_an_answer_is_kept_while_valkey_is_away(start_product: StartProduct, settings: Any) -> None:
    start_product(only=("gateway", "worker-1"), **QUICK)
    run = start_approvals(2)
    waits = until_waiting(run, 2)
    # Nothing listens there.
    nowhere = {**settings.RQ_QUEUES["runs"], "URL": "redis://127.0.0.1:1/0"}
    settings.RQ_QUEUES = {**settings.RQ_QUEUES, "runs": nowhere}
    for wait in waits:
        assert wait_answer(wait, "yes").is_accepted
    assert ended(run).status == RunStatus.COMPLETED
    assert approved(run) == ["yes"] * 2


def test_events_are_applied_in_the_order_in_which_they_were_recorded(
    start_product: StartProduct,
) -> None:
    # case P3
    run = start_run(1, source=IN_TURN, name="in_turn.py")
    for payload in ("first", "second"):
        assert event_answer(run, "go", payload).waits == 0
    start_product(only=("gateway", "worker-1"), **QUICK)
    (third,) = until_waiting(run, 1)
    assert not EarlyAnswer.objects.exists()
    assert event_answer(run, "go", "third").waits == 1
    assert ended(run).result == {"value": ["first", "second", "third"]}
    third.refresh_from_db()
    assert third.payload == "third"
    assert not event_answer(run, "go", "too many").is_accepted


def test_a_late_answer_satisfies_no_later_wait_of_the_run(start_product: StartProduct) -> None:
    # case S3
    source = b"""
from runtime import play


@play("twice")
async def twice(ctx, input):
    first = await ctx.wait_for_event("a", event="go", timeout_seconds=0.5)
    second = await ctx.wait_for_event("b", event="other", timeout_seconds=3600)
    third = await ctx.wait_for_event("c", event="go", timeout_seconds=0.5)
    return [first["status"], second["payload"], third["status"]]
"""
    run = start_run(1, source=source, name="twice.py")
    start_product(only=("gateway", "worker-1"), **QUICK)
    until_waiting(run, 1)
    first = Boundary.objects.get(run=run, event="go")
    assert not wait_answer(first, "late").is_accepted
    assert not event_answer(run, "go", "late too").is_accepted
    assert event_answer(run, "other", 2).waits == 1
    assert ended(run).result == {"value": ["timed_out", 2, "timed_out"]}
    assert [late.payload for late in LateAnswer.objects.order_by("id")] == ["late", "late too"]


def test_a_signed_in_person_answers_a_real_run(start_product: StartProduct) -> None:
    cast = build_cast()
    run = start_approvals(2)
    start_product(only=("gateway", "worker-1"), **QUICK)
    until_waiting(run, 2)
    told = signed_in(cast.alice).get(f"/api/v1/runs/{run.pk}/waits").json()
    alice = signed_in(cast.alice)
    for wait in told["waits"]:
        sent = alice.post(
            f"/api/v1/waits/{wait['id']}", '{"payload": true}', content_type="application/json"
        )
        assert sent.status_code == 200
    assert ended(run).status == RunStatus.COMPLETED
    assert approved(run) == ["true", "true"]
    assert Client().get(f"/api/v1/runs/{run.pk}/waits").status_code == 401
