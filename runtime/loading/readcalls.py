"""One call of the play API in the text, with its arguments bound and read."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.loading.abstract import UNKNOWN, Const, Function, Scope, Value
from runtime.loading.notes import CallNote, Place
from runtime.loading.surface import Form, bind
from runtime.loading.syntax import called, is_generator

if TYPE_CHECKING:
    from runtime.loading.reading import Reader


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call that fits its form. ``arguments`` are its syntax, ``given`` what they stand for."""

    reader: Reader
    form: Form
    node: ast.Call
    scope: Scope
    arguments: Mapping[str, ast.expr]
    given: Mapping[str, Value]

    @property
    def place(self) -> Place:
        """Where the call stands."""
        return self.reader.place(self.node, self.scope)

    def get(self, name: str) -> Value:
        """Give what an argument stands for; Unknown where the text does not show it."""
        return self.given.get(name, UNKNOWN)

    def has(self, name: str) -> bool:
        """Whether the text shows an argument."""
        return name in self.given

    def problem(self, message: str, argument: str = "") -> None:
        """Note a problem at an argument, or at the call."""
        self.reader.problem(self.arguments.get(argument, self.node), self.scope, message)

    def literal(self, name: str) -> tuple[object, bool]:
        """Give an argument's literal value, and whether it is one."""
        value = self.get(name)
        return (value.value, True) if isinstance(value, Const) else (None, False)

    def name(self, argument: str) -> str | None:
        """Give a literal text that names something, or None where it is computed.

        Anything else, and a blank one, is a problem.
        """
        text, is_known = self.literal(argument)
        if not is_known and not isinstance(self.get(argument), Function):
            return None
        where = f"{argument!r} of {self.form.name}"
        if not isinstance(text, str):
            told = repr(text) if is_known else "a function"
            self.problem(f"{where} has to be text, not {told}", argument)
            return None
        if not text.strip():
            self.problem(f"{where} must not be blank", argument)
            return None
        return text

    def number(self, argument: str, *, may_be_zero: bool = True) -> None:
        """Check a literal number of seconds."""
        value, is_known = self.literal(argument)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_known or (is_number and (value > 0 or (may_be_zero and value == 0))):  # type: ignore[operator]
            return
        least = "a number of at least 0" if may_be_zero else "a number above 0"
        told = f"{argument!r} of {self.form.name} has to be {least}, not {value!r}"
        self.problem(told, argument)

    def function(self, argument: str, counts: range, written: str) -> Function | None:
        """Give an argument that is a function of the author's.

        ``counts``: how many arguments it may take; ``written``: how it is called, for the sentence.
        """
        value = self.get(argument)
        if not isinstance(value, Function):
            return None
        if not any(value.takes(count) for count in counts):
            self.problem(
                f"{called(value.node)} is called {written}: change what it takes", argument
            )
        elif is_generator(value.node):
            self.problem(f"{called(value.node)} yields: return one value instead", argument)
        return value

    def note(self, kind: str, key: str | None, known: Mapping[str, object] | None = None) -> None:
        """Note the call in the pipeline, at the step that is being read or at the top."""
        self.reader.calls.append(CallNote(kind, key, self.place, known or {}))


def read_call(reader: Reader, form: Form, node: ast.Call, scope: Scope) -> ReadCall | None:
    """Bind and read a call's arguments; one that does not fit is a problem, and gives None."""
    bound = bind(form, node)
    shown = set(map(id, bound.arguments.values()))
    given = {name: reader.value(each, scope) for name, each in bound.arguments.items()}
    rest = [*node.args, *(keyword.value for keyword in node.keywords)]
    for each in rest:
        if id(each) not in shown:
            reader.escape(reader.value(each, scope))
    if bound.problem and not bound.is_open:
        reader.problem(node, scope, bound.problem)
        for value in given.values():
            reader.escape(value)
        return None
    return ReadCall(reader, form, node, scope, bound.arguments, given)
