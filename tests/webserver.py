"""A web server outside the product, for tests of what is fetched: it remembers what it was asked."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.1"
SLOW_SECONDS = 1.5
BOMB_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True)
class Asked:
    """One request as the server got it; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class _Script:
    bodies: list[bytes]
    status: int
    headers: dict[str, str]

    def next(self) -> bytes:
        return self.bodies.pop(0) if len(self.bodies) > 1 else self.bodies[0]


class WebServer:
    """Answers by path; ``url("/echo")`` gives an address on it."""

    def __init__(self) -> None:
        self._server = _Server((LOOPBACK, 0), _Handler)

    @property
    def asked(self) -> list[Asked]:
        return self._server.asked

    def url(self, path: str, host: str = LOOPBACK) -> str:
        return f"http://{host}:{self._server.server_port}{path}"

    def got(self, path: str) -> list[Asked]:
        """Give the requests to a path, in order."""
        return [asked for asked in self.asked if asked.path == path]

    def answer(self, path: str, *bodies: bytes, status: int = 200, **headers: str) -> None:
        """Answer requests to a path with these JSON bodies in turn, the last of them ever after."""
        self._server.scripts[path] = _Script(list(bodies), status, headers)

    @contextmanager
    def running(self) -> Iterator[WebServer]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *told: Any) -> None:
        super().__init__(*told)
        self.asked: list[Asked] = []
        self.scripts: dict[str, _Script] = {}

    def handle_error(self, *told: Any) -> None:
        """Say nothing of clients that leave."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *told: Any) -> None:
        """Say nothing."""

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        told = Asked(self.command, self.path, headers, self.rfile.read(length))
        self.server.asked.append(told)
        path = self.path.partition("?")[0]
        if script := self.server.scripts.get(path):
            self.reply(script.status, script.next(), "application/json", **script.headers)
            return
        getattr(self, path.strip("/").replace("-", "_").split("/")[0], self.missing)()

    do_GET = do_HEAD = do_OPTIONS = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

    def reply(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def missing(self) -> None:
        self.reply(404, b'{"error": "no such page"}', "application/json")

    def hello(self) -> None:
        self.reply(200, b'{"hello": "world"}', "application/json", X_Kind="greeting")

    def failing(self) -> None:
        self.reply(503, b"later", "text/plain", Retry_After="100")

    def latin(self) -> None:
        self.reply(200, "Zoë".encode("latin-1"), "text/plain; charset=iso-8859-1")

    def wrong_bytes(self) -> None:
        self.reply(200, b"caf\xe9", "text/plain; charset=utf-8")

    def picture(self) -> None:
        self.reply(200, b"\x89PNG\x00\x01", "image/png")

    def slow(self) -> None:
        time.sleep(SLOW_SECONDS)
        self.reply(200, b"at last", "text/plain")

    def endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(b"x" * 65536)
        except OSError:
            return

    def bomb(self) -> None:
        body = gzip.compress(bytes(BOMB_BYTES), 9)
        self.reply(200, body, "text/plain", Content_Encoding="gzip")

    def cut(self) -> None:
        self.close_connection = True

    def turn(self) -> None:
        """Redirect to what the query says."""
        self.reply(302, b"", "text/plain", Location=self.path.partition("?")[2])

    def circle(self) -> None:
        self.reply(302, b"", "text/plain", Location="/circle")
