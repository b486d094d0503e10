"""Static files: the project's own, and the few that pages load from front-end packages.

WhiteNoise decides headers, encodings and conditional answers. It is asked here, in front of Django,
because its middleware is synchronous: in Django's chain it would send every request of the ASGI
server through a thread, and file responses would be buffered with a warning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.checks import CheckMessage
from django.core.files.storage import FileSystemStorage, Storage
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class VendorFinder(BaseFinder):
    """Finds the files that `settings.VENDOR_FILES` lists, once `make setup` has fetched them."""

    def check(self, **kwargs: object) -> list[CheckMessage]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: object) -> Any:
        source = settings.VENDOR_FILES.get(path)
        found = [str(source)] if source is not None and source.exists() else []
        # Django wants an empty list for "not here" in either case.
        return found if find_all or not found else found[0]

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[tuple[str, Storage]]:
        for path, source in settings.VENDOR_FILES.items():
            if source.exists():
                yield path, _OneFileStorage(source)


class _OneFileStorage(FileSystemStorage):
    """A storage in which every name is the same file."""

    def __init__(self, source: Path) -> None:
        super().__init__(location=source.parent)
        self._source = source

    def path(self, name: str) -> str:
        return str(self._source)


def with_static_files(application: Application) -> Application:
    """Return an application that answers `STATIC_URL` itself and passes the rest on."""
    index = WhiteNoiseMiddleware()
    # While somebody works on the pages, files are looked up anew for each request.
    find = index.find_file if index.autorefresh else index.files.get

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        found = find(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await application(scope, receive, send)
        else:
            await _send_file(found, scope, send)

    return serve


async def _send_file(file: StaticFile, scope: Scope, send: Send) -> None:
    asked = {
        "HTTP_" + name.decode("latin-1").upper().replace("-", "_"): value.decode("latin-1")
        for name, value in scope["headers"]
    }
    answer = file.get_response(scope["method"], asked)
    body = await asyncio.to_thread(answer.file.read) if answer.file else b""
    headers = [(name.encode(), value.encode()) for name, value in answer.headers]
    headers.append((b"X-Content-Type-Options", b"nosniff"))
    await send({"type": "http.response.start", "status": int(answer.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
