"""Rows that ask nobody, as many as there are: the most memory of the play process and of its host."""

from __future__ import annotations

import uuid

from benchmarks.installation import Installation
from benchmarks.product import product
from benchmarks.results import Result, figure
from benchmarks.sizes import Sizes

NAME = "memory"
GOAL_MB = 400


def measure(here: Installation, sizes: Sizes) -> list[Result]:
    with here.sandbox(0) as sandbox, product(here, sandbox) as live:
        ran = live.run("pure", uuid.uuid4().hex[:8], sizes.pure_rows)
    rate = f"{ran.rows / ran.seconds:,.0f}"
    return [
        *(_line(role, ran.rss[role], ran.rows) for role in ("play process", "host")),
        figure(NAME, f"rows/s of {ran.rows:,} pure rows", rate),
    ]


def _line(role: str, peak: int, rows: int) -> Result:
    megabytes = peak / 1e6
    what = f"{role}, {rows:,} pure rows"
    return Result(NAME, what, f"{megabytes:.0f} MB", f"under {GOAL_MB} MB", megabytes < GOAL_MB)
