"""What a play's process may see of the file system: what Python and the engine are made of, no more."""

from __future__ import annotations

import os
import sys

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
SCRATCH = "/tmp"  # noqa: S108  # a mount of the play's own


def readable() -> list[str]:
    """Give the paths that exist, none below another: the system's, Python's, the engine's."""
    engine = os.path.join(PROJECT, "runtime")
    pythons = [sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)]
    packages = [path for path in sys.path if not _holds(path, PROJECT)]
    found: list[str] = []
    for path in sorted({engine, *pythons, *packages, *SYSTEM, *SYSTEM_FILES}):
        if os.path.exists(path) and not any(_holds(other, path) for other in found):
            found.append(path)
    return found


def _holds(folder: str, path: str) -> bool:
    """Whether a folder is this path or above it."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def is_open(path: str, *, with_way: bool) -> bool:
    """Whether everybody may read a path, and (``with_way``) pass through all folders above it."""
    mode = os.stat(path).st_mode
    if not mode & 0o004:
        return False
    return not with_way or all(os.stat(above).st_mode & 0o001 for above in _above(path))


def _above(path: str) -> list[str]:
    path = os.path.realpath(path)
    return [path[:end] or "/" for end, letter in enumerate(path) if letter == "/"]
