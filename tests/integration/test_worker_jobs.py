"""One worker doing job after job, and what it leaves in Valkey."""

from __future__ import annotations

import redis

from tests.product import StartProduct

RUNS = 8


def test_job_after_job_works_and_leaves_no_row_in_valkey(
    start_product: StartProduct, valkey: redis.Redis
) -> None:
    # case Q10, M4
    from tests.integration.host_runs import ended, start_run

    product = start_product(only=("gateway", "worker-1"), SANDBOX_LATENCY_MS="5")
    for number in range(RUNS):
        run = ended(start_run(3, workspace=f"w{number}"))
        assert run.status == "completed"
        assert run.participants.get().epoch == 1
    (worker,) = product.workers
    assert worker.process.poll() is None
    held = {name: valkey.dump(name) or b"" for name in valkey.scan_iter()}
    jobs = [name for name in held if name.startswith(b"rq:job:")]
    assert len(jobs) == RUNS
    assert all(valkey.ttl(name) > 0 for name in jobs)
    assert not [name for name, what in held.items() if b"tidehaven" in name + what]


def test_no_two_workers_have_one_name() -> None:
    # case C3
    from plays.workers import worker_name

    assert len({worker_name() for _ in range(100)}) == 100
