"""Landlock: what this process and its children may open, from now on and for ever.

Needs no privilege and no namespaces. Older kernels know fewer of the rights; those that they know
are all taken.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from plays.playhost.isolation.kernel import Lacking, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1

READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, read a directory
OF_FILES = (
    1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
)  # the rights that a rule about a file may hold
WRITE_FILE = 1 << 1
# How many rights over files the versions of the kernel's interface know.
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
NETWORK_VERSION, NETWORK = 4, 0b11  # bind and connect TCP
SCOPE_VERSION, SCOPE = 6, 0b11  # abstract Unix sockets and signals of others


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scope")]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """Give the version of the kernel's interface. Raises Lacking where it has none."""
    return syscall("landlock", CREATE_RULESET, ctypes.c_void_p(), 0, ASK_VERSION)


def confine(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Let this process read below some paths, write below others, and reach no TCP port.

    Paths that do not exist are left out. ``no_new_privs`` must be set. Raises Lacking.
    """
    known = version()
    rights = (1 << RIGHTS.get(known, 16)) - 1
    ruleset = _ruleset(known, rights)
    try:
        for path in readable:
            _allow(ruleset, path, READ)
        for path in writable:
            _allow(ruleset, path, rights)
        syscall("landlock_restrict_self", RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _ruleset(known: int, rights: int) -> int:
    told = _Ruleset(
        files=rights,
        network=NETWORK if known >= NETWORK_VERSION else 0,
        scope=SCOPE if known >= SCOPE_VERSION else 0,
    )
    fields = 1 + (known >= NETWORK_VERSION) + (known >= SCOPE_VERSION)
    return syscall("landlock_create_ruleset", CREATE_RULESET, ctypes.byref(told), fields * 8, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= OF_FILES
        rule = _PathBeneath(rights, place)
        syscall("landlock_add_rule", ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def is_there() -> bool:
    """Whether this kernel has Landlock switched on."""
    try:
        return version() > 0
    except Lacking:
        return False
