"""The sandbox's own side of the wire: an ASGI application with nothing of Django and no database.

The gateway mounts it under ``/sandbox``; ``uvicorn plays.tools.sandbox.server:application`` serves it by
itself, with counts that outlive the gateway. ``POST /sandbox/<operation>`` takes an input, or
``{"requests": [input...]}`` for a batch operation; the header ``x-sandbox-attempts`` holds the attempt number
of each call, separated by commas. ``GET /sandbox/stats`` tells what reached it.

Environment: ``SANDBOX_LATENCY_MS`` per request (40), ``SANDBOX_RPS`` requests a second (no limit).
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plays.tools.sandbox import quirks, rules
from plays.tools.sandbox.tool import ATTEMPTS_HEADER, BATCH_SIZES, BATCHES, PREFIX
from plays.tools.wire import Answer, Receive, Scope, Send, answered, body_of, json_answer, loads

Json = Any

TEST_RATE_LIMIT = "test_rate_limit"
TEST_RATE_LIMIT_RPS = 5.0
BODY_MAX = 32 * 1024 * 1024
DEFAULT_LATENCY_MS = 40.0


@dataclass
class Counts:
    """What reached the provider: requests, the calls in them, and the calls that found something."""

    requests: int = 0
    members: int = 0
    hits: int = 0

    def add(self, members: int, hits: int) -> None:
        self.requests += 1
        self.members += members
        self.hits += hits

    def to_json(self) -> dict[str, int]:
        return {"requests": self.requests, "members": self.members, "hits": self.hits}


class Window:
    """At most ``rate`` requests in any second; tells exactly when the next one is welcome."""

    def __init__(self, rate: float) -> None:
        self._span = max(1.0, 1.0 / rate)
        self._most = max(1, math.floor(rate))
        self._taken: deque[float] = deque()

    def wait(self, now: float) -> float:
        """Take a place and give 0, or give the seconds until there is one."""
        while self._taken and self._taken[0] <= now - self._span:
            self._taken.popleft()
        if len(self._taken) < self._most:
            self._taken.append(now)
            return 0.0
        return self._taken[0] + self._span - now


@dataclass
class Sandbox:
    """One sandbox: its pace, and its counts since it started."""

    latency_seconds: float = DEFAULT_LATENCY_MS / 1000
    requests_per_second: float | None = None
    counts: dict[str, Counts] = field(default_factory=dict)
    total: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        rate = self.requests_per_second
        self._window = Window(rate) if rate else None
        self._test_window = Window(TEST_RATE_LIMIT_RPS)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Sandbox:
        """Read the pace from the environment; raises ValueError that names a variable which is no number."""
        latency = _number(environment, "SANDBOX_LATENCY_MS")
        rate = _number(environment, "SANDBOX_RPS")
        return cls((DEFAULT_LATENCY_MS if latency is None else latency) / 1000, rate or None)

    def stats(self) -> dict[str, Json]:
        """Give the totals, and the same by tool."""
        tools = {tool: counts.to_json() for tool, counts in sorted(self.counts.items())}
        return {**self.total.to_json(), "tools": tools}

    async def answer(self, operation: str, body: bytes, attempts: str) -> Answer:
        """Answer one request to an operation, after the latency."""
        tool_id = BATCHES.get(operation, operation)
        if tool_id not in rules.HIT_RATES:
            return _refused(404, f"the sandbox has no operation {operation}")
        inputs = _inputs(body, is_batch=operation in BATCHES)
        if inputs is None:
            return _refused(400, "the body is not what this operation takes")
        if operation in BATCHES and len(inputs) > BATCH_SIZES[tool_id]:
            return _refused(413, f"{operation} takes at most {BATCH_SIZES[tool_id]} requests")
        reply, hits = await self._reply(operation, inputs, _attempts(attempts, len(inputs)))
        for counts in (self.total, self.counts.setdefault(tool_id, Counts())):
            counts.add(len(inputs), hits)
        return reply

    async def _reply(
        self, operation: str, inputs: Sequence[Json], attempts: Sequence[int]
    ) -> tuple[Answer, int]:
        wait = self._wait(operation)
        if wait:
            headers = {"retry-after": f"{math.ceil(wait * 1000) / 1000:g}"}
            return _refused(429, "too many requests a second", headers), 0
        conduct = quirks.conduct(inputs, attempts)
        await asyncio.sleep(quirks.SLOW_SECONDS if conduct.is_slow else self.latency_seconds)
        if conduct.refusal:
            is_limit = conduct.refusal.status == 429
            headers = quirks.RATE_LIMITED_HEADERS if is_limit else {}
            return _refused(conduct.refusal.status, conduct.refusal.message, headers), 0
        if conduct.is_garbage:
            return Answer(200, b"<html>This is not JSON.</html>"), 0
        if operation in BATCHES:
            return _bulk(BATCHES[operation], inputs, attempts, conduct)
        return _single(operation, inputs[0], attempts[0])

    def _wait(self, operation: str) -> float:
        now = time.monotonic()
        if operation == TEST_RATE_LIMIT and (wait := self._test_window.wait(now)):
            return wait
        return self._window.wait(now) if self._window else 0.0


def _single(tool_id: str, given: Json, attempt: int) -> tuple[Answer, int]:
    entry = _entry(tool_id, given, attempt)
    if isinstance(entry, quirks.Refusal):
        return _refused(entry.status, entry.message), 0
    return json_answer(200, entry), int(entry is not None)


def _bulk(
    tool_id: str, inputs: Sequence[Json], attempts: Sequence[int], conduct: quirks.Conduct
) -> tuple[Answer, int]:
    asked = list(zip(inputs, attempts, strict=True))[: conduct.length]
    entries = [_entry(tool_id, given, attempt) for given, attempt in asked]
    hits = sum(entry is not None and not isinstance(entry, quirks.Refusal) for entry in entries)
    results = [_told(entry) for entry in entries]
    if conduct.is_shuffled:
        pairs = zip(inputs, results, strict=False)
        results = [{**(result or {}), "input": given} for given, result in pairs][::-1]
    return json_answer(200, {"results": results}), hits


def _entry(tool_id: str, given: Json, attempt: int) -> Json | quirks.Refusal:
    refusal = quirks.refusal_of_call(tool_id, given, attempt)
    if refusal:
        return refusal
    try:
        return rules.outcome(tool_id, given)
    except rules.Rejected as error:
        return quirks.Refusal(422, str(error))


def _told(entry: Json | quirks.Refusal) -> Json:
    if isinstance(entry, quirks.Refusal):
        return {"error": {"status": entry.status, "message": entry.message}}
    return entry


def _inputs(body: bytes, *, is_batch: bool) -> list[Json] | None:
    try:
        told = loads(body)
    except ValueError:
        return None
    inputs = told.get("requests") if is_batch and isinstance(told, dict) else [told]
    is_good = isinstance(inputs, list) and all(isinstance(given, dict) for given in inputs)
    return inputs if is_good else None


def _attempts(header: str, count: int) -> list[int]:
    numbers = [int(part) for part in header.split(",") if part.strip().isdigit()]
    return numbers if len(numbers) == count else [1] * count


def _refused(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    told = {"error": {"status": status, "message": message}}
    return json_answer(status, told, headers or {})


def _number(environment: Mapping[str, str], name: str) -> float | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, not {text!r}")
    return number


class Application:
    """The ASGI face of a sandbox; made from the environment at the first request where none is given."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox

    @property
    def sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = Sandbox.from_environment()
        return self._sandbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await answered(send, await self.answer(scope, receive))

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        """Answer an HTTP request whose path lies under ``/sandbox/``."""
        operation = scope["path"].removeprefix(PREFIX)
        if scope["method"] == "GET" and operation == "stats":
            return json_answer(200, self.sandbox.stats())
        if scope["method"] != "POST" or operation == scope["path"]:
            return _refused(404, "the sandbox has no such address")
        body = await body_of(receive, BODY_MAX)
        if body is None:
            return _refused(413, "the body is too large")
        attempts = dict(scope["headers"]).get(ATTEMPTS_HEADER.encode(), b"")
        return await self.sandbox.answer(operation, body, attempts.decode("latin-1"))


application = Application()
