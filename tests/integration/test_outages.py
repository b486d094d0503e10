"""Servers that are away, full or wrong about the time: runs stand still, say why, and go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import psycopg
import pytest
import redis

from deepline_site.home import Home
from deepline_site.server_user import ServerUser
from deepline_site.valkey import Valkey
from tests.integration.proxy import Way
from tests.product import LiveProduct, StartProduct

if TYPE_CHECKING:
    from plays.models import Run

ROWS = 300
JUMP_SECONDS = 300


@pytest.fixture
def way() -> Iterator[Callable[[str], Way]]:
    ways: list[Way] = []

    def opened(url: str) -> Way:
        ways.append(Way(url))
        return ways[-1]

    yield opened
    for one in ways:
        one.close()


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[str]:
    """The address of a Valkey that no other test session uses."""
    home = Home(tmp_path / "valkey-home")
    home.prepare()
    server = Valkey(home, ServerUser.choose())
    server.start()
    yield home.redis_url()
    server.stop()


def started(start_product: StartProduct, **environment: str) -> LiveProduct:
    from tests.integration.host_runs import QUICK

    told = {**QUICK, "SANDBOX_LATENCY_MS": "150", **environment}
    return start_product(only=("gateway", "worker-1", "worker-2"), **told)


def under_way() -> Run:
    from tests.integration.host_runs import is_under_way, start_run, until

    run = start_run(ROWS)
    until(lambda: is_under_way(run), "the run to be under way")
    return run


def says(run: Run, words: str) -> bool:
    return run.log_lines.filter(text__contains=words).exists()


def assert_whole(run: Run, product: LiveProduct) -> None:
    """Nothing failed, and the provider was asked once for each line of the ledger."""
    from plays.models import ToolCall
    from tests.integration.host_runs import ended, provider_stats

    ended(run)
    assert run.status == "completed", run.error
    assert run.frames.get().row_totals == {"completed": ROWS}
    calls = ToolCall.objects.filter(run=run)
    assert set(calls.values_list("status", flat=True)) == {"completed", "no_result"}
    assert provider_stats(product.gateway_url)["members"] == calls.count()


def test_a_run_waits_for_a_database_that_is_out_of_reach(
    start_product: StartProduct, database_url: str, way: Callable[[str], Way]
) -> None:
    # case C2, Q11
    from tests.integration.host_runs import until

    to_database = way(database_url)
    product = started(start_product, DATABASE_URL=to_database.url)
    run = under_way()
    epoch = run.participants.get().epoch
    to_database.cut()
    # Longer than the lease, so that whoever comes back first may take the run.
    until(lambda: run.participants.get().lease_until < now(), "the lease to run out")
    to_database.mend()
    assert_whole(run, product)
    assert run.participants.get().epoch >= epoch


def test_a_run_waits_for_a_valkey_that_is_out_of_reach_and_says_so(
    start_product: StartProduct, valkey: redis.Redis, way: Callable[[str], Way]
) -> None:
    # case Q13
    from tests.integration.host_runs import until

    to_valkey = way(os.environ["REDIS_URL"])
    product = started(start_product, REDIS_URL=to_valkey.url)
    run = under_way()
    to_valkey.cut()
    until(lambda: says(run, "cannot reach the server that holds the providers' limits"), "a reason")
    to_valkey.mend()
    assert_whole(run, product)
    assert says(run, "the gateway answers again")
    assert run.participants.get().epoch == 1


def test_a_full_valkey_disturbs_no_run_and_loses_none(
    start_product: StartProduct, own_valkey: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # case Q13
    from plays import queues
    from tests.integration.host_runs import ended, start_run

    product = started(start_product, REDIS_URL=own_valkey)
    # This process' own queue lies in the session's Valkey: only the sweeper finds the runs.
    monkeypatch.setattr(queues, "enqueue", lambda run_id: None)
    run = under_way()
    with redis.Redis.from_url(own_valkey) as connection:
        connection.config_set("maxmemory", "1")
        assert_whole(run, product)
        assert run.participants.get().epoch == 1
        late = start_run(5, workspace="Late")
        connection.config_set("maxmemory", "0")
    # Idle workers end while they cannot tell the queue that they live; a supervisor starts them again.
    for live in product.workers:
        live.end()
        product.start(live.program)
    assert ended(late).status == "completed"


def test_a_sweeper_that_died_is_replaced(start_product: StartProduct) -> None:
    # case C6, Q12
    from tests.integration.host_runs import until

    product = started(start_product)
    worker = psutil.Process(product.workers[0].process.pid)
    (dead,) = until(lambda: sweepers(worker), "a sweeper")
    dead.kill()
    until(lambda: [one for one in sweepers(worker) if one.pid != dead.pid], "another sweeper")


def test_a_lock_of_a_stopped_process_ends_with_its_lease(database_url: str) -> None:
    # case C5
    from django.conf import settings

    from plays.gateway.configuration import Configuration
    from plays.stores.connections import connection_parameters

    patience = f"{settings.DEEPLINE_LEASE_SECONDS:g}s"
    for told in (connection_parameters(), dict(Configuration.from_settings().database)):
        with psycopg.connect(**told) as connection:
            asked = connection.execute("SHOW idle_in_transaction_session_timeout").fetchone()
        assert asked == (patience,)


def test_a_clock_that_jumps_takes_no_run_from_its_worker(
    start_product: StartProduct, tmp_path: Path
) -> None:
    # case T4
    from plays.models import RunParticipant
    from tests.integration.host_runs import is_under_way, until

    jumped = tmp_path / "jumped"
    (tmp_path / "sitecustomize.py").write_text(
        JUMPING_CLOCK.format(flag=str(jumped), by=JUMP_SECONDS)
    )
    product = started(start_product, PYTHONPATH=str(tmp_path))
    run = under_way()
    jumped.touch()
    until(lambda: is_under_way(run, 200), "the run to go on")
    assert_whole(run, product)
    assert RunParticipant.objects.get(run=run).epoch == 1


JUMPING_CLOCK = """
import os, time
honest = time.time
time.time = lambda: honest() + ({by} if os.path.exists({flag!r}) else 0)
"""


def sweepers(worker: psutil.Process) -> list[psutil.Process]:
    living = [child for child in worker.children() if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in living if "sweep" in child.cmdline()]


def now() -> object:
    from django.utils import timezone

    return timezone.now()
