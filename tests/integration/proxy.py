"""A way to a server that can be cut: what is behind it is then out of reach, and still there."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

from deepline_site.ports import LOOPBACK

PIECE = 64 * 1024


class Way:
    """Forwards TCP connections to the server of an address; ``url`` leads through it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._server = (parts.hostname, parts.port)
        self._listening = socket.create_server((LOOPBACK, 0))
        self._open: set[socket.socket] = set()
        self._is_cut = False
        user, at, _ = parts.netloc.rpartition("@")
        port = self._listening.getsockname()[1]
        self.url = urlunsplit(parts._replace(netloc=f"{user}{at}{LOOPBACK}:{port}"))
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        self._is_cut = True
        for connection in list(self._open):
            self._end(connection)

    def mend(self) -> None:
        """Let connections through again."""
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                theirs, _ = self._listening.accept()
                if self._is_cut:
                    theirs.close()
                    continue
                ours = socket.create_connection(self._server)
                for one, other in ((theirs, ours), (ours, theirs)):
                    self._open.add(one)
                    threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while piece := one.recv(PIECE):
                other.sendall(piece)
        for end in (one, other):
            self._end(end)

    def _end(self, connection: socket.socket) -> None:
        self._open.discard(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
