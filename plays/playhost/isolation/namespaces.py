"""A process in namespaces of its own: no network, no other process, a few folders, all read-only.

Three processes stand in a row: the keeper outside, the first process of the new process namespace,
and the play. The kernel ends everything in the namespace when its first process ends.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NoReturn

from plays.playhost.isolation import view
from plays.playhost.isolation.keeper import Child, die_with_parent
from plays.playhost.isolation.kernel import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MOUNT_NO_DEV,
    MOUNT_NO_SUID,
    MOUNT_READ_ONLY,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    Lacking,
    become_root_directory,
    clone,
    mount,
    restrict_mount,
)

ALL = (
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
)  # fmt: skip
SCRATCH_SIZE = "64m"
BUILDING_SITE = "/sys"
"""A folder that every machine has and that nothing is taken from: the new root is mounted on it."""

_READY = b"+"


def start(descriptor: int) -> Child:
    """Make the process of the play; in it, the child's number is 0.

    ``descriptor`` is closed in the process between. Raises Lacking; nothing is left then.
    """
    mapped, tell_mapped = os.pipe()
    news, tell_news = os.pipe()
    keeper = os.getpid()
    try:
        pid = clone(ALL)
    except Lacking:
        _close(mapped, tell_mapped, news, tell_news)
        raise
    if pid == 0:
        _close(tell_mapped, news)
        _first_process(keeper, (mapped, tell_news), descriptor)
        return Child(0)
    _close(mapped, tell_news)
    _map_users(pid, tell_mapped)
    told = os.read(news, 1)
    if told != _READY:
        why = told + os.read(news, 1000)
        os.close(news)
        os.waitpid(pid, 0)
        raise Lacking(why.decode() or "the process in namespaces ended at once")
    return Child(pid, news)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _map_users(pid: int, tell: int) -> None:
    """Give the process the users that it may have: all as root, else one's own. Its next step waits."""
    with suppress(OSError):  # the process will say what it lacks
        if os.geteuid() == 0:
            for kind in ("uid", "gid"):
                _write(f"/proc/{pid}/{kind}_map", _same_as_ours(f"/proc/self/{kind}_map"))
        else:
            _write(f"/proc/{pid}/setgroups", "deny")
            _write(f"/proc/{pid}/uid_map", f"{os.geteuid()} {os.geteuid()} 1")
            _write(f"/proc/{pid}/gid_map", f"{os.getegid()} {os.getegid()} 1")
    _close(tell)


def _same_as_ours(path: str) -> str:
    with open(path) as file:
        ranges = [line.split() for line in file]
    return "".join(f"{first} {first} {count}\n" for first, _, count in ranges)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _first_process(keeper: int, pipes: tuple[int, int], descriptor: int) -> None:
    """Build the view, start the play's process, which alone returns, and wait for it."""
    mapped, tell = pipes
    try:
        die_with_parent(0)
        os.read(mapped, 1)
        os.close(mapped)
        _build()
        pid = os.fork()
    except (Lacking, OSError) as error:
        os.write(tell, str(error).encode()[:1000])
        os._exit(1)
    if pid == 0:
        os.close(tell)
        return
    os.close(descriptor)
    os.write(tell, _READY)
    _wait(pid, tell)


def _wait(play: int, tell: int) -> NoReturn:
    """Take in what ends, as the first process of a namespace must, until the play ends."""
    while True:
        pid, status = os.wait()
        if pid == play:
            os.write(tell, status.to_bytes(4, "big"))
            os._exit(0)


def _build() -> None:
    """Make a root of what a play may see, and make it this namespace's."""
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    new = BUILDING_SITE
    mount("tmpfs", new, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    _mount_scratch(new + view.SCRATCH)
    for path in view.readable():
        _show(path, new + path, MOUNT_READ_ONLY | MOUNT_NO_SUID | MOUNT_NO_DEV)
    for path in view.DEVICES:
        _show(path, new + path, MOUNT_READ_ONLY | MOUNT_NO_SUID)
    os.mkdir(new + "/proc")
    with suppress(Lacking):  # a container may refuse it; then there is none
        mount("proc", new + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    with suppress(OSError):
        _write("/proc/sys/user/max_user_namespaces", "0")
    become_root_directory(new)
    restrict_mount("/", MOUNT_READ_ONLY, with_all_below=False)


def _mount_scratch(target: str) -> None:
    os.mkdir(target)
    how = f"size={SCRATCH_SIZE},nr_inodes=10000,mode=1777"
    mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, how)


def _show(path: str, target: str, attributes: int) -> None:
    """Have a path in the new root. A link at the top, as /bin often is, stays one."""
    if os.path.islink(path) and os.path.dirname(path) == "/":
        os.symlink(os.readlink(path), target)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(path, target, flags=MS_BIND | MS_REC)
    restrict_mount(target, attributes)
