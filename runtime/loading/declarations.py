"""Finds the one play of a source and reads its ``@play(...)`` declaration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtime.errors import KeyInvalid
from runtime.identity import safe_name
from runtime.loading.abstract import Const, Function, Public, Scope
from runtime.loading.reading import Reader
from runtime.loading.schemas import schema_problem
from runtime.loading.surface import PUBLIC, bind
from runtime.loading.syntax import (
    MAIN_MODULE,
    AuthorModule,
    is_generator,
    statements,
    takes,
)

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
HOW = '@play("name") above one async function of (ctx, input)'


@dataclass(frozen=True, slots=True)
class Declared:
    """A function under ``@play``; ``decorator`` is the expression after the ``@``."""

    module: AuthorModule
    function: FunctionDef
    decorator: ast.expr


def find_play(reader: Reader) -> Function | None:
    """Find the play, note what is wrong with its declaration, and give its function.

    What the declaration says is written to the reader's note.
    """
    main = reader.modules[MAIN_MODULE]
    found = [each for module in reader.modules.values() for each in _declared(reader, module)]
    found.sort(key=lambda each: (each.module is not main, each.function.lineno))
    if not found:
        _tell_none(reader, main)
        return None
    first, *others = found
    for other in others:
        reader.problems.add(
            other.function,
            f"{other.function.name!r} is a second play: a file holds exactly one (the first is"
            f" {first.function.name!r} at line {first.function.lineno}), so move it to its own file",
            other.module.file,
        )
    if first.module is not main:
        told = (
            f"the play {first.function.name!r} belongs into {main.path}, not into a helper module"
        )
        reader.problems.add(first.function, told, first.module.file)
    _read_declaration(reader, first)
    _check_function(reader, first)
    return Function(first.function, Scope(first.module))


def _declared(reader: Reader, module: AuthorModule) -> Iterator[Declared]:
    for statement in statements(module.tree.body):
        if isinstance(statement, FunctionDef):
            for decorator in statement.decorator_list:
                named = decorator.func if isinstance(decorator, ast.Call) else decorator
                if reader.value(named, Scope(module)) == Public("play"):
                    yield Declared(module, statement, decorator)


def _tell_none(reader: Reader, main: AuthorModule) -> None:
    for statement in statements(main.tree.body):
        for decorator in getattr(statement, "decorator_list", []):
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(named, ast.Name) and named.id == "play":
                told = "'play' is not imported: add 'from runtime import play' at the top"
                reader.problems.add(decorator, told)
                return
    reader.problems.add(0, f"there is no play in the file: write {HOW}")


def _read_declaration(reader: Reader, found: Declared) -> None:
    note, file = reader.note, found.module.file
    note.line = found.function.lineno
    if not isinstance(found.decorator, ast.Call):
        told = '@play needs the name of the play: write @play("find_emails")'
        reader.problems.add(found.decorator, told, file)
        return
    bound = bind(PUBLIC["play"], found.decorator)
    if bound.problem:
        reader.problems.add(found.decorator, bound.problem, file)
    note.name = _name(reader, bound.arguments.get("name"), found)
    note.description = _description(reader, bound.arguments.get("description"), found)
    note.input_schema = _schema(reader, bound.arguments.get("input_schema"), found)


def _name(reader: Reader, node: ast.expr | None, found: Declared) -> str:
    if node is None:
        return ""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        told = 'the name of a play is written out, as in @play("find_emails"), never computed'
        reader.problems.add(node, told, found.module.file)
        return ""
    try:
        safe_name(node.value)
    except KeyInvalid as error:
        blank = not node.value.strip()
        told = "@play needs a name that is not blank" if blank else str(error)
        reader.problems.add(node, told, found.module.file)
    return node.value.strip()


def _description(reader: Reader, node: ast.expr | None, found: Declared) -> str:
    value = node and reader.value(node, Scope(found.module))
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value
    if node is not None:
        told = "the description of a play is a text that is written out"
        reader.problems.add(node, told, found.module.file)
    return ""


def _schema(reader: Reader, node: ast.expr | None, found: Declared) -> dict[str, Any] | None:
    value = node and reader.value(node, Scope(found.module))
    if node is None or (isinstance(value, Const) and value.value is None):
        return None
    if not isinstance(value, Const):
        told = (
            "input_schema is written out as a dict of literals (names of such literals may stand in"
            " it): the form for a run is made from it without running the play"
        )
        reader.problems.add(node, told, found.module.file)
        return None
    if told := schema_problem(value.value):
        reader.problems.add(node, told, found.module.file)
        return None
    schema: dict[str, Any] = value.value
    return schema


def _check_function(reader: Reader, found: Declared) -> None:
    function = found.function
    told = ""
    if isinstance(function, ast.FunctionDef):
        told = f"the play {function.name!r} is no async function: write 'async def' before its name"
    elif is_generator(function):
        told = f"the play {function.name!r} yields: a play returns its output instead"
    elif not takes(function, 2):
        told = (
            f"the play {function.name!r} is called with (ctx, input): write"
            f" async def {function.name}(ctx, input)"
        )
    if told:
        reader.problems.add(function, told, found.module.file)
