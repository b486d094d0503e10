"""Puts literals together: lists, dicts and sums whose parts are all known. Gives None where they are not."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from runtime.loading.abstract import LITERAL_SIZE, Const, Value


def sequence(parts: Sequence[Value], *, is_list: bool) -> Const | None:
    """Give a list or tuple of literals."""
    known = [part for part in parts if isinstance(part, Const)]
    size = 1 + sum(part.size for part in known)
    if len(known) < len(parts) or size > LITERAL_SIZE:
        return None
    values = [part.value for part in known]
    return Const(values if is_list else tuple(values), size)


def mapping(keys: Sequence[Value | None], values: Sequence[Value]) -> Const | None:
    """Give a dict of literals; a key that is None unpacks its value."""
    whole: dict[str, object] = {}
    size = 1
    for key, value in zip(keys, values, strict=True):
        if not isinstance(value, Const):
            return None
        size += value.size
        if key is None and isinstance(value.value, dict):
            whole.update(value.value)
        elif isinstance(key, Const) and isinstance(key.value, str):
            whole[key.value] = value.value
        else:
            return None
    return Const(whole, size) if size <= LITERAL_SIZE else None


def joined(operator: ast.operator, left: Value, right: Value) -> Const | None:
    """Give the sum of two literal texts, lists or tuples."""
    if not isinstance(operator, ast.Add):
        return None
    if not isinstance(left, Const) or not isinstance(right, Const):
        return None
    one, other = left.value, right.value
    size = left.size + right.size
    if type(one) is not type(other) or not isinstance(one, str | list | tuple):
        return None
    if size > LITERAL_SIZE or len(one) + len(other) > LITERAL_SIZE:
        return None
    return Const(one + other, size)
