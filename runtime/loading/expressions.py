"""Reads expressions: what they stand for, so far as their text tells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.loading import binding, ctxcalls, literals, programs
from runtime.loading.abstract import (
    UNKNOWN,
    Awaiting,
    Builder,
    Const,
    Ctx,
    CtxTools,
    Foreign,
    Function,
    Input,
    InputItem,
    Items,
    Method,
    Program,
    Public,
    Rows,
    Scope,
    Sibling,
    Unknown,
    Value,
    first_source,
    source_of,
    text_of,
)
from runtime.loading.imports import ENGINE
from runtime.loading.surface import PUBLIC

if TYPE_CHECKING:
    from runtime.loading.reading import Reader

TEXT_PART = 50
"""How many characters of a literal text count as one part of a literal."""

ADDS = ("append", "extend", "add", "insert")


def read(reader: Reader, node: ast.expr, scope: Scope) -> Value:
    """Tell what an expression stands for."""
    known = EXPRESSIONS.get(type(node))
    return known(reader, node, scope) if known else read_children(reader, node, scope)


def read_children(reader: Reader, node: ast.AST, scope: Scope) -> Value:
    """Read the expressions in a node of which nothing else is known."""
    found = [
        reader.value(child, scope)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.expr)
    ]
    for each in found:
        reader.escape(each)
    return Unknown(first_source(found))


def _constant(reader: Reader, node: ast.Constant, scope: Scope) -> Value:
    length = len(node.value) if isinstance(node.value, str | bytes) else 0
    return Const(node.value, 1 + length // TEXT_PART)


def _name(reader: Reader, node: ast.Name, scope: Scope) -> Value:
    found = scope.find(node.id)
    return reader.global_value(node.id, scope.module) if found is None else found


def _attribute(reader: Reader, node: ast.Attribute, scope: Scope) -> Value:
    return _attribute_of(reader, reader.value(node.value, scope), node, scope)


def _attribute_of(reader: Reader, owner: Value, node: ast.Attribute, scope: Scope) -> Value:
    match owner:
        case Sibling(module):
            inner = reader.modules.get(f"{module.name}.{node.attr}")
            return Sibling(inner) if inner else reader.global_value(node.attr, module)
        case Foreign(dotted) if dotted == ENGINE and node.attr in PUBLIC:
            return Public(node.attr)
        case Foreign(dotted):
            return Foreign(f"{dotted}.{node.attr}")
        case Ctx():
            return ctxcalls.attribute(reader, node, scope)
        case _:
            return Method(owner, node.attr)


def _call(reader: Reader, node: ast.Call, scope: Scope) -> Value:
    # A chain of calls (.step().step()...) is deep in the tree and is read in a loop: a map of several
    # hundred steps must not end at Python's own recursion limit.
    links: list[tuple[ast.Call, ast.Attribute]] = []
    while isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        links.append((node, node.func))
        node = node.func.value
    value = _apply(reader, reader.value(node.func, scope), node, scope)
    for call, attribute in reversed(links):
        function = _attribute_of(reader, value, attribute, scope)
        value = _apply(reader, function, call, scope)
    return value


def _apply(reader: Reader, function: Value, node: ast.Call, scope: Scope) -> Value:
    match function:
        case Function():
            return reader.call(function, node, scope)
        case Public(name):
            return programs.construct(reader, name, node, scope)
        case Method(owner, name):
            return _apply_method(reader, owner, name, node, scope)
        case Foreign("asyncio.gather"):
            given = [reader.value(each, scope) for each in node.args]
            parts = [each.result if isinstance(each, Awaiting) else UNKNOWN for each in given]
            return Awaiting(Items(tuple(parts)), "asyncio.gather()")
        case Foreign("functools.partial") if node.args:
            return _partial(reader, node, scope)
        case _:
            return Unknown(first_source(read_arguments(reader, node, scope)))


def _apply_method(reader: Reader, owner: Value, name: str, node: ast.Call, scope: Scope) -> Value:
    match owner:
        case Ctx():
            return ctxcalls.call(reader, name, node, scope)
        case CtxTools():
            return ctxcalls.call_tools(reader, name, node, scope)
        case Builder():
            return programs.build(reader, owner, name, node, scope)
        case Program():
            return programs.extend(reader, owner, name, node, scope)
    given = read_arguments(reader, node, scope)
    match owner:
        case Input() if name == "get" and node.args:
            return _input_item(reader, node.args[0], scope)
        case Rows(source):
            return Awaiting(Unknown(source), "reading a dataset")
    if name in ADDS and isinstance(node.func, ast.Attribute):
        binding.grow(reader, node.func.value, Unknown(first_source(given)), scope)
    return Unknown(first_source([owner, *given]))


def read_arguments(reader: Reader, node: ast.Call, scope: Scope) -> list[Value]:
    """Read a call's arguments where nothing is known of the function."""
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    given = [reader.value(each, scope) for each in arguments]
    for each in given:
        reader.escape(each)
    return given


