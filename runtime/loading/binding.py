"""Binds names to what they stand for."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from runtime.loading.abstract import Items, Scope, Unknown, Value, source_of

if TYPE_CHECKING:
    from runtime.loading.reading import Reader


def assign(reader: Reader, target: ast.expr, value: Value, scope: Scope) -> None:
    """Bind a target's names to a value, part by part where both sides are lists."""
    if isinstance(target, ast.Name):
        scope.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.parts if isinstance(value, Items) else ()
        is_even = len(parts) == len(target.elts)
        for index, each in enumerate(target.elts):
            part = parts[index] if is_even else Unknown(source_of(value))
            assign(reader, each, part, scope)
    elif isinstance(target, ast.Starred):
        assign(reader, target.value, Unknown(source_of(value)), scope)
    else:
        reader.children(target, scope)


def grow(reader: Reader, target: ast.expr, added: Value, scope: Scope) -> None:
    """Note that a list grows: what is gathered in a loop over a dataset comes from that dataset."""
    if isinstance(target, ast.Name):
        before = scope.find(target.id)
        source = (before and source_of(before)) or source_of(added)
        scope.names[target.id] = Unknown(source or (reader.loops[-1] if reader.loops else None))
