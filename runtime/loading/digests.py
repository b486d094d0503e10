"""The digest of a step's code: what must agree for a known cell to be used again.

It is taken from the syntax tree without positions, comments, type hints and docstrings, from every
module-level name that the code uses, transitively, and from the values that it has captured. Where any
of these cannot be determined the digest is empty, and the caller takes the whole revision's instead:
a value must never be reused that the present code would not give.
"""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Callable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from runtime.loading.codetexts import (
    Code,
    file_of_function,
    file_of_module,
    is_installed_file,
    is_installed_module,
)
from runtime.program import CodeStep, Step, Steps, ToolStep, Waterfall, When
from runtime.values import Json, digest

OWN_DIGEST = "__step_digest__"
"""An attribute by which a resolver that no author wrote carries the digest of what it was made from."""

CONTEXT = ("runtime.context", "Context")
"""The class of ``ctx``: capturing it says nothing about the code. Named, not imported: it lies above."""

TELLING_LIMIT = 20_000
"""How many lists, dicts, functions and the like are told before the code counts as undetermined."""

MEANT_BY_REPR = (bytes, complex, date, time, timedelta, Decimal, range, slice)
BUILT_IN = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)
TOLD_ONCE = (types.FunctionType, types.ModuleType, type)
"""What is told in full once, and then by its number: functions may call each other in circles."""


class UndeterminedError(Exception):
    """Something of the code cannot be told."""


def code_digest(resolver: object) -> str:
    """Give the digest of a step's code as 64 hexadecimal digits, or "" where it cannot be determined."""
    try:
        return digest(_Telling().tell(resolver))
    except (UndeterminedError, RecursionError):
        return ""


