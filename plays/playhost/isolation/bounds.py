"""What one process of a play may take at most, and as whom it runs where the worker is root.

Processor time has no bound: a run may compute for hours. The worker watches the event loop, and the
memory that is really in use.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress

from deepline_site import unprivileged
from plays.playhost.isolation import view
from plays.playhost.isolation.kernel import IS_LINUX, PR_SET_NO_NEW_PRIVS, prctl

NOBODYS_USER = 64_999
"""A user without name, files or other processes; ``nobody`` may be the user of a server."""

ADDRESS_BYTES = 4 * 1024**3
FILE_BYTES = 64 * 1024**2
OPEN_FILES = 256
PROCESSES = 64
"""Processes and threads. Where the play has no user namespace, so many beside those of its user."""


def set_bounds(tasks_of_others: int) -> None:
    """Bound this process and its children."""
    _bound(resource.RLIMIT_AS, ADDRESS_BYTES)
    _bound(resource.RLIMIT_FSIZE, FILE_BYTES)
    _bound(resource.RLIMIT_NOFILE, OPEN_FILES)
    _bound(resource.RLIMIT_NPROC, tasks_of_others + PROCESSES)
    _bound(resource.RLIMIT_CORE, 0)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs out, this process goes first


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    with suppress(ValueError, OSError):  # macOS refuses a bound on addresses
        resource.setrlimit(what, (most, most))


def tasks_of(uid: int) -> int:
    """Count the processes and threads of a user."""
    tasks = 0
    for name in os.listdir("/proc") if IS_LINUX else []:
        with suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                tasks += len(os.listdir(f"/proc/{name}/task"))
    return tasks


def give_up_rights(*, is_root: bool, with_way: bool) -> None:
    """Become nobody where one is root, and never gain a right again.

    Where others may not read Python or the engine, one capability to read is kept. ``with_way``:
    the folders above them count too.
    """
    if is_root:
        is_open = all(view.is_open(path, with_way=with_way) for path in _needed())
        if is_open or not IS_LINUX:
            unprivileged.become(NOBODYS_USER, NOBODYS_USER)
        else:
            unprivileged.become_with_capability(NOBODYS_USER, NOBODYS_USER)
    elif IS_LINUX:
        unprivileged.keep_only(0)
    if IS_LINUX:
        prctl("no_new_privs", PR_SET_NO_NEW_PRIVS, 1)


def _needed() -> list[str]:
    import runtime

    return [os.path.join(view.PROJECT, "runtime"), runtime.__file__, os.__file__]
