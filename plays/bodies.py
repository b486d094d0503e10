"""A bound on request bodies, in front of Django, which would write any body to disk first.

A request that announces too long a body is answered at once, by the page that says so, and what it
sends is dropped. One that announces no length is counted while it arrives. Nothing here knows what
an upload is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.conf import settings

from plays.uploads.shapes import MEBIBYTE

Scope = Any
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

FORM_BYTES = MEBIBYTE
"""What a form may hold beside its file."""
REFUSAL_PATH = "/too-large/"


def with_body_limit(application: Application) -> Application:
    """Give an application whose request bodies are as long as an upload may be, and no longer."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        limit = settings.DEEPLINE_UPLOAD_LIMIT_MB * MEBIBYTE + FORM_BYTES
        if scope["type"] != "http":
            await application(scope, receive, send)
        elif _announced(scope) > limit:
            await application(_asking_for_refusal(scope), _drained(receive), send)
        else:
            await _counted(application, scope, receive, send, limit=limit)

    return limited


async def _counted(
    application: Application, scope: Scope, receive: Receive, send: Send, *, limit: int
) -> None:
    """Pass a body on while it is within the limit; beyond, the application sees a lost client."""
    seen = 0

    async def take() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return message if seen <= limit else {"type": "http.disconnect"}

    async def give(message: Message) -> None:
        if seen <= limit:
            await send(message)

    await application(scope, take, give)
    if seen > limit:
        await _refuse(send)


def _announced(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0


def _asking_for_refusal(scope: Scope) -> Scope:
    """Turn the request into one for the page of the refusal, with the same cookies."""
    kept = [
        (name, value)
        for name, value in scope["headers"]
        if name not in (b"content-length", b"content-type")
    ]
    told = {"path": REFUSAL_PATH, "raw_path": REFUSAL_PATH.encode(), "query_string": b""}
    return {**scope, **told, "method": "GET", "headers": kept}


def _drained(receive: Receive) -> Receive:
    """Give an empty body, then drop what comes until the client is gone."""
    has_begun = False

    async def take() -> Message:
        nonlocal has_begun
        if not has_begun:
            has_begun = True
            return {"type": "http.request", "body": b"", "more_body": False}
        while (message := await receive())["type"] != "http.disconnect":
            pass
        return message

    return take


async def _refuse(send: Send) -> None:
    sentence = (
        f"The request is larger than {settings.DEEPLINE_UPLOAD_LIMIT_MB} MB, the most here.\n"
    )
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": sentence.encode()})
