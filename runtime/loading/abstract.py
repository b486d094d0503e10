"""What an expression of a play stands for, as far as its text tells.

The static check does not know values; it knows that a name is the context, a map being built, a
function of the author's, a literal. Everything else is Unknown, which may still come from somewhere:
``source`` is ``input:<name>`` or ``map:<table>``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.loading.notes import MapNote, WaterfallNote, WaterfallStepNote
from runtime.loading.syntax import AuthorModule, FunctionNode, parameters_of, takes

LITERAL_SIZE = 20_000
"""How many parts a literal may have that is still put together from names of the module."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything; rows that come from ``source`` where that is known."""

    source: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A literal. ``size`` counts its parts, however often names repeat them."""

    value: Any
    size: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A list or tuple whose parts are no literals.

    What all its parts hold is kept here: lists of lists that share parts would be walked for ever.
    """

    parts: tuple[Value, ...]
    source: str | None = field(init=False)
    functions: tuple[Function, ...] = field(init=False)

    def __post_init__(self) -> None:
        held = {id(each): each for part in self.parts for each in functions_in(part)}
        object.__setattr__(self, "source", first_source(self.parts))
        object.__setattr__(self, "functions", tuple(held.values()))


@dataclass(frozen=True, slots=True)
class Ctx:
    """The context that a play or a row function is given."""


@dataclass(frozen=True, slots=True)
class CtxTools:
    """``ctx.tools``."""


@dataclass(frozen=True, slots=True)
class Input:
    """The play's input."""


@dataclass(frozen=True, slots=True)
class InputItem:
    """``input["name"]``."""

    name: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A dataset."""

    source: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Awaiting:
    """A coroutine that nobody awaited yet; ``what`` names the call."""

    result: Value
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Builder:
    """A map being built. ``key_columns``: the columns that its key is made of, so far as they are known."""

    note: MapNote
    key_columns: frozenset[str] = frozenset()
    key_line: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """One ``.step(...)``, before it is known in which map it runs."""

    name: str | None
    resolver: Value
    node: ast.expr
    scope: Scope
    branch: Branch


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """``steps()`` with its steps."""

    drafts: tuple[Draft, ...] = ()
    returning: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """``when(...)``."""

    predicate: Value
    run: Value
    otherwise: Value


@dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """``waterfall(...)``; ``parts`` so far as its steps are known."""

    note: WaterfallNote
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """``tool_step(...)`` with its ``map_input``, or ``code_step(...)`` with its ``run``."""

    note: WaterfallStepNote
    function: Value


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the author's, with the scope in which it was written.

    ``given`` and ``named`` are the arguments that ``functools.partial`` has fixed.
    """

    node: FunctionNode
    scope: Scope
    given: tuple[Value, ...] = ()
    named: Mapping[str, Value] = field(default_factory=dict)

    def takes(self, count: int) -> bool:
        """Whether it can be called with ``count`` more positional arguments, so far as one can tell."""
        return bool(self.named) or takes(self.node, len(self.given) + count)

    def bind(self, given: Sequence[Value]) -> dict[str, Value]:
        """Give what its parameters stand for when it is called with positional values."""
        values = zip(parameters_of(self.node), (*self.given, *given), strict=False)
        return {**self.named, **dict(values)}


@dataclass(frozen=True, slots=True)
class Sibling:
    """A module of the bundle."""

    module: AuthorModule


@dataclass(frozen=True, slots=True)
class Public:
    """A name of ``runtime``."""

    name: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something of the standard library or of an installed package."""

    dotted: str


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """An attribute that may be called."""

    owner: Value
    name: str


Value = (
    Unknown
    | Const
    | Items
    | Ctx
    | CtxTools
    | Input
    | InputItem
    | Rows
    | Awaiting
    | Builder
    | Program
    | Condition
    | Spec
    | Part
    | Function
    | Sibling
    | Public
    | Foreign
    | Method
)
Branch = tuple[tuple[int, int], ...]
"""The arms of conditions in which something stands: (the condition, the arm) from outside inwards."""

UNKNOWN = Unknown()


@dataclass(eq=False)
class Scope:
    """Names of one function (or lambda, comprehension), above those of the functions around it."""

    module: AuthorModule
    names: dict[str, Value] = field(default_factory=dict)
    above: Scope | None = None

    def find(self, name: str) -> Value | None:
        """Give what a name stands for here or further out; None: look at the module's top level."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.above
        return None

    def inner(self) -> Scope:
        """Give a scope inside this one."""
        return Scope(self.module, {}, self)


def source_of(value: Value) -> str | None:
    """Tell where rows come from: ``input:<name>``, ``map:<table>``, or None where the text does not say."""
    if isinstance(value, Rows | Unknown | Items):
        return value.source
    if isinstance(value, InputItem):
        return f"input:{value.name}"
    if isinstance(value, Awaiting):
        return source_of(value.result)
    return None


def first_source(values: Iterable[Value]) -> str | None:
    """Give the first source that is known among several values."""
    return next((found for each in values if (found := source_of(each))), None)


def text_of(value: Value) -> str | None:
    """Give a literal text, else None."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


def functions_in(value: Value) -> tuple[Function, ...]:
    """Give the author's functions that a value is or holds."""
    if isinstance(value, Function):
        return (value,)
    return value.functions if isinstance(value, Items) else ()


def memo_key(value: Value) -> object:
    """Give what makes two values the same for a function that is given them."""
    if isinstance(value, Const) and isinstance(value.value, str | int | float | bool | None):
        return type(value.value).__name__, value.value
    if isinstance(value, Function):
        return id(value.node)
    return value


def excludes(one: Branch, other: Branch) -> bool:
    """Whether two places can never both be reached: they stand in different arms of one condition."""
    arms = dict(one)
    return any(arms.get(condition, arm) != arm for condition, arm in other)
