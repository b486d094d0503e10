"""What an author writes, as frozen values: plays, step programs, conditions, waterfalls. Pure.

Nothing here runs anything; ``fields`` and ``waterfalls`` do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runtime.errors import DuplicateStep, PlayError
from runtime.identity import context_key

Resolver = Any
"""A plain value, a function of (row), (row, ctx) or (row, ctx, index), a When, or Steps."""

PlayFunction = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Play:
    """A named async function of ``(ctx, input)``; ``input_schema`` is JSON Schema or None."""

    name: str
    function: PlayFunction
    description: str = ""
    input_schema: dict[str, Any] | None = None


def play(
    name: str, *, description: str = "", input_schema: dict[str, Any] | None = None
) -> Callable[[PlayFunction], Play]:
    """Make the decorated async function a play. A module holds exactly one."""
    return lambda function: Play(context_key(name, "@play"), function, description, input_schema)


@dataclass(frozen=True, slots=True)
class Step:
    """One named entry of a program. ``stale_after_seconds``: None never, 0 always stale."""

    name: str
    resolver: Resolver
    stale_after_seconds: float | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether the field is left out of outputs."""
        return self.name.startswith("_")


@dataclass(frozen=True, slots=True)
class Steps:
    """A program: steps in order, and a function of the row for its value (else ``{step: value}``)."""

    steps: tuple[Step, ...] = ()
    returning: Callable[..., Any] | None = None

    def step(
        self, name: str, resolver: Resolver, *, stale_after_seconds: float | None = None
    ) -> Steps:
        """Give this program with one more step at its end. Raises on a blank or repeated name."""
        context_key(name, "step()")
        if any(step.name == name for step in self.steps):
            raise DuplicateStep(
                f"the step name {name!r} is used twice: give each step its own name"
            )
        return replace(self, steps=(*self.steps, Step(name, resolver, stale_after_seconds)))

    def returns(self, function: Callable[..., Any]) -> Steps:
        """Give this program with ``function(row)`` (or ``(row, ctx)``, ``(row, ctx, index)``) as value."""
        return replace(self, returning=function)


def steps() -> Steps:
    """Begin a nested program."""
    return Steps()


@dataclass(frozen=True, slots=True)
class When:
    """A condition on a step: ``run`` where the predicate holds, else ``otherwise`` and ``skipped``."""

    predicate: Callable[..., Any]
    run: Resolver
    otherwise: Any = None


def when(predicate: Callable[..., Any], *, run: Resolver, otherwise: Any = None) -> When:
    """Run a step only for rows for which ``predicate(row)`` holds."""
    if not callable(predicate):
        raise PlayError("when() needs a function of the row as its first argument")
    return When(predicate, run, otherwise)


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One tool of an inline waterfall; ``map_input`` maps the waterfall's input to the tool's."""

    id: str
    tool: str
    map_input: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class CodeStep:
    """One piece of the author's code in an inline waterfall: ``run(input, ctx)``."""

    id: str
    run: Callable[..., Any]


WaterfallStep = ToolStep | CodeStep


@dataclass(frozen=True, slots=True)
class Waterfall:
    """An inline waterfall: steps tried in order until there are ``min_results`` values of ``output``."""

    id: str
    output: str
    steps: tuple[WaterfallStep, ...] = field(default=())
    min_results: int = 1


def waterfall(
    *, id: str, output: str, steps: Sequence[WaterfallStep], min_results: int = 1
) -> Waterfall:
    """Declare an inline waterfall. Raises PlayError on a spec that could not run."""
    key = context_key(id, "waterfall()")
    if not str(output or "").strip():
        raise PlayError(f"the waterfall {key!r} needs the name of its output")
    if type(min_results) is not int or min_results < 1:
        raise PlayError(f"the waterfall {key!r} needs min_results of at least 1")
    if not steps:
        raise PlayError(
            f"the waterfall {key!r} has no steps: give tool_step(...) or code_step(...)"
        )
    for step in steps:
        if not isinstance(step, ToolStep | CodeStep):
            raise PlayError(
                f"the waterfall {key!r} holds something that is no tool_step or code_step: make each step"
                " with tool_step(...) or code_step(...)"
            )
    if len({step.id for step in steps}) < len(steps):
        raise DuplicateStep(f"the waterfall {key!r} uses a step id twice: give each its own")
    return Waterfall(key, output, tuple(steps), min_results)


def tool_step(id: str, tool: str, map_input: Callable[[Any], Any] | None = None) -> ToolStep:
    """Declare a tool step of an inline waterfall."""
    return ToolStep(context_key(id, "tool_step()"), context_key(tool, "tool_step()"), map_input)


def code_step(id: str, run: Callable[..., Any]) -> CodeStep:
    """Declare a code step of an inline waterfall; ``run`` takes ``(input, ctx)``, in its row's context."""
    return CodeStep(context_key(id, "code_step()"), run)
