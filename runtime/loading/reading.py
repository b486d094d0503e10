"""Reads a play's text as a run would go through it, without running it.

Statements are visited in order, conditions in all their arms, loops once, and the author's own
functions wherever they are called, so that a tool asked by a helper belongs to the step that calls it.
This module holds where a reading is and follows functions and names; ``statements`` and ``expressions``
know Python's syntax, ``ctxcalls`` and ``programs`` the play API.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from runtime.loading import ctxcalls, expressions, statements
from runtime.loading.abstract import (
    UNKNOWN,
    Awaiting,
    Branch,
    Ctx,
    Foreign,
    Function,
    Public,
    Scope,
    Sibling,
    Unknown,
    Value,
    first_source,
    functions_in,
    memo_key,
)
from runtime.loading.imports import ENGINE, Imported, imported
from runtime.loading.notes import CallNote, Place, PlayNote
from runtime.loading.problems import Problems
from runtime.loading.surface import PUBLIC
from runtime.loading.syntax import (
    AuthorModule,
    FunctionNode,
    is_generator,
    line_of,
    parameters_of,
)
from runtime.loading.toolnames import ToolNames

NODE_LIMIT = 100_000
"""How many expressions are looked at before a play counts as too entangled to be read."""


class TooEntangledError(Exception):
    """The author's functions call one another in more ways than can be followed."""


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The step of a map whose row functions are being read."""

    table: str | None
    step: str

    def __str__(self) -> str:
        where = f" of the map {self.table!r}" if self.table else ""
        return f"the step {self.step!r}{where}"


class Reader:
    """One reading of a play: where it is, and what was found so far."""

    def __init__(
        self,
        modules: Mapping[str, AuthorModule],
        *,
        tools: ToolNames,
        problems: Problems,
        note: PlayNote,
    ) -> None:
        self.modules = modules
        self.tools = tools
        self.problems = problems
        self.note = note
        self.row: RowPlace | None = None
        self.calls: list[CallNote] = note.calls
        self.branch: Branch = ()
        self.loops: list[str] = []
        self._nodes = 0
        self._active: list[FunctionNode] = []
        self._memo: dict[tuple[object, ...], tuple[Value, Sequence[Value]]] = {}
        self._globals: dict[tuple[str, str], Value] = {}

    def problem(self, node: ast.AST, scope: Scope, message: str) -> None:
        """Note a problem at a node of the module that ``scope`` belongs to."""
        self.problems.add(line_of(node), message, scope.module.file)

    def place(self, node: ast.AST, scope: Scope) -> Place:
        """Give a node's line and file."""
        return Place(line_of(node), scope.module.file)

    @contextmanager
    def inside(self, table: str | None, step: str, calls: list[CallNote]) -> Iterator[None]:
        """Read what follows as functions of a row; their calls are noted in ``calls``."""
        before = self.row, self.calls
        self.row, self.calls = RowPlace(table, step), calls
        try:
            yield
        finally:
            self.row, self.calls = before

    @contextmanager
    def arm(self, condition: ast.AST, number: int) -> Iterator[None]:
        """Read what follows as one arm of a condition."""
        before = self.branch
        self.branch = (*before, (id(condition), number))
        try:
            yield
        finally:
            self.branch = before

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """Tell what an expression stands for, noting the calls in it. Raises TooEntangledError."""
        self._nodes += 1
        if self._nodes > NODE_LIMIT:
            raise TooEntangledError
        return expressions.read(self, node, scope)

    def children(self, node: ast.AST, scope: Scope) -> Value:
        """Read the expressions in a node of which nothing else is known."""
        return expressions.read_children(self, node, scope)

    def run(self, function: Function, given: Sequence[Value]) -> Value:
        """Read a function's body as though it were called with positional values."""
        return self._enter(function, function.bind(given))

    def call(self, function: Function, node: ast.Call, scope: Scope) -> Value:
        """Read a function's body as a call in the text calls it; give what the call gives."""
        given = [self.value(each, scope) for each in node.args]
        bound = function.bind(given)
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg:
                bound[keyword.arg] = value
        result = self._enter(function, bound)
        if result == UNKNOWN:
            result = Unknown(first_source([*given, *bound.values()]))
        if isinstance(function.node, ast.AsyncFunctionDef) and not is_generator(function.node):
            return Awaiting(result, f"{function.node.name}()")
        return result

    def escape(self, value: Value) -> None:
        """Read the functions in a value that goes where the text cannot be followed."""
        for function in functions_in(value):
            self.run(function, ())

    def _enter(self, function: Function, bound: Mapping[str, Value]) -> Value:
        node = function.node
        if node in self._active:
            return UNKNOWN
        known = sorted((name, id(node), memo_key(value)) for name, value in bound.items())
        key = (id(node), id(self.calls), *known)
        if key not in self._memo:
            scope = function.scope.inner()
            for name in [*parameters_of(node), *bound]:
                # A parameter called ctx of which nothing is known is taken for the context.
                scope.names[name] = bound.get(name) or (Ctx() if name == "ctx" else UNKNOWN)
            self._active.append(node)
            try:
                # The values are kept beside the result: the key holds their identities.
                self._memo[key] = self._body(node, scope), [*bound.values()]
            finally:
                self._active.pop()
        return self._memo[key][0]

    def _body(self, node: FunctionNode, scope: Scope) -> Value:
        if isinstance(node, ast.Lambda):
            return self.value(node.body, scope)
        returned: list[Value] = []
        statements.read_block(self, node.body, scope, returned)
        return next((each for each in returned if each != UNKNOWN), UNKNOWN)

    def global_value(self, name: str, module: AuthorModule) -> Value:
        """Tell what a top-level name stands for; read once, when it is first asked for."""
        key = module.name, name
        if key not in self._globals:
            self._globals[key] = UNKNOWN  # what a name is that is defined by itself
            self._globals[key] = self._read_global(name, module)
        return self._globals[key]

    def _read_global(self, name: str, module: AuthorModule) -> Value:
        bindings = module.bindings.get(name)
        if bindings is None:
            return self._from_star(name, module)
        last = bindings[-1]
        if isinstance(last, ast.Import | ast.ImportFrom):
            return self.imported_value(imported(last, module, self.modules)[name])
        if isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef):
            return Function(last, Scope(module))
        if len(bindings) == 1 and (assigned := _assigned(last)) is not None:
            return self.value(assigned, Scope(module))
        return UNKNOWN

    def _from_star(self, name: str, module: AuthorModule) -> Value:
        for statement in module.bindings.get("*", ()):
            if isinstance(statement, ast.ImportFrom):
                found = imported(statement, module, self.modules)
                if name in found:
                    return self.imported_value(found[name])
        return UNKNOWN

    def imported_value(self, found: Imported) -> Value:
        """Tell what an imported name stands for."""
        if found.module is not None and found.member:
            return self.global_value(found.member, found.module)
        if found.module is not None:
            return Sibling(found.module)
        package, _, name = found.dotted.rpartition(".")
        return Public(name) if package == ENGINE and name in PUBLIC else Foreign(found.dotted)

    def check_unread_tools(self) -> None:
        """Check the tools that are named where the reading did not come, as they stand in the text."""
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                tool = ctxcalls.tool_as_written(node)
                if tool is not None and (told := self.tools.problem(tool)):
                    self.problems.add(line_of(node), told, module.file)


def _assigned(statement: ast.stmt) -> ast.expr | None:
    """Give what a statement assigns to a single plain name, else None."""
    if isinstance(statement, ast.Assign):
        is_plain = all(isinstance(target, ast.Name) for target in statement.targets)
        return statement.value if is_plain else None
    return statement.value if isinstance(statement, ast.AnnAssign) else None
