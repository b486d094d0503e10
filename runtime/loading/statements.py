"""Reads statements: what they bind, and which of them exclude one another."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.loading.abstract import (
    UNKNOWN,
    Awaiting,
    Function,
    Scope,
    Unknown,
    Value,
    source_of,
)
from runtime.loading.binding import assign, grow
from runtime.loading.imports import imported

if TYPE_CHECKING:
    from runtime.loading.reading import Reader

ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def read_block(
    reader: Reader, body: Sequence[ast.stmt], scope: Scope, returned: list[Value]
) -> None:
    """Read statements in order. The values that they return are added to ``returned``."""
    for index, statement in enumerate(body):
        read = STATEMENTS.get(type(statement))
        if read is not None:
            read(reader, statement, scope, returned)
        else:
            reader.children(statement, scope)
        if _leaves(statement):
            # What follows "if ...: return" is the other arm of that condition.
            with reader.arm(statement, 1):
                read_block(reader, body[index + 1 :], scope, returned)
            return


def _leaves(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and isinstance(statement.body[-1], ENDS)
    )


def _definition(
    reader: Reader,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    scope: Scope,
    returned: list[Value],
) -> None:
    scope.names[node.name] = Function(node, scope)


def _class(reader: Reader, node: ast.ClassDef, scope: Scope, returned: list[Value]) -> None:
    scope.names[node.name] = UNKNOWN


def _return(reader: Reader, node: ast.Return, scope: Scope, returned: list[Value]) -> None:
    if node.value is not None:
        returned.append(reader.value(node.value, scope))


def _expression(reader: Reader, node: ast.Expr, scope: Scope, returned: list[Value]) -> None:
    value = reader.value(node.value, scope)
    if isinstance(value, Awaiting):
        reader.problem(node.value, scope, f"{value.what} is never awaited: write 'await' before it")


def _assign(
    reader: Reader, node: ast.Assign | ast.AnnAssign, scope: Scope, returned: list[Value]
) -> None:
    if node.value is None:
        return
    value = reader.value(node.value, scope)
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        assign(reader, target, value, scope)


def _augmented(reader: Reader, node: ast.AugAssign, scope: Scope, returned: list[Value]) -> None:
    grow(reader, node.target, reader.value(node.value, scope), scope)


def _import(
    reader: Reader, node: ast.Import | ast.ImportFrom, scope: Scope, returned: list[Value]
) -> None:
    for name, found in imported(node, scope.module, reader.modules).items():
        scope.names[name] = reader.imported_value(found)


def _if(reader: Reader, node: ast.If, scope: Scope, returned: list[Value]) -> None:
    # A long chain of "elif" is deep in the tree and is read in a loop.
    number = 0
    rest: list[ast.stmt] = [node]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        reader.value(rest[0].test, scope)
        with reader.arm(node, number):
            read_block(reader, rest[0].body, scope, returned)
        rest, number = rest[0].orelse, number + 1
    with reader.arm(node, number):
        read_block(reader, rest, scope, returned)


def _for(reader: Reader, node: ast.For | ast.AsyncFor, scope: Scope, returned: list[Value]) -> None:
    source = source_of(reader.value(node.iter, scope))
    assign(reader, node.target, Unknown(source), scope)
    if source:
        reader.loops.append(source)
    read_block(reader, [*node.body, *node.orelse], scope, returned)
    if source:
        reader.loops.pop()


def _while(reader: Reader, node: ast.While, scope: Scope, returned: list[Value]) -> None:
    reader.value(node.test, scope)
    read_block(reader, [*node.body, *node.orelse], scope, returned)


def _with(
    reader: Reader, node: ast.With | ast.AsyncWith, scope: Scope, returned: list[Value]
) -> None:
    for item in node.items:
        entered = reader.value(item.context_expr, scope)
        if item.optional_vars is not None:
            assign(reader, item.optional_vars, Unknown(source_of(entered)), scope)
    read_block(reader, node.body, scope, returned)


def _try(reader: Reader, node: ast.Try | ast.TryStar, scope: Scope, returned: list[Value]) -> None:
    with reader.arm(node, 0):
        read_block(reader, [*node.body, *node.orelse], scope, returned)
    for number, handler in enumerate(node.handlers, start=1):
        if handler.name:
            scope.names[handler.name] = UNKNOWN
        with reader.arm(node, number):
            read_block(reader, handler.body, scope, returned)
    read_block(reader, node.finalbody, scope, returned)


def _match(reader: Reader, node: ast.Match, scope: Scope, returned: list[Value]) -> None:
    reader.value(node.subject, scope)
    for number, case in enumerate(node.cases):
        for pattern in ast.walk(case.pattern):
            if isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name:
                scope.names[pattern.name] = UNKNOWN
        if case.guard is not None:
            reader.value(case.guard, scope)
        with reader.arm(node, number):
            read_block(reader, case.body, scope, returned)


STATEMENTS: Mapping[type[ast.stmt], Callable[[Reader, Any, Scope, list[Value]], None]] = {
    ast.FunctionDef: _definition,
    ast.AsyncFunctionDef: _definition,
    ast.ClassDef: _class,
    ast.Return: _return,
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _assign,
    ast.AugAssign: _augmented,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
}
