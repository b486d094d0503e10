"""Calls of the Linux kernel that Python does not have. Each raises ``Lacking`` where it is refused."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from typing import Any

IS_LINUX = sys.platform == "linux"

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 1 << 1, 1 << 2, 1 << 3
MS_BIND, MS_REC, MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
MNT_DETACH = 2

MOUNT_READ_ONLY, MOUNT_NO_SUID, MOUNT_NO_DEV = 1, 2, 4
AT_RECURSIVE = 0x8000
AT_FDCWD = -100

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
_MOUNT_SETATTR = 442  # the newer calls have one number on all machines

# PyDLL keeps the interpreter's lock: after ``clone`` nobody else is there to give it back.
libc: Any = ctypes.PyDLL(None, use_errno=True)


class Lacking(Exception):
    """This machine does not give what was asked; ``str()`` says which call, and why."""


def call(what: str, answer: int) -> int:
    """Give the answer of a call of the C library. Raises Lacking."""
    if answer < 0:
        raise Lacking(f"{what}: {os.strerror(ctypes.get_errno())}")
    return answer


def syscall(what: str, number: int | None, *arguments: Any) -> int:
    """Make a call by its number. Raises Lacking."""
    if number is None or not IS_LINUX:
        raise Lacking(f"{what}: not known on {platform.system()} {platform.machine()}")
    return call(what, libc.syscall(ctypes.c_long(number), *(_argument(one) for one in arguments)))


def _argument(value: Any) -> Any:
    return ctypes.c_long(value) if isinstance(value, int) else value


def clone(flags: int) -> int:
    """Fork into new namespaces; 0 in the child. Only for a process without other threads."""
    number = _CLONE.get(platform.machine())
    return syscall("clone", number, flags | signal.SIGCHLD, 0, 0, 0, 0)


def prctl(what: str, option: int, value: int) -> None:
    """Set an attribute of this process. Raises Lacking."""
    call(f"prctl({what})", libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, how: str = "") -> None:
    """Mount something. Raises Lacking."""
    done = libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        how.encode() or None,
    )
    call(f"mount {kind or source}", done)


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def restrict_mount(target: str, attributes: int, *, with_all_below: bool = True) -> None:
    """Add attributes, ``MOUNT_READ_ONLY`` say, to a mount. Raises Lacking (before Linux 5.12)."""
    told = _MountAttributes(set=attributes)
    flags = AT_RECURSIVE if with_all_below else 0
    path = ctypes.c_char_p(target.encode())
    size = ctypes.sizeof(told)
    syscall("mount_setattr", _MOUNT_SETATTR, AT_FDCWD, path, flags, ctypes.byref(told), size)


def become_root_directory(path: str) -> None:
    """Make a mount the root of this mount namespace; the old one is gone. Raises Lacking."""
    os.chdir(path)
    here = ctypes.c_char_p(b".")
    syscall("pivot_root", _PIVOT_ROOT.get(platform.machine()), here, here)
    call("umount", libc.umount2(b".", MNT_DETACH))
    os.chdir("/")
