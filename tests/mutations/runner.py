"""Runs tests on trees of changed engines, each tree in a process of its own: ``python runner.py ROOT``.

``ROOT/trees.json`` gives, by folder below ROOT, the tests that run with the ``runtime`` in that folder.
Prints the exit codes of pytest as JSON. pytest is loaded once and forked, so that a test costs what it takes.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import signal
import sys
from pathlib import Path

import pytest

OPTIONS = ["-q", "-x", "-c", "pytest.ini", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin"]
SECONDS = 20


def main(root: Path) -> None:
    os.chdir(root)
    trees = json.loads(Path("trees.json").read_text())
    print(json.dumps({tree: _forked(tree, tests) for tree, tests in trees.items()}))


def _forked(tree: str, tests: list[str]) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.path[:0] = [tree, "."]
    importlib.invalidate_caches()
    sys.stdout.flush()
    signal.alarm(SECONDS)  # a promise that never settles ends its process
    with contextlib.redirect_stdout(io.StringIO()):
        code = pytest.main([*OPTIONS, *tests])
    os._exit(int(code))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
