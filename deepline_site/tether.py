"""What a process tells the kernel of itself: that it dies with its parent, that nobody may look into it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4

# Loaded here and not in the child: between fork and exec only the call itself is safe.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Have this process killed when its parent's thread ends; call it right after the fork.

    Only Linux knows this; elsewhere a child outlives a parent that is killed. The signal is
    SIGKILL, because every process of the product may be killed at any instant, and a gentler one
    could be waited out.
    """
    if _libc is None:
        return
    parent = os.getppid()
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def keep_private() -> None:
    """Have no other process of this user read this one's memory or environment.

    Both hold secrets, and a play process may have the same user. Children that are forked inherit
    it, programs that are started do not. Afterwards only root can attach a debugger or profiler.
    """
    if _libc is not None:
        _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
