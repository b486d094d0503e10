"""The error tree of the engine.

    DeeplineError
    ├── PlayError                an author's mistake, told in one sentence
    │   ├── PlayInvalid          found at upload; carries problems with their lines
    │   ├── UnknownTool
    │   ├── NestedMap
    │   ├── DuplicateStep
    │   ├── DuplicateRowKeys
    │   ├── DuplicateName        two durable calls of one name at once
    │   ├── KeyInvalid
    │   └── NotJson              a value that JSON cannot hold
    ├── ToolFailed               one call of one tool failed
    ├── WaterfallIncomplete      no provider had a value and at least one failed
    ├── RowsFailed               a map with on_row_error="fail" had failed rows
    ├── ChildFailed              a child play failed
    └── HostFailed               the world behind a port failed
        └── HostGone             the pipe to the host is closed

A class exists where somebody does something different because of it. Stopping a run (pause, cancel,
a lost lease, a limit) is cancellation of its tasks and never an exception of this tree, so that an
author's ``except`` cannot swallow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class DeeplineError(Exception):
    """Something in a run went wrong."""


class PlayError(DeeplineError):
    """The play asks for something that cannot be done."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a play's source. ``line`` counts from 1; 0 is the whole file."""

    line: int
    message: str


class PlayInvalid(PlayError):
    """The play cannot be published. ``problems`` is never empty and is ordered by line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line)
        super().__init__(
            "; ".join(
                f"line {problem.line}: {problem.message}" if problem.line else problem.message
                for problem in self.problems
            )
        )


class UnknownTool(PlayError):
    """A tool id that the catalogue does not hold."""


class NestedMap(PlayError):
    """A map, or another top-level call, inside a row of a map."""


class DuplicateStep(PlayError):
    """Two steps of one map have the same name."""


class DuplicateRowKeys(PlayError):
    """Two rows of one map have the same explicit key."""


class DuplicateName(PlayError):
    """Two calls with one durable name run at the same time."""


class KeyInvalid(PlayError):
    """A blank name, or a row key that cannot be made."""


class NotJson(PlayError):
    """A value that JSON cannot hold."""


class ToolFailed(DeeplineError):
    """One call of one tool failed for good; the ledger holds no answer for it.

    ``category`` is one of validation, authentication, billing, quota, rate_limit, network, upstream,
    limit, internal. ``attempts`` counts requests that were made for this call in this run; ``request`` is
    the gateway's name of the last one.
    """

    def __init__(
        self,
        message: str,
        *,
        tool: str,
        provider: str,
        category: str,
        code: str = "",
        attempts: int = 0,
        retryable: bool = False,
        request: str = "",
    ) -> None:
        super().__init__(message)
        self.tool = tool
        self.provider = provider
        self.category = category
        self.code = code
        self.attempts = attempts
        self.retryable = retryable
        self.request = request
        self.message = message


class WaterfallIncomplete(DeeplineError):
    """No provider of a waterfall had a value, and at least one of them failed.

    ``reasons`` holds (provider or step, sentence) of each that failed, in the order they were asked.
    """

    def __init__(self, waterfall: str, reasons: Sequence[tuple[str, str]]) -> None:
        self.waterfall = waterfall
        self.reasons = list(reasons)
        told = "; ".join(f"{who}: {why}" for who, why in self.reasons)
        super().__init__(
            f"waterfall {waterfall} found no value and could not ask everybody: {told}"
        )


class RowsFailed(DeeplineError):
    """A map whose author asked for ``on_row_error="fail"`` had failed rows."""


class ChildFailed(DeeplineError):
    """A child play raised ``cause``, which :func:`describe` tells with this error."""

    def __init__(self, key: str, play: str, cause: dict[str, Any]) -> None:
        self.key = key
        self.play = play
        self.cause = cause
        super().__init__(
            f"the child play {play!r} (called as {key!r}) failed: {cause['type']}: {cause['message']}"
        )


class HostFailed(DeeplineError):
    """The host could not do what a port asked (store, queue or gateway unreachable)."""


class HostGone(HostFailed):
    """The pipe to the host is closed: nothing can be recorded any more."""


def describe(error: BaseException) -> dict[str, Any]:
    """Give the JSON form of an error: ``type``, ``message`` and what its class carries."""
    told: dict[str, Any] = {
        "type": type(error).__name__,
        "message": str(error) or type(error).__name__,
    }
    for name in ("tool", "provider", "category", "code", "attempts", "retryable", "request"):
        value = getattr(error, name, None)
        if isinstance(value, str | int | bool) and value != "":
            told[name] = value
    if isinstance(error, ChildFailed):
        told["cause"] = error.cause
    return told


def raise_of_host(error: BaseException) -> None:
    """Raise the HostFailed that an error is, or that a task group of the author gathered in it."""
    if isinstance(error, HostFailed):
        raise error
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            raise_of_host(each)
