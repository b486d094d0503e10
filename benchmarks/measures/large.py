"""Ten times the rows: does one of them take longer?"""

from __future__ import annotations

import uuid

from benchmarks.installation import Installation
from benchmarks.product import batch_tools, product
from benchmarks.results import Result, at_most, figure, middle
from benchmarks.sizes import Sizes

NAME = "large"
GOAL = 1.1


def measure(here: Installation, sizes: Sizes) -> list[Result]:
    more, few = sizes.large_rows, sizes.large_rows // 10
    with here.sandbox(sizes.latency_ms) as sandbox, product(here, sandbox) as live:
        batch_tools(is_batched=True)

        def seconds_a_row(n: int) -> float:
            return live.run("emails", uuid.uuid4().hex[:8], n).seconds / n

        before = seconds_a_row(few)
        long = seconds_a_row(more)
        short = middle((before, seconds_a_row(few)))
    return [
        at_most(NAME, f"time a row, {more:,} rows by {few:,}", long / short, GOAL),
        figure(NAME, f"rows/s of {more:,} and {few:,} rows", f"{1 / long:,.0f}, {1 / short:,.0f}"),
    ]