class _Telling:
    """Tells values as JSON that is the same wherever the same code is loaded."""

    def __init__(self) -> None:
        self._told: dict[int, int] = {}
        self._made: dict[tuple[str, str], None] = {}
        self._count = 0
        self._tellings: dict[type, Callable[[_Telling, Any], Json]] = {}

    def tell(self, value: object) -> Json:
        """Give the JSON that stands for a value. Raises UndeterminedError."""
        if value is None or type(value) in (str, bool, int):
            return ["is", value]
        if type(value) is float:
            return ["number", repr(value)]
        self._count += 1
        if self._count > TELLING_LIMIT:
            raise UndeterminedError
        if isinstance(value, TOLD_ONCE):
            if id(value) in self._told:
                return ["again", self._told[id(value)]]
            self._told[id(value)] = len(self._told)
        kind = type(value)
        if kind not in self._tellings:
            self._tellings[kind] = next(
                (telling for kinds, telling in TELLINGS if issubclass(kind, kinds)), _Telling._other
            )
        return self._tellings[kind](self, value)

    def _list(self, value: list[Any] | tuple[Any, ...]) -> Json:
        return ["list", [self.tell(each) for each in value]]

    def _dict(self, value: Mapping[Any, Any]) -> Json:
        if not all(isinstance(key, str | int | bool | None) for key in value):
            raise UndeterminedError
        pairs = sorted(value.items(), key=lambda pair: (type(pair[0]).__name__, str(pair[0])))
        return ["dict", [[self.tell(key), self.tell(each)] for key, each in pairs]]

    def _set(self, value: set[Any] | frozenset[Any]) -> Json:
        if not all(isinstance(each, str | int | float | bool | None) for each in value):
            raise UndeterminedError
        return ["set", sorted(map(repr, value))]

    def _function(self, function: types.FunctionType) -> Json:
        if own := getattr(function, OWN_DIGEST, ""):
            return ["own", own]
        if is_installed_file(function.__code__.co_filename):
            name = [function.__globals__.get("__name__"), function.__code__.co_qualname]
            return ["named", name, self._captured(function, None), self._defaults(function)]
        file = file_of_function(function)
        code = file.function(function.__code__) if file else None
        if code is None:
            raise UndeterminedError
        used = self._globals(code, function.__globals__)
        return ["code", code.text, used, self._captured(function, code), self._defaults(function)]

    def _defaults(self, function: types.FunctionType) -> Json:
        return [self.tell(function.__defaults__), self.tell(function.__kwdefaults__)]

    def _captured(self, function: types.FunctionType, code: Code | None) -> dict[str, Json]:
        told: dict[str, Json] = {}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                value = cell.cell_contents
            except ValueError:  # bound later
                raise UndeterminedError from None
            keys = code.keys_read(name) if code else None
            if keys is not None and isinstance(value, Mapping):
                # Of a captured input only what the code reads of it counts, not which file it names.
                value = {key: value.get(key) for key in sorted(keys)}
            told[name] = self.tell(value)
        return told

    def _globals(
        self, code: Code, names: Mapping[str, Any], besides: frozenset[str] = frozenset()
    ) -> dict[str, Json]:
        if not all(is_installed_module(name) for name in code.imports):
            raise UndeterminedError  # which of the author's modules that is shows when it is run
        used = code.names - besides
        module = str(names.get("__name__", ""))
        return {
            name: self._global(name, names[name], module)
            for name in sorted(used)
            if name in names and not name.startswith("__")
        }

    def _global(self, name: str, value: object, module: str) -> Json:
        before = dict(self._told), dict(self._made)
        try:
            return self.tell(value)
        except UndeterminedError:
            # What was told on the way is not part of the digest, and may not be referred to.
            self._told, self._made = before
        # A value that JSON cannot hold counts as the statements that make it.
        if (module, name) in self._made:
            return ["made above", name]
        self._made[module, name] = None
        file = file_of_module(module)
        made = file.statements_on(name) if file else None
        if made is None:
            raise UndeterminedError
        return [
            "made",
            made.text,
            self._globals(made, vars(sys.modules[module]), frozenset({name})),
        ]

    def _module(self, module: types.ModuleType) -> Json:
        if is_installed_module(module.__name__):
            return ["module", module.__name__]
        file = file_of_module(module.__name__)
        if file is None or hasattr(module, "__path__"):
            raise UndeterminedError  # of a package it does not show which modules of it are meant
        if not all(is_installed_module(name) for name in file.inner_imports):
            raise UndeterminedError
        code = file.code(*file.tree.body)
        others = sorted(name for name in file.names_of_others(code) if name in vars(module))
        return ["source", code.text, {name: self.tell(vars(module)[name]) for name in others}]

    def _class(self, kind: type) -> Json:
        if is_installed_module(kind.__module__):
            return ["named", [kind.__module__, kind.__qualname__]]
        file = file_of_module(kind.__module__)
        code = file.class_(kind.__qualname__) if file else None
        if code is None:
            raise UndeterminedError
        return ["class", code.text, self._globals(code, vars(sys.modules[kind.__module__]))]

    def _method(self, method: types.MethodType) -> Json:
        return ["method", self.tell(method.__func__), self.tell(method.__self__)]

    def _partial(self, partial: functools.partial[Any]) -> Json:
        parts = (partial.func, partial.args, partial.keywords)
        return ["partial", [self.tell(each) for each in parts]]

    def _built_in(self, function: types.BuiltinFunctionType) -> Json:
        owner = getattr(function, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType | type):
            return ["method", function.__name__, self.tell(owner)]
        return ["named", [getattr(function, "__module__", None), function.__qualname__]]

    def _pattern(self, pattern: re.Pattern[Any]) -> Json:
        return ["pattern", repr(pattern.pattern), pattern.flags]

    def _enum(self, member: Enum) -> Json:
        return ["member", self.tell(type(member)), member.name]

    def _repr(self, value: object) -> Json:
        return [type(value).__name__, repr(value)]

    def _step(self, step: Step) -> Json:
        # How long a cell lasts is no part of the code that fills it.
        return ["step", step.name, self.tell(step.resolver)]

    def _fields(self, value: Steps | When | Waterfall | ToolStep | CodeStep) -> Json:
        parts = {name: self.tell(getattr(value, name)) for name in type(value).__slots__}
        return [type(value).__name__, parts]

    def _other(self, value: object) -> Json:
        kind = type(value)
        if (kind.__module__, kind.__qualname__) == CONTEXT:
            return ["ctx"]
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None and is_installed_module(kind.__module__):
            return ["wrapped", kind.__qualname__, self.tell(wrapped)]
        raise UndeterminedError


TELLINGS: tuple[tuple[type | tuple[type, ...], Callable[[_Telling, Any], Json]], ...] = (
    (Step, _Telling._step),
    ((Steps, When, Waterfall, ToolStep, CodeStep), _Telling._fields),
    (types.FunctionType, _Telling._function),
    (types.MethodType, _Telling._method),
    (BUILT_IN, _Telling._built_in),
    (functools.partial, _Telling._partial),
    (types.ModuleType, _Telling._module),
    (Enum, _Telling._enum),
    (type, _Telling._class),
    ((list, tuple), _Telling._list),
    (dict, _Telling._dict),
    ((set, frozenset), _Telling._set),
    (re.Pattern, _Telling._pattern),
    (MEANT_BY_REPR, _Telling._repr),
)
