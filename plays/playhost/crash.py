"""Named places where a test can have this process killed.

``DEEPLINE_CRASH_POINT=before_commit:3`` kills it with SIGKILL when it comes to that place for the
third time. Only tests set it. The places: after_claim, after_reply, before_commit, after_commit,
before_finish.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "DEEPLINE_CRASH_POINT"

_passed: Counter[str] = Counter()


def crash_point(name: str) -> None:
    """Die here, if a test asks for it."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    place, _, count = wanted.partition(":")
    _passed[name] += 1
    if place == name and _passed[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
