"""The process between a worker and its play: waits, ends as the play ended, and leaves nothing running.

It dies with its worker, takes all that the play started with it, and does so when it gets SIGTERM.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from plays.playhost.isolation.kernel import (
    IS_LINUX,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    prctl,
)

HEARD = (signal.SIGCHLD, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Child:
    """A started process; 0 in itself. ``news``: where its own parent tells how it ended."""

    pid: int
    news: int | None = None


def become_keeper() -> None:
    """Inherit what the play leaves behind, and hear of SIGTERM and ends only where they are awaited."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    if IS_LINUX:
        prctl("child_subreaper", PR_SET_CHILD_SUBREAPER, 1)
        prctl("parent_death", PR_SET_PDEATHSIG, signal.SIGTERM)


def fork() -> Child:
    """Make the process of the play, in the namespaces of this one."""
    return Child(os.fork())


def begin_play(parent: int) -> None:
    """Have a session of one's own, the usual signals, and die with the process above."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
    die_with_parent(parent)


def die_with_parent(parent: int) -> None:
    """Be killed when the process above ends. ``parent`` is its number, as seen from here."""
    if IS_LINUX:
        prctl("parent_death", PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def keep(child: Child) -> NoReturn:
    """Wait for the play, end all that it started, and end as it did."""
    status: int | None = None
    while status is None:
        is_asked = signal.sigwait(HEARD) == signal.SIGTERM
        status = signal.SIGKILL if is_asked else _taken_in().get(child.pid)
    told = _told(child)
    _end_all(child)
    _end_like(status if told is None else told)


def _taken_in() -> dict[int, int]:
    """Give the children that have ended, with how."""
    ended: dict[int, int] = {}
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _told(child: Child) -> int | None:
    if child.news is None:
        return None
    os.set_blocking(child.news, False)
    with suppress(BlockingIOError):
        return int.from_bytes(os.read(child.news, 4), "big") or None
    return None


def _end_all(child: Child) -> None:
    """Kill everything below this process: at once what is in the play's group, or its namespace.

    The rest is found one by one. What stands still cannot fork while the others are looked for.
    """
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    if child.news is not None:
        _signal_all({child.pid}, signal.SIGKILL)
    stopped: set[int] = set()
    while found := _descendants() - stopped:
        _signal_all(found, signal.SIGSTOP)
        stopped |= found
    _signal_all(stopped, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _signal_all(pids: set[int], number: int) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def _descendants() -> set[int]:
    """Find the processes below this one, without those that have ended."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if IS_LINUX else []:
        with suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting.extend(below)
    return found


def _end_like(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
