"""Reads maps: their table, their rows and key, and what is chained to them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from runtime.errors import KeyInvalid
from runtime.identity import safe_name
from runtime.loading.abstract import (
    Awaiting,
    Builder,
    Const,
    Function,
    Rows,
    Scope,
    Value,
    excludes,
    source_of,
)
from runtime.loading.notes import MapNote
from runtime.loading.problems import listed
from runtime.loading.readcalls import ReadCall, read_call
from runtime.loading.surface import BUILDER
from runtime.loading.syntax import parameters_of
from runtime.loading.toolnames import repeated

if TYPE_CHECKING:
    from runtime.loading.reading import Reader

ON_ROW_ERROR = ("isolate", "fail")


def begin(asked: ReadCall) -> Value:
    """Read ``ctx.map(...)``."""
    reader = asked.reader
    table = asked.name("table")
    note = MapNote(table, asked.place, _source(asked), branch=reader.branch)
    if reader.row is not None:
        what = f"the map {table!r}" if table else "a map"
        asked.problem(
            f"{what} is inside {reader.row}: maps cannot be nested."
            " End the outer map, then give its dataset to a second ctx.map"
        )
    else:
        _check_table(asked, note)
        reader.note.maps.append(note)
    if _is_given(asked, "stale_after_seconds"):
        asked.number("stale_after_seconds")
    note.key, columns = _key(asked)
    line = getattr(asked.arguments.get("key"), "lineno", 0)
    return Builder(note, columns, line)


def _is_given(asked: ReadCall, name: str) -> bool:
    return asked.has(name) and asked.literal(name) != (None, True)


def _source(asked: ReadCall) -> str | None:
    rows = asked.get("rows")
    if isinstance(rows, Awaiting):
        asked.problem(f"the rows are {rows.what} without 'await': write 'await' before it", "rows")
    elif isinstance(rows, Const) and not isinstance(rows.value, list | tuple):
        asked.problem(
            f"a map needs a dataset, a list or an async iterable as its rows, not {rows.value!r}",
            "rows",
        )
    return source_of(rows)


def _check_table(asked: ReadCall, note: MapNote) -> None:
    if note.table is None:
        return
    try:
        name = safe_name(note.table)
    except KeyInvalid as error:
        asked.problem(str(error), "table")
        return
    for other in asked.reader.note.maps:
        if other.table and _same(other.table, name) and not excludes(other.branch, note.branch):
            asked.problem(
                f"the table {note.table!r} is already made by the map at line {other.place.line}"
                f" (both are called {name!r}): give each map its own table",
                "table",
            )
            return


def _same(table: str, name: str) -> bool:
    try:
        return safe_name(table) == name
    except KeyInvalid:
        return False


def _key(asked: ReadCall) -> tuple[list[str] | None, frozenset[str]]:
    """Give the key's columns for the pipeline, and all that it is known to read."""
    if not _is_given(asked, "key"):
        return [], frozenset()
    key = asked.get("key")
    if isinstance(key, Function):
        asked.function("key", range(1, 3), "with (row, index)")
        return None, _columns_read(key)
    if not isinstance(key, Const):
        return None, frozenset()
    names = [key.value] if isinstance(key.value, str) else key.value
    is_list = isinstance(names, list | tuple) and all(isinstance(each, str) for each in names)
    if not is_list or not names or not all(each.strip() for each in names):
        asked.problem(
            "key is a column's name, a list of such names, or a function (row, index)", "key"
        )
        return None, frozenset()
    if twice := repeated(names):
        asked.problem(f"the key names {listed(twice)} twice", "key")
    return list(names), frozenset(names)


def _columns_read(function: Function) -> frozenset[str]:
    """Give the columns that a key function reads of its row by literal names."""
    names = parameters_of(function.node)[:1]
    found: set[str] = set()
    for node in ast.walk(function.node):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as column)):
                found |= {column} if [name] == names else set()
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"),
                args=[ast.Constant(value=str() as column), *_],
            ):
                found |= {column} if [name] == names else set()
    return frozenset(found)


def check_key(asked: ReadCall, builder: Builder, step: str) -> None:
    """Note a step that computes what the map's key is made of."""
    if step in builder.key_columns:
        asked.reader.problems.add(
            builder.key_line,
            f"the key uses {step!r}, which the map computes itself (line {asked.place.line}):"
            " use columns that the rows come with",
            asked.scope.module.file,
        )


def run(reader: Reader, builder: Builder, node: ast.Call, scope: Scope) -> Value:
    """Read ``.run(...)``."""
    builder.note.is_run = True
    asked = read_call(reader, BUILDER["run"], node, scope)
    if not builder.note.steps:
        told = f"the map {builder.note.table!r} has no steps: add at least one .step(...)"
        reader.problem(node, scope, told)
    if asked is not None:
        description, _ = asked.literal("description")
        builder.note.description = description if isinstance(description, str) else ""
        mode, is_known = asked.literal("on_row_error")
        if is_known and mode not in ON_ROW_ERROR:
            asked.problem(
                f"on_row_error is {listed(ON_ROW_ERROR, 'or')}, not {mode!r}", "on_row_error"
            )
    table = builder.note.table
    return Awaiting(Rows(f"map:{table}" if table else None), f"the map {table!r}")


def check_all_run(reader: Reader) -> None:
    """Note every map that is begun and never run."""
    for note in reader.note.maps:
        if not note.is_run:
            told = f"the map {note.table!r} is never run: end it with .run()"
            reader.problems.add(note.place.line, told, note.place.file)
