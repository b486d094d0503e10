"""What a process tells the kernel of itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deepline_site.home import PROJECT

# As root it becomes somebody first: nothing is hidden from root.
READS_ITS_PARENT = """
import ctypes, os, sys
from deepline_site.tether import PR_SET_DUMPABLE, keep_private
if os.geteuid() == 0:
    os.setresuid(65000, 65000, 65000)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
if sys.argv[1] == "private":
    keep_private()
parent, child = os.getpid(), os.fork()
if child == 0:
    try:
        open(f"/proc/{parent}/environ").read()
    except PermissionError:
        os._exit(13)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize(("how", "outcome"), [("open", 0), ("private", 13)])
def test_a_private_process_hides_its_environment_from_its_own_user(how: str, outcome: int) -> None:
    command = [sys.executable, "-c", READS_ITS_PARENT, how]
    assert subprocess.run(command, cwd=PROJECT, check=False).returncode == outcome
