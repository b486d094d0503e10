"""A request per call: rows a second and processor time, beside a DBOS workflow per row.

The sandbox answers at once here: 32 requests in flight at 50 ms are 640 a second whatever sends them.
"""

from __future__ import annotations

from functools import partial

from benchmarks.installation import Installation
from benchmarks.product import batch_tools, product
from benchmarks.results import Result, at_least, at_most, figure, middle
from benchmarks.rounds import Pass, Rounds, interleaved, rates, ratio
from benchmarks.sizes import Sizes

NAME = "single"
QUICK_MS = 5
RATE_GOAL, CPU_GOAL = 2.5, 0.5


def measure(here: Installation, sizes: Sizes) -> list[Result]:
    quick = _rounds(here, sizes, QUICK_MS)
    usual = _rounds(here, sizes, sizes.latency_ms)
    lines = []
    for latency_ms, measured in ((QUICK_MS, quick), (sizes.latency_ms, usual)):
        rate = ratio(measured, lambda pair: pair.seconds_a_row, "DBOS", "product")
        cpu = ratio(measured, lambda pair: pair.cpu_a_row, "product", "DBOS")
        lines += [
            at_least(NAME, f"rows/s by DBOS' at {latency_ms} ms", rate, RATE_GOAL),
            at_most(NAME, f"processor time by DBOS' at {latency_ms} ms", cpu, CPU_GOAL),
            figure(NAME, f"rows/s at {latency_ms} ms", rates(measured)),
            figure(NAME, f"processor time a row at {latency_ms} ms", _cpu(measured)),
        ]
    return lines


def _rounds(here: Installation, sizes: Sizes, latency_ms: int) -> Rounds:
    with here.sandbox(latency_ms) as sandbox, product(here, sandbox) as live:
        batch_tools(is_batched=False)
        passes: dict[str, Pass] = {
            "product": partial(live.run, "emails"),
            "DBOS": lambda tag, n: here.contestant("with_dbos", "rows", sandbox, tag, n),
        }
        try:
            return interleaved(passes, sizes.single_rows, sizes.rounds)
        finally:
            batch_tools(is_batched=True)


def _cpu(measured: Rounds) -> str:
    return ", ".join(
        f"{name} {middle(pairs[name].cpu_a_row for pairs in measured) * 1e3:.2f} ms"
        for name in measured[0]
    )