def _partial(reader: Reader, node: ast.Call, scope: Scope) -> Value:
    first = reader.value(node.args[0], scope)
    if not isinstance(first, Function):
        return Unknown(first_source(read_arguments(reader, node, scope)))
    given = tuple(reader.value(each, scope) for each in node.args[1:])
    named = {each.arg: reader.value(each.value, scope) for each in node.keywords if each.arg}
    return Function(first.node, first.scope, (*first.given, *given), {**first.named, **named})


def _await(reader: Reader, node: ast.Await, scope: Scope) -> Value:
    found = reader.value(node.value, scope)
    if isinstance(found, Builder):
        told = f"the map {found.note.table!r} is awaited before it is run: end it with .run()"
        reader.problem(node, scope, told)
        found.note.is_run = True
    return found.result if isinstance(found, Awaiting) else found


def _sequence(reader: Reader, node: ast.List | ast.Tuple, scope: Scope) -> Value:
    parts = tuple(reader.value(each, scope) for each in node.elts)
    return literals.sequence(parts, is_list=isinstance(node, ast.List)) or Items(parts)


def _dict(reader: Reader, node: ast.Dict, scope: Scope) -> Value:
    keys = [None if each is None else reader.value(each, scope) for each in node.keys]
    values = [reader.value(each, scope) for each in node.values]
    for each in values:
        reader.escape(each)
    return literals.mapping(keys, values) or Unknown(first_source(values))


def _subscript(reader: Reader, node: ast.Subscript, scope: Scope) -> Value:
    owner = reader.value(node.value, scope)
    if isinstance(owner, Input):
        return _input_item(reader, node.slice, scope)
    index = reader.value(node.slice, scope)
    if isinstance(owner, Items) and isinstance(index, Const) and isinstance(index.value, int):
        in_range = -len(owner.parts) <= index.value < len(owner.parts)
        return owner.parts[index.value] if in_range else UNKNOWN
    return Unknown(source_of(owner))


def _input_item(reader: Reader, key: ast.expr, scope: Scope) -> Value:
    name = text_of(reader.value(key, scope))
    if name is None:
        return UNKNOWN
    reader.note.note_input(name, reader.place(key, scope))
    return InputItem(name)


def _binary(reader: Reader, node: ast.BinOp, scope: Scope) -> Value:
    # The left side of a long sum is deep in the tree: see _call.
    above: list[ast.BinOp] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        above.append(left)
        left = left.left
    value = reader.value(left, scope)
    for each in reversed(above):
        added = reader.value(each.right, scope)
        value = literals.joined(each.op, value, added) or Unknown(first_source([value, added]))
    return value


def _unary(reader: Reader, node: ast.UnaryOp, scope: Scope) -> Value:
    value = reader.value(node.operand, scope)
    if isinstance(node.op, ast.USub) and isinstance(value, Const):
        return Const(-value.value) if type(value.value) in (int, float) else UNKNOWN
    return Unknown(source_of(value))


def _either(reader: Reader, node: ast.IfExp | ast.BoolOp, scope: Scope) -> Value:
    choices = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
    if isinstance(node, ast.IfExp):
        reader.value(node.test, scope)
    found = []
    for number, each in enumerate(choices):
        with reader.arm(node, number):
            found.append(reader.value(each, scope))
    telling = [each for each in found if not isinstance(each, Const | Unknown)]
    for other in telling[1:]:
        reader.escape(other)
    return telling[0] if telling else Unknown(first_source(found))


def _lambda(reader: Reader, node: ast.Lambda, scope: Scope) -> Value:
    return Function(node, scope)


def _comprehension(
    reader: Reader,
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    scope: Scope,
) -> Value:
    inner = scope.inner()
    sources: list[Value] = []
    for part in node.generators:
        sources.append(Unknown(source_of(reader.value(part.iter, inner))))
        binding.assign(reader, part.target, sources[-1], inner)
        for test in part.ifs:
            reader.value(test, inner)
    for each in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
        reader.escape(reader.value(each, inner))
    return Unknown(first_source(sources))


def _named(reader: Reader, node: ast.NamedExpr, scope: Scope) -> Value:
    value = reader.value(node.value, scope)
    binding.assign(reader, node.target, value, scope)
    return value


EXPRESSIONS: Mapping[type[ast.expr], Callable[[Reader, Any, Scope], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Await: _await,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.IfExp: _either,
    ast.BoolOp: _either,
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.NamedExpr: _named,
}
