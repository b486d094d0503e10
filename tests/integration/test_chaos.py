"""A small chaos: one or two faults of each kind against a private installation.

`make chaos` deals them by the dozen.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from deepline_site.home import PROJECT


@pytest.mark.timeout(400)
def test_nothing_differs_and_nothing_is_paid_twice_whatever_dies() -> None:
    # case C1, C2, C9, C10, D1, D3
    command = [sys.executable, "-m", "tests.chaos", "--small", "--seed", "1"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
