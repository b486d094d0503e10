"""Plain ASGI in a few functions: read a body, give an answer. For the gateway and the sandbox's server.

No framework stands between them and the wire, because their few routes need none and each call passes here
twice. JSON is read exactly (integers of any size) and NaN and infinities are refused unless said.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from runtime.values import canonical_bytes

Json = Any
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer; header names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(status: int, content: Json, headers: Mapping[str, str] | None = None) -> Answer:
    """Give an answer whose body is JSON."""
    told = {"content-type": "application/json", **(headers or {})}
    return Answer(status, canonical_bytes(content), told)


def loads(text: bytes | str, constant: Callable[[str], Json] | None = None) -> Json:
    """Parse JSON exactly; ``constant`` says what NaN and the infinities stand for. Raises ValueError."""
    try:
        return json.loads(text, parse_constant=constant or _no_constant)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


async def body_of(receive: Receive, most: int) -> bytes | None:
    """Read a request's whole body; None where it is longer than ``most`` bytes or its client is gone."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def answered(send: Send, answer: Answer) -> None:
    """Send an answer."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _no_constant(text: str) -> Json:
    raise ValueError(f"{text} is not JSON")
