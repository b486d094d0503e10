"""What is wrong with a play's source, gathered as sentences with their lines.

A problem of a helper module of a bundle names its file; one of the play itself needs only the line.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable

from runtime.errors import PlayInvalid, Problem

NAMES_SHOWN = 3
"""How many near names a sentence suggests."""


class Problems:
    """The problems of one source, each told once."""

    def __init__(self) -> None:
        self._told: dict[Problem, None] = {}

    def add(self, where: ast.AST | int, message: str, file: str = "") -> None:
        """Note a problem at a node or a line of ``file`` ("" for the play's own source)."""
        line = where if isinstance(where, int) else int(getattr(where, "lineno", 0))
        self._told[Problem(line, f"in {file}: {message}" if file else message)] = None

    def by_line(self) -> list[Problem]:
        """Give them in the order of their lines."""
        return sorted(self._told, key=lambda problem: problem.line)


def refusal(message: str, line: int = 0) -> PlayInvalid:
    """Give the error of a source that cannot be read any further than this."""
    return PlayInvalid([Problem(line, message)])


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Give the known names that begin with ``name``, else those that look most like it; maybe none."""
    names = sorted(known)
    longer = [each for each in names if name and each.startswith(name)]
    return longer[:NAMES_SHOWN] or difflib.get_close_matches(name, names, n=NAMES_SHOWN)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Give ``: did you mean 'x'?`` where a known name is near, else an empty text."""
    near = nearest(name, known)
    return f": did you mean {listed(near, 'or')}?" if near else ""


def listed(names: Iterable[str], word: str = "and") -> str:
    """Give names in quotes as a sentence lists them: ``'a', 'b' and 'c'``."""
    quoted = [repr(name) for name in names]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"
