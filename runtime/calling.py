"""An author's functions: called with as many of (row, ctx, index) as they take; where they failed."""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable
from typing import Any

from runtime.errors import PlayError, describe

NOT_AUTHORS = (os.path.dirname(__file__), os.path.dirname(os.__file__))
"""Folders whose code is no author's: the engine's and the standard library's."""

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def bound(function: Callable[..., Any], offered: int) -> Callable[..., Any]:
    """Give a function that takes ``offered`` arguments and passes on those that ``function`` takes."""
    taken = _taken(function, offered)
    if taken == offered:
        return function
    return functools.wraps(function)(lambda *given: function(*given[:taken]))


def _taken(function: Callable[..., Any], offered: int) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # a built-in such as str.lower, which tells nothing of itself
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return offered
    positional = [p for p in parameters if p.kind in POSITIONAL]
    required = sum(p.default is inspect.Parameter.empty for p in positional)
    if required > offered:
        raise PlayError(
            f"the function {getattr(function, '__name__', function)!r} asks for {required} arguments,"
            f" and at most {offered} are given here: take fewer, or give the others defaults"
        )
    return min(max(required, 1 if positional else 0), offered)


def author_line(error: BaseException) -> str:
    """Give ``file:line`` of the last frame of an error that is an author's, or ""."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(NOT_AUTHORS):
            return f"{frame.filename}:{frame.lineno}"
    return ""


def author_error(error: BaseException) -> dict[str, Any]:
    """Give the JSON form of what an author's code raised, with the ``line`` where it is known."""
    told = describe(error)
    if line := author_line(error):
        told["line"] = line
    return told
