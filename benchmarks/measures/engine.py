"""The engine alone on stores in memory: cells a second, memory while rows stream, rest while it waits.

Each is a process of its own, so that none finds what another left behind.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.installation import Installation
from benchmarks.results import Result, middle
from benchmarks.sizes import Sizes
from deepline_site.home import PROJECT

NAME = "engine"
CELLS_GOAL, MEMORY_GOAL_MB, IDLE_GOAL = 20_000, 150, 0.01
CELL_ROWS = 10_000


def measure(here: Installation, sizes: Sizes) -> list[Result]:
    cells = middle(_told("cells", CELL_ROWS) for _ in range(sizes.rounds))
    megabytes = _told("stream", sizes.stream_rows)
    idle = _told("idle", 3)
    return [
        Result(
            NAME,
            f"cells a second of one core, {CELL_ROWS:,} rows x 3 steps",
            f"{cells:,.0f}",
            f"at least {CELLS_GOAL:,}",
            cells >= CELLS_GOAL,
        ),
        Result(
            NAME,
            f"memory over the interpreter's, {sizes.stream_rows:,} rows stream",
            f"{megabytes:.0f} MB",
            f"under {MEMORY_GOAL_MB} MB",
            megabytes < MEMORY_GOAL_MB,
        ),
        Result(
            NAME,
            "processor share of an engine that waits",
            f"{idle:.2%}",
            f"under {IDLE_GOAL:.0%}",
            idle < IDLE_GOAL,
        ),
    ]


def _told(what: str, size: int) -> float:
    command = [sys.executable, "-m", "benchmarks.engine_alone", what, str(size)]
    told = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return float(json.loads(told.stdout))
