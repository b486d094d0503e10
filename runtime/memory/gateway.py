"""The ``Gateway`` port in memory: tools are functions, a ledger remembers what they answered."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.ports import Clock, Member, MemberOutcome
from runtime.values import canonical_json

Json = Any

ToolScript = Callable[[Json], MemberOutcome | Awaitable[MemberOutcome]]
"""What a tool does with one member's input."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request that was made, and when on the clock."""

    tool: str
    members: list[Member]
    at: float


@dataclass
class ScriptedGateway:
    """Answers each member by its tool's function, after ``latency`` seconds on the clock.

    ``latency`` is one number, or a number by tool id (``inf``: that tool never answers). Definite
    answers are kept in ``ledger`` by tool and input and given again, as the gateway does for
    repeatable tools; ``sent`` counts the members that reached each tool's function.
    ``stop_reason`` not "": every request is answered with ``stopped``.
    """

    clock: Clock
    tools: Mapping[str, ToolScript] = field(default_factory=dict)
    latency: float | Mapping[str, float] = 0.05
    requests: list[SentRequest] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    ledger: dict[tuple[str, str], MemberOutcome] = field(default_factory=dict)
    in_flight: int = 0
    most_in_flight: int = 0
    stop_reason: str = ""

    async def execute(self, tool: str, members: list[Member]) -> list[MemberOutcome]:
        self.requests.append(SentRequest(tool, list(members), self.clock.now()))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self.clock.sleep(self._latency(tool))
            return [await self._answer(tool, member["input"]) for member in members]
        finally:
            self.in_flight -= 1

    def _latency(self, tool: str) -> float:
        if isinstance(self.latency, Mapping):
            return self.latency.get(tool, 0.05)
        return self.latency

    async def _answer(self, tool: str, call_input: Json) -> MemberOutcome:
        if self.stop_reason:
            return {"kind": "stopped", "code": self.stop_reason}
        key = (tool, canonical_json(call_input))
        if key in self.ledger:
            return {**self.ledger[key], "source": "ledger", "credits": 0.0}
        self.sent[tool] += 1
        answer = self.tools[tool](call_input)
        outcome = await answer if inspect.isawaitable(answer) else answer
        if outcome["kind"] in ("hit", "miss"):
            self.ledger[key] = outcome
        return outcome


def hit(result: Json, *, price: float = 0.0) -> MemberOutcome:
    """Give the outcome of a member that found something."""
    return {"kind": "hit", "result": result, "source": "live", "credits": price}


def miss() -> MemberOutcome:
    """Give the outcome of a member that found nothing."""
    return {"kind": "miss", "source": "live", "credits": 0.0}


def failed(
    message: str = "the provider failed",
    *,
    category: str = "upstream",
    code: str = "upstream_error",
    retryable: bool = False,
    retry_after: float | None = None,
) -> MemberOutcome:
    """Give the outcome of a member that failed."""
    return {
        "kind": "failed",
        "message": message,
        "category": category,
        "code": code,
        "retryable": retryable,
        "retry_after": retry_after,
    }
