"""As whom the embedded servers run: as oneself, or, where that is root, as somebody without rights.

Knows users, owners and modes; it knows neither server.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepline_site import unprivileged
from deepline_site.home import PROJECT


class ServicesError(Exception):
    """A database or queue server cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class ServerUser:
    """The user of the embedded servers, or nobody else when `uid` is None."""

    uid: int | None = None
    gid: int | None = None

    @classmethod
    def choose(cls) -> ServerUser:
        """Give oneself, or as root the checkout's owner, or `nobody`.

        Raises ServicesError when a machine has no user but root.
        """
        if os.geteuid() != 0:
            return cls()
        for entry in (_by_uid(PROJECT.stat().st_uid), _by_name("nobody")):
            if entry is not None and entry.pw_uid != 0:
                return cls(entry.pw_uid, entry.pw_gid)
        raise ServicesError(
            "PostgreSQL does not run as root, and this machine has no user `nobody`: "
            "run this as an ordinary user, or set DATABASE_URL and REDIS_URL."
        )

    def run(self, command: Sequence[str | Path], *, log: Path) -> int:
        """Run a program to its end as this user, beside its log; return its exit status.

        It has a session of its own, so that Ctrl-C does not reach a server that it leaves running,
        and sees nothing of this process' environment.
        """
        with log.open("ab") as output:
            return subprocess.run(
                self._command(command, beside=log.parent),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=log.parent,
                env={"PATH": os.defpath, "HOME": str(log.parent), "LC_ALL": "C"},
                start_new_session=True,
                check=False,
            ).returncode

    def own(self, directory: Path) -> None:
        """Create a private directory if need be, and make it and all in it this user's."""
        directory.mkdir(mode=0o700, exist_ok=True)
        if self.uid is None or self.gid is None or directory.stat().st_uid == self.uid:
            return
        for path in directory.rglob("*"):
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        # Last, because a directory that is already this user's is taken to be done.
        os.chown(directory, self.uid, self.gid)

    def write(self, path: Path, content: str) -> None:
        """Write a file that only this user can read."""
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_text(content)
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def _command(self, command: Sequence[str | Path], *, beside: Path) -> list[str]:
        plain = [str(part) for part in command]
        if self.uid is None:
            return plain
        is_open = self._may_pass(Path(plain[0])) and self._may_pass(beside)
        launcher = [sys.executable, "-I", unprivileged.__file__, str(self.uid), str(self.gid)]
        return [*launcher, "open" if is_open else "closed", *plain]

    def _may_pass(self, path: Path) -> bool:
        """Tell whether this user gets through all directories on the way to a path."""
        return all(self._may_enter(parent.stat()) for parent in path.resolve().parents)

    def _may_enter(self, directory: os.stat_result) -> bool:
        bits = directory.st_mode & 0o111
        if directory.st_uid == self.uid:
            return bool(bits & 0o100)
        if directory.st_gid == self.gid:
            return bool(bits & 0o010)
        return bool(bits & 0o001)


def _by_uid(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _by_name(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None
