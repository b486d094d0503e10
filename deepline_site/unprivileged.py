"""Starts a program as another user. Root runs it; PostgreSQL refuses to run as root.

    python unprivileged.py UID GID {open|closed} PROGRAM [ARGUMENT...]

With `closed`, a directory on the way to the program or its files is closed to that user: a checkout
below root's own 0700 directory, say. Opening it to everybody, or writing outside the installation,
would both be worse; so the program keeps one capability of root's, to pass through directories and
read. Where the machine withholds that one (Docker does) it keeps the next larger, to write as well.
`no_new_privs` is set in either case.

This is a program of its own because all of it has to happen between fork and exec, in a process
that has no other threads.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
# Capabilities stay when the user id changes, and access(2) honours them afterwards.
SECBIT_NO_SETUID_FIXUP = 1 << 2
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
LINUX_CAPABILITY_VERSION_3 = 0x20080522


class Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class Sets(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    uid, gid, way, *command = sys.argv[1:]
    if way == "closed":
        become_with_capability(int(uid), int(gid))
    else:
        become(int(uid), int(gid))
    succeed(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")
    os.execv(command[0], command)  # noqa: S606 - becoming that program is the purpose


def become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def become_with_capability(uid: int, gid: int) -> None:
    capability = smallest_sufficient(permitted_now())
    succeed(libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0), "prctl(securebits)")
    become(uid, gid)
    keep_only(1 << capability)
    succeed(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0), "prctl(ambient)")


def smallest_sufficient(permitted: int) -> int:
    for capability in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
        if permitted & (1 << capability):
            return capability
    sys.exit("root may not pass through other users' directories here (no CAP_DAC_OVERRIDE)")


def permitted_now() -> int:
    sets = (Sets * 2)()
    succeed(libc.capget(ctypes.byref(header()), sets), "capget")
    return int(sets[0].permitted)


def keep_only(mask: int) -> None:
    sets = (Sets * 2)(Sets(mask, mask, mask), Sets(0, 0, 0))
    succeed(libc.capset(ctypes.byref(header()), sets), "capset")


def header() -> Header:
    return Header(LINUX_CAPABILITY_VERSION_3, 0)


def succeed(outcome: int, what: str) -> None:
    if outcome != 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main()
