"""Parts of a running product are really killed; what comes out is what would have come out anyway.

Each test compares with an undisturbed run of the same play and file in another workspace, whose paid
answers it does not share: output to the byte, and the provider's own count of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
import pytest
import redis

from deepline_site.programs import MANAGE, Program
from tests.product import LiveProduct, StartProduct

if TYPE_CHECKING:
    from plays.models import Run

CRASH_POINTS = [
    "after_claim",
    "after_reply:2",
    "before_commit:3",
    "after_commit:3",
    "before_finish",
]


ROWS = 300


@dataclass(frozen=True)
class Result:
    """What a run gave: its output, the counts of its map, and what the provider was asked by tool."""

    output: bytes
    totals: dict[str, dict[str, int]]
    row_totals: dict[str, int]
    members: dict[str, int]


_undisturbed: list[Result] = []


def members(product: LiveProduct) -> dict[str, int]:
    """Give how many calls of each tool have reached the provider."""
    from tests.integration.host_runs import provider_stats

    tools = provider_stats(product.gateway_url)["tools"]
    return {tool: counts["members"] for tool, counts in tools.items()}


def result(run: Run, asked: dict[str, int]) -> Result:
    from tests.integration.host_runs import output

    assert run.status == "completed"
    frame = run.frames.get()
    return Result(output(run), frame.totals, frame.row_totals, asked)


def assert_undisturbed(product: LiveProduct, run: Run) -> None:
    """Compare an ended run with one that nobody disturbed, which the first test makes."""
    from tests.integration.host_runs import ended, start_run

    before = members(product)
    disturbed = result(run, before)
    if not _undisturbed:
        calm = ended(start_run(ROWS, workspace="Calm"))
        after = members(product)
        asked = {tool: after[tool] - before.get(tool, 0) for tool in after}
        _undisturbed.append(result(calm, asked))
    assert disturbed == _undisturbed[0]
    assert disturbed.row_totals == {"completed": ROWS}


@pytest.fixture
def product(start_product: StartProduct) -> LiveProduct:
    from tests.integration.host_runs import QUICK

    return start_product(
        only=("gateway", "worker-1", "worker-2"), SANDBOX_LATENCY_MS="150", **QUICK
    )


def workers(product: LiveProduct) -> list[psutil.Process]:
    return [psutil.Process(live.process.pid) for live in product.workers]


def test_a_killed_play_process_goes_on_in_the_same_worker(product: LiveProduct) -> None:
    # case C1, C10, D3, Q3
    from tests.integration.host_runs import ended, is_under_way, play_processes, start_run, until

    run = start_run(ROWS)
    until(lambda: is_under_way(run), "the run to be under way")
    (victim,) = [found for worker in workers(product) for found in play_processes(worker)]
    victim.kill()
    ended(run)
    assert run.participants.get().epoch == 2
    assert any("the play process died" in line.text for line in run.log_lines.all())
    assert_undisturbed(product, run)


def test_a_killed_work_horse_is_replaced_at_once(product: LiveProduct) -> None:
    # case C1, Q4, C9
    from tests.integration.host_runs import ended, is_under_way, start_run, until, work_horses

    run = start_run(ROWS)
    until(lambda: is_under_way(run), "the run to be under way")
    (victim,) = [horse for worker in workers(product) for horse in work_horses(worker)]
    victim.kill()
    ended(run)
    assert run.participants.get().epoch == 2
    assert_undisturbed(product, run)


def test_a_killed_worker_is_followed_by_the_other(product: LiveProduct) -> None:
    # case C1, C6, Q2
    from tests.integration.host_runs import ended, is_under_way, start_run, until, work_horses

    run = start_run(ROWS)
    until(lambda: is_under_way(run), "the run to be under way")
    (victim,) = [live for live in product.workers if work_horses(psutil.Process(live.process.pid))]
    below = victim.descendants()
    victim.kill()
    _, alive = psutil.wait_procs(below, timeout=10)
    assert alive == []
    ended(run)
    assert_undisturbed(product, run)


def test_a_worker_that_is_stopped_lets_its_run_go_to_the_other(product: LiveProduct) -> None:
    from tests.integration.host_runs import ended, is_under_way, start_run, until, work_horses

    run = start_run(ROWS)
    until(lambda: is_under_way(run), "the run to be under way")
    (leaving,) = [live for live in product.workers if work_horses(psutil.Process(live.process.pid))]
    leaving.process.terminate()
    leaving.process.wait(timeout=20)
    ended(run)
    assert_undisturbed(product, run)


@pytest.mark.parametrize("place", CRASH_POINTS)
def test_a_work_horse_may_die_at_any_named_place(start_product: StartProduct, place: str) -> None:
    # case C1, D4
    from tests.integration.host_runs import QUICK, ended, start_run, until

    product = start_product(only=("gateway",), SANDBOX_LATENCY_MS="60", **QUICK)
    gateway = {"DEEPLINE_GATEWAY_URL": product.gateway_url}
    doomed = Program("worker-1", (*MANAGE, "worker"), {**gateway, "DEEPLINE_CRASH_POINT": place})
    first = product.start(doomed)
    run = start_run(ROWS)
    until(lambda: run.participants.filter(epoch__gte=2).exists(), "the second claim")
    first.end()
    product.start(Program("worker-2", (*MANAGE, "worker"), gateway))
    ended(run)
    assert_undisturbed(product, run)


def test_an_emptied_queue_loses_no_run(start_product: StartProduct, valkey: redis.Redis) -> None:
    # case Q5
    from tests.integration.host_runs import QUICK, ended, start_run

    product = start_product(only=("gateway",), SANDBOX_LATENCY_MS="20", **QUICK)
    run = start_run(20)
    valkey.flushdb()
    worker = (*MANAGE, "worker")
    product.start(Program("worker-1", worker, {"DEEPLINE_GATEWAY_URL": product.gateway_url}))
    assert ended(run).status == "completed"


def test_a_restarted_gateway_is_waited_for(product: LiveProduct) -> None:
    from tests.integration.host_runs import ended, is_under_way, output, start_run, until

    run = start_run(ROWS)
    until(lambda: is_under_way(run), "the run to be under way")
    product.gateway.kill()
    waits = run.log_lines.filter(text__contains="the gateway does not answer")
    until(waits.exists, "the log to tell that the gateway is away")
    product.start(product.gateway.program)
    ended(run)
    assert run.status == "completed"
    assert run.log_lines.filter(text="the gateway answers again").exists()
    assert output(run) == output(ended(start_run(ROWS, workspace="Calm")))
