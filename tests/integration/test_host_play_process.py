"""What a play process can see and do, and what becomes of a run whose play misbehaves."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.integration import host_plays
from tests.integration.odd_runs import NO_GATEWAY, Execute, children, claimed, execute

__all__ = ["execute"]  # a fixture

if TYPE_CHECKING:
    from plays.compose import Execution
    from plays.models import Run
    from tests.integration.cast import Cast


def test_the_play_process_sees_no_secret(execute: Execute) -> None:
    from django.conf import settings

    os.environ["DEEPLINE_MADE_UP_SECRET"] = "do-not-tell"
    try:
        run, _ = execute(host_plays.LOOKS_AROUND)
    finally:
        del os.environ["DEEPLINE_MADE_UP_SECRET"]
    assert run.status == "completed"
    seen = run.result["value"]
    database = settings.DATABASES["default"]
    secrets = [
        settings.SECRET_KEY,
        database["PASSWORD"],
        settings.REDIS_URL,
        settings.REDIS_URL.rpartition("@")[0].rpartition(":")[2],
        "do-not-tell",
        database["NAME"],
        str(settings.DEEPLINE_HOME),
    ]
    text = json.dumps(seen)
    assert [secret for secret in secrets if secret and secret in text] == []
    assert set(seen["environment"]) <= {
        *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH", "PYTHONUNBUFFERED")
    }
    assert seen["session"]


def test_the_play_process_inherits_one_socket_and_nothing_else(execute: Execute) -> None:
    run, _ = execute(host_plays.LOOKS_AROUND)
    kinds = {
        fd: target.partition(":")[0]
        for fd, target in run.result["value"]["descriptors"].items()
        if int(fd) > 2 and not target.startswith(("anon_inode", "/proc/"))
    }
    # The pipe to the host, and the pair with which asyncio wakes its own loop.
    assert sorted(kinds.values()) == ["socket"] * 3


def test_printed_lines_go_to_the_runs_log_bounded(execute: Execute) -> None:
    run, _ = execute(host_plays.PRINTS)
    lines = [(line.level, line.text) for line in run.log_lines.order_by("id")]
    assert ("info", "first line") in lines
    assert ("warning", "to stderr") in lines
    assert ("info", "x" * 2_000) in lines
    printed = [text for level, text in lines if level == "info"]
    assert printed[-1] == "more than 1,000 printed lines: the rest is left out"
    assert len(printed) <= 1_001


@pytest.mark.parametrize(
    ("source", "kind", "told"),
    [
        (host_plays.RAISES, "ValueError", "no such thing"),
        (host_plays.EXITS, "PlayDied", "exit code 7"),
        (host_plays.KILLS_ITSELF, "PlayDied", "SIGKILL"),
        (host_plays.WRITES_RUBBISH, "BrokenProtocol", "no frame of JSON"),
        (host_plays.ASKS_FOR_NO_PORT, "BrokenProtocol", "no port offers"),
        (host_plays.CLOSES_ITS_PIPE, "PlayDied", "closed its pipe"),
    ],
)
def test_a_play_that_misbehaves_fails_its_run_with_the_reason(
    execute: Execute, monkeypatch: pytest.MonkeyPatch, source: bytes, kind: str, told: str
) -> None:
    monkeypatch.setattr("plays.playhost.process.LEAVE_SECONDS", 0.3)
    monkeypatch.setattr("plays.playhost.host.LEAVE_SECONDS", 0.3)
    run, _ = execute(source)
    assert run.status == "failed"
    assert run.error["type"] == kind
    assert told in run.error["message"]


def test_a_play_process_that_dies_is_started_three_times(execute: Execute) -> None:
    # case Q3, C13
    run, execution = execute(host_plays.EXITS)
    assert execution.participant.epoch == 3
    assert run.log_lines.filter(text__contains="exit code 7").count() == 2


def test_a_play_that_does_not_stop_when_asked_is_ended(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    # case Q9
    from plays.compose import run_execute
    from plays.jobs import settle
    from runtime.events import Request

    monkeypatch.setattr("plays.playhost.host.GRACE_SECONDS", {Request.CANCEL: 0.2})
    run, participant = claimed(committed_cast, host_plays.NEVER_ENDS)
    run.request("cancel")
    execution = asyncio.run(run_execute(participant, gateway_url=NO_GATEWAY))
    assert settle(execution) == "cancelled"
    assert children() == []


def test_an_engine_whose_lease_was_taken_stops_and_writes_nothing(committed_cast: Cast) -> None:
    # case D1, C3
    from plays.compose import run_execute
    from plays.jobs import settle

    run, participant = claimed(committed_cast, host_plays.WAITS)
    take_over(run)
    execution = asyncio.run(run_execute(participant, gateway_url=NO_GATEWAY))
    assert execution.outcome.stop_reason == "lease_lost"
    assert settle(execution) is None
    run.refresh_from_db()
    assert run.status == "running"
    assert children() == []


def test_a_run_that_is_asked_to_give_way_goes_back_to_the_queue(committed_cast: Cast) -> None:
    from plays.compose import GiveWay, run_execute
    from plays.jobs import settle

    run, participant = claimed(committed_cast, host_plays.WAITS)
    give_way = GiveWay()

    async def executed() -> Execution:
        asyncio.get_running_loop().call_later(1.0, give_way.ask)
        return await run_execute(participant, gateway_url=NO_GATEWAY, give_way=give_way)

    assert settle(asyncio.run(executed())) == "queued"
    run.refresh_from_db()
    assert (run.status, run.stop_reason) == ("queued", "")


def take_over(run: Run) -> None:
    from django.db.models import F

    from plays.models import RunParticipant

    RunParticipant.objects.filter(run=run).update(epoch=F("epoch") + 1)
