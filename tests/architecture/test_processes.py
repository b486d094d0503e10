"""What belongs to which process: the engine to the play process, loops to those who start one."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from deepline_site.home import PROJECT

# Everything else is called from a loop that one of these began.
MAY_START_A_LOOP = (
    "deepline_site/",
    "plays/jobs.py",
    "plays/management/commands/",
    "plays/oneplay.py",  # what the command `runplay` does
    "runtime/remote/",
)
WEB = "import deepline_site.asgi, sys; print('runtime.engine' in sys.modules)"


def test_the_web_process_loads_no_engine() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WEB], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert told.stdout == "False\n"


def test_only_jobs_and_commands_start_a_loop() -> None:
    starting = {
        str(path.relative_to(PROJECT))
        for package in ("plays", "runtime", "deepline_site")
        for path in (PROJECT / package).rglob("*.py")
        if _starts_a_loop(path)
    }
    assert [path for path in starting if not path.startswith(MAY_START_A_LOOP)] == []


def _starts_a_loop(path: Path) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in {"run", "Runner"}
        and isinstance(node.value, ast.Name)
        and node.value.id == "asyncio"
        for node in ast.walk(ast.parse(path.read_text()))
    )
