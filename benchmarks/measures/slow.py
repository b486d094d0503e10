"""Batches, a provider that takes a second: the product should wait for nothing else."""

from __future__ import annotations

from functools import partial

from benchmarks.installation import Installation
from benchmarks.product import batch_tools, product
from benchmarks.results import Result, at_most, figure
from benchmarks.rounds import Pass, interleaved, rates, ratio
from benchmarks.sizes import Sizes

NAME = "slow"
LATENCY_MS = 1_000
GOAL = 1.2


def measure(here: Installation, sizes: Sizes) -> list[Result]:
    with here.sandbox(LATENCY_MS) as sandbox, product(here, sandbox) as live:
        batch_tools(is_batched=True)
        passes: dict[str, Pass] = {
            "product": partial(live.run, "emails"),
            "bare": lambda tag, n: here.contestant("bare", "plain", sandbox, tag, n),
        }
        measured = interleaved(passes, sizes.slow_rows, 1)
    time = ratio(measured, lambda pair: pair.seconds_a_row, "product", "bare")
    return [
        at_most(NAME, f"time by a bare loop's at {LATENCY_MS:,} ms", time, GOAL),
        figure(NAME, f"rows/s at {LATENCY_MS:,} ms", rates(measured)),
    ]
