"""The sandbox provider as a process of its own, with a count per input.

`uvicorn tests.chaos.provider:application`. It outlives every gateway, and it counts a call when it
arrives: whatever becomes of the answer, a real provider would have charged for it.
`GET /asked` tells the counts by tool and input.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from plays.tools.sandbox.rules import canonical
from plays.tools.sandbox.server import Application
from plays.tools.sandbox.tool import BATCHES, PREFIX
from plays.tools.wire import Receive, Scope, Send, answered, body_of, json_answer, loads

BODY_MAX = 32 * 1024 * 1024


class CountingProvider:
    """An ASGI application around the sandbox."""

    def __init__(self) -> None:
        self._sandbox = Application()
        self._asked: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/asked":
            told = [[tool, given, count] for (tool, given), count in self._asked.items()]
            await answered(send, json_answer(200, told))
            return
        body = await body_of(receive, BODY_MAX)
        if scope["method"] == "POST" and body:
            self._count(scope["path"].removeprefix(PREFIX), loads(body))
        await self._sandbox(scope, _again(body or b""), send)

    def _count(self, operation: str, told: Any) -> None:
        tool = BATCHES.get(operation, operation)
        for given in told["requests"] if operation in BATCHES else [told]:
            self._asked[tool, canonical(given)] += 1


def _again(body: bytes) -> Receive:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


application = CountingProvider()
