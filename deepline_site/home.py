"""The one directory that holds an installation's state, and the few files in it.

`DEEPLINE_HOME` (by default `.deepline/` beside `manage.py`) holds the database, the queue,
uploads, the secret key, and the ports and passwords of the embedded servers. Nothing is
written outside it, so two checkouts never meet, and deleting it is a complete reset. This module
knows paths and file modes; it starts nothing and does not import Django, because settings are built
from it.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from deepline_site.ports import free_port

PROJECT = Path(__file__).resolve().parent.parent

ServerName = Literal["postgres", "valkey"]

OWNER_ONLY = 0o700
# Root's servers run as another user (see `privileges`), who has to get through this directory to
# its own part of it. Without read permission it still cannot list or open anything else.
OWNER_ONLY_PASSABLE = 0o711


@dataclass(frozen=True)
class Server:
    """Where one embedded server listens on 127.0.0.1, and its password."""

    port: int
    password: str


@dataclass(frozen=True)
class Product:
    """The addresses of a running `manage.py serve`."""

    web_url: str
    gateway_url: str


@dataclass(frozen=True)
class Home:
    """The paths of one installation. Making one touches no disk; `prepare` does."""

    path: Path

    @classmethod
    def from_environment(cls) -> Home:
        """Give the home that `DEEPLINE_HOME` names, relative to the working directory."""
        given = os.environ.get("DEEPLINE_HOME", "").strip()
        return cls(Path(given).expanduser().resolve() if given else PROJECT / ".deepline")

    @property
    def uploads(self) -> Path:
        return self.path / "uploads"

    @property
    def run(self) -> Path:
        """Locks and addresses that mean something only while a process runs."""
        return self.path / "run"

    def prepare(self) -> None:
        """Create what is missing; afterwards only the owner can read the directory."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(OWNER_ONLY_PASSABLE if os.geteuid() == 0 else OWNER_ONLY)
        for directory in (self.uploads, self.run):
            directory.mkdir(mode=OWNER_ONLY, exist_ok=True)

    def secret(self, name: str) -> str:
        """Return a secret of this installation; the first call of all makes it."""
        return self._write_once(name, secrets.token_urlsafe(50)).strip()

    def server(self, name: ServerName) -> Server:
        """Return where an embedded server listens; the first call of all chooses it."""
        first = Server(port=free_port(), password=secrets.token_urlsafe(32))
        return Server(**json.loads(self._write_once(f"{name}.json", json.dumps(asdict(first)))))

    def move_server(self, name: ServerName) -> Server:
        """Choose another port for a server whose port somebody else has taken.

        The caller holds the services lock, and the server does not run.
        """
        moved = Server(port=free_port(), password=self.server(name).password)
        self._write(f"{name}.json", json.dumps(asdict(moved)))
        return moved

    def database_url(self, database: str = "deepline") -> str:
        """Return the address of the embedded PostgreSQL, running or not."""
        server = self.server("postgres")
        return f"postgresql://deepline:{quote(server.password)}@127.0.0.1:{server.port}/{database}"

    def redis_url(self) -> str:
        """Return the address of the embedded Valkey, running or not."""
        server = self.server("valkey")
        return f"redis://:{quote(server.password)}@127.0.0.1:{server.port}/0"

    def product(self) -> Product | None:
        """Return the addresses of the `serve` that runs on this home, or None."""
        path = self.run / "product.json"
        if not self.is_locked("serve") or not path.exists():
            return None
        return Product(**json.loads(path.read_text()))

    def write_product(self, product: Product) -> None:
        """Tell other commands on this home where the product answers."""
        self._write("run/product.json", json.dumps(asdict(product)))

    @contextmanager
    def lock(self, name: str, *, shared: bool = False, wait: bool = True) -> Iterator[None]:
        """Hold a lock of this home; the kernel frees it when its holder dies.

        Raises BlockingIOError when it is held and `wait` is false.
        """
        self.prepare()
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        with (self.run / f"{name}.lock").open("a") as file:
            fcntl.flock(file, mode if wait else mode | fcntl.LOCK_NB)
            yield

    def is_locked(self, name: str) -> bool:
        """Tell whether a process holds that lock now."""
        try:
            with self.lock(name, wait=False):
                return False
        except BlockingIOError:
            return True

    def _write_once(self, name: str, content: str) -> str:
        """Write a private file unless it exists, and return what it holds then.

        Linking the finished file into place makes the first of several writers win, and leaves
        no half-written file behind when one is killed.
        """
        path = self.path / name
        if not path.exists():
            self.prepare()
            draft = _private_draft(path, content)
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return path.read_text()

    def _write(self, name: str, content: str) -> None:
        self.prepare()
        path = self.path / name
        _private_draft(path, content).replace(path)


def _private_draft(path: Path, content: str) -> Path:
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
    return draft
