"""Reads what is built of steps: maps' programs, nested ones, conditions; and how they are made."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from runtime.loading import maps
from runtime.loading.abstract import (
    UNKNOWN,
    Awaiting,
    Builder,
    Condition,
    Const,
    Ctx,
    Draft,
    Function,
    InputItem,
    Items,
    Program,
    Scope,
    Spec,
    Value,
    excludes,
)
from runtime.loading.notes import StepNote
from runtime.loading.problems import did_you_mean
from runtime.loading.readcalls import ReadCall, read_call
from runtime.loading.surface import BUILDER, PROGRAM, PUBLIC
from runtime.loading.waterfallspecs import read_code_step, read_spec, read_tool_step

if TYPE_CHECKING:
    from runtime.loading.reading import Reader

ROW_ARGUMENTS: tuple[Value, ...] = (UNKNOWN, Ctx(), UNKNOWN)
"""What a row's function is called with: (row, ctx, index)."""

ROW_COUNTS = range(4)
ROW_WRITTEN = "with (row), (row, ctx) or (row, ctx, index)"


def build(reader: Reader, owner: Builder, name: str, node: ast.Call, scope: Scope) -> Value:
    """Read ``.step(...)`` or ``.run(...)`` of a map."""
    if name == "run":
        return maps.run(reader, owner, node, scope)
    if name != "step":
        near = did_you_mean(name, BUILDER)
        told = f"a map has no .{name}(){near or ': it has .step(...) and .run(...)'}"
        reader.problem(node, scope, told)
    asked = read_call(reader, BUILDER["step"], node, scope) if name == "step" else None
    if asked is None:
        owner.note.steps.append(StepNote(None, "code", reader.place(node, scope)))
    else:
        draft = _draft(asked)
        taken = [(step.name, step.branch, step.place.line) for step in owner.note.steps]
        _check_repeated(asked, draft, taken)
        if draft.name is not None:
            maps.check_key(asked, owner, draft.name)
        owner.note.steps.append(_read_step(reader, draft, owner.note.table, ()))
    return owner


def extend(reader: Reader, owner: Program, name: str, node: ast.Call, scope: Scope) -> Value:
    """Read ``.step(...)`` or ``.returns(...)`` of a nested program."""
    if name not in PROGRAM:
        reader.problem(
            node, scope, f"steps() has no .{name}(): it has .step(...) and .returns(...)"
        )
        return owner
    asked = read_call(reader, PROGRAM[name], node, scope)
    if asked is None:
        return owner
    if name == "returns":
        asked.function("function", ROW_COUNTS, ROW_WRITTEN)
        return Program(owner.drafts, asked.get("function"))
    draft = _draft(asked)
    taken = [(each.name, each.branch, each.node.lineno) for each in owner.drafts]
    _check_repeated(asked, draft, taken)
    return Program((*owner.drafts, draft), owner.returning)


def _draft(asked: ReadCall) -> Draft:
    if asked.literal("stale_after_seconds") != (None, True):
        asked.number("stale_after_seconds")
    name = asked.name("name")
    _check_resolver(asked, "resolver")
    return Draft(name, asked.get("resolver"), asked.node, asked.scope, asked.reader.branch)


def _check_repeated(
    asked: ReadCall, draft: Draft, taken: list[tuple[str | None, tuple[tuple[int, int], ...], int]]
) -> None:
    for name, branch, line in taken:
        if name is not None and name == draft.name and not excludes(branch, draft.branch):
            told = f"the step name {name!r} is used twice, first at line {line}: give each its own"
            asked.problem(told, "name")
            return


def _check_resolver(asked: ReadCall, argument: str) -> None:
    """Note a resolver that would not do what its author meant."""
    value = asked.get(argument)
    asked.function(argument, ROW_COUNTS, ROW_WRITTEN)
    if isinstance(value, Awaiting):
        asked.problem(
            f"{value.what} is called once here, before there are rows:"
            " write lambda row, ctx: before it",
            argument,
        )
    elif isinstance(value, Spec):
        asked.problem(
            "a waterfall is no step by itself: write lambda row, ctx: ctx.waterfall(spec, {...})",
            argument,
        )
    elif isinstance(value, Builder):
        asked.problem("a map cannot be a step of a map: run it before or after", argument)
        value.note.is_run = True


def _read_step(reader: Reader, draft: Draft, table: str | None, above: tuple[str, ...]) -> StepNote:
    """Read a step's functions in the map in which they run."""
    path = (*above, draft.name or "?")
    note = StepNote(draft.name, "code", reader.place(draft.node, draft.scope), branch=draft.branch)
    with reader.inside(table, ".".join(path), note.calls):
        _fill(reader, note, draft.resolver, (table, path))
    return note


def _fill(
    reader: Reader, note: StepNote, resolver: Value, at: tuple[str | None, tuple[str, ...]]
) -> None:
    match resolver:
        case Function():
            reader.run(resolver, ROW_ARGUMENTS)
        case Const() | Items() | InputItem():
            note.kind = "value"
        case Condition():
            _run(reader, resolver.predicate)
            _fill(reader, note, resolver.run, at)
            note.kind = "when"
            note.condition = True
        case Program():
            note.kind = "steps"
            note.steps = [_read_step(reader, draft, *at) for draft in resolver.drafts]
            _run(reader, resolver.returning)


def _run(reader: Reader, value: Value | None) -> None:
    if isinstance(value, Function):
        reader.run(value, ROW_ARGUMENTS)


def construct(reader: Reader, name: str, node: ast.Call, scope: Scope) -> Value:
    """Read a call of one of the names that ``runtime`` gives: ``steps()``, ``when(...)`` and so on."""
    asked = read_call(reader, PUBLIC[name], node, scope)
    return CONSTRUCTORS[name](asked) if asked else UNKNOWN


def _when(asked: ReadCall) -> Value:
    value, is_known = asked.literal("predicate")
    if is_known:
        asked.problem(f"when() needs a function of the row first, not {value!r}", "predicate")
    asked.function("predicate", ROW_COUNTS, ROW_WRITTEN)
    _check_resolver(asked, "run")
    if isinstance(asked.get("otherwise"), Function | Program | Condition | Awaiting):
        asked.problem("otherwise is a plain value, such as None or a text", "otherwise")
    return Condition(asked.get("predicate"), asked.get("run"), asked.get("otherwise"))


CONSTRUCTORS: Mapping[str, Callable[[ReadCall], Value]] = {
    "play": lambda asked: UNKNOWN,
    "steps": lambda asked: Program(),
    "when": _when,
    "waterfall": read_spec,
    "tool_step": read_tool_step,
    "code_step": read_code_step,
}
