"""Finds the syntax of a function, class or module that is loaded, for its digest.

Texts come from ``linecache``, which holds those of loaded plays. Trees are taken without what does not
change what code does: docstrings and type hints. A place that cannot be told for certain (two lambdas
on one line of which nothing shows which is meant) gives None.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from dataclasses import dataclass, field

from runtime.loading.importing import is_play_module
from runtime.loading.imports import ENGINE, installed_packages
from runtime.loading.syntax import DEFINITIONS, FunctionNode, bindings_of

Span = tuple[tuple[int, int], tuple[int, int]]
INSTALLED = tuple(
    os.path.join(sysconfig.get_path(name), "")
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
ENGINE_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


@dataclass(frozen=True, eq=False)
class Code:
    """A piece of syntax: its canonical ``text``, the names it reads or binds, what it imports itself."""

    nodes: tuple[ast.AST, ...]
    text: str = field(init=False)
    names: frozenset[str] = field(init=False)
    imports: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        inside = [node for root in self.nodes for node in ast.walk(root)]
        found = {
            "text": "\n".join(map(ast.dump, self.nodes)),
            "names": frozenset(node.id for node in inside if isinstance(node, ast.Name)),
            "imports": frozenset(name for node in inside for name in _imports(node)),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def keys_read(self, name: str) -> frozenset[str] | None:
        """Give the literal keys under which a mapping is read, or None where it is used otherwise."""
        inside = [node for root in self.nodes for node in ast.walk(root)]
        uses = sum(isinstance(node, ast.Name) and node.id == name for node in inside)
        keys = [key for node in inside if (key := _key_read(node, name)) is not None]
        return frozenset(keys) if len(keys) == uses else None


class SourceFile:
    """The syntax of one file, with its functions and classes by where they stand."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        for node in ast.walk(self.tree):
            _strip(node)
        self.bindings = bindings_of(self.tree)
        self._functions: dict[tuple[str, int], list[FunctionNode]] = {}
        self._codes: dict[tuple[ast.AST, ...], Code] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
                self._functions.setdefault((name, _first_line(node)), []).append(node)

    @property
    def inner_imports(self) -> frozenset[str]:
        """The modules that are imported inside functions and classes."""
        definitions = [node for node in ast.walk(self.tree) if isinstance(node, DEFINITIONS)]
        return frozenset(
            name for each in definitions for node in ast.walk(each) for name in _imports(node)
        )

    def names_of_others(self, code: Code) -> frozenset[str]:
        """Give the names of ``code`` that the file does not make itself, and all that it imports."""
        imported = {name for name, bound in self.bindings.items() if all(map(_is_import, bound))}
        others = (code.names - self.bindings.keys()) | imported
        return frozenset(name for name in others if not name.startswith("__"))

    def code(self, *nodes: ast.AST) -> Code:
        """Give the code of some nodes, made once."""
        if nodes not in self._codes:
            self._codes[nodes] = Code(nodes)
        return self._codes[nodes]

    def function(self, code: types.CodeType) -> Code | None:
        """Find the function that was compiled to ``code``."""
        found = self._functions.get((code.co_name, code.co_firstlineno), [])
        if len(found) > 1:
            found = _innermost([node for node in found if _holds(node, code)])
        return self.code(found[0]) if len(found) == 1 else None

    def class_(self, qualname: str) -> Code | None:
        """Find a class by its qualified name; one that is made in a function is not found."""
        body: list[ast.stmt] = self.tree.body
        found: list[ast.ClassDef] = []
        for name in qualname.split("."):
            found = [each for each in body if isinstance(each, ast.ClassDef) and each.name == name]
            if len(found) != 1:
                return None
            body = found[0].body
        return self.code(found[0])

    def statements_on(self, name: str) -> Code | None:
        """Give the top-level statements that make a name's value or do something with it."""
        bound = self.bindings.get(name, [])
        others = (*DEFINITIONS, ast.Global, ast.Import, ast.ImportFrom)
        if not bound or any(isinstance(each, others) for each in bound):
            return None
        about = [
            each
            for each in self.tree.body
            if not isinstance(each, others) and _mentions(each, name)
        ]
        return self.code(*about)


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> SourceFile | None:
    try:
        return SourceFile(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def file_of_function(function: types.FunctionType) -> SourceFile | None:
    """Give the file in which a function stands."""
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    return _parsed("".join(lines)) if lines else None


def file_of_module(name: str) -> SourceFile | None:
    """Give the file of an imported module."""
    path = getattr(sys.modules.get(name), "__file__", None)
    lines = linecache.getlines(path) if path else []
    return _parsed("".join(lines)) if lines else None


def is_installed_file(path: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to the engine."""
    return path.startswith((*INSTALLED, ENGINE_FOLDER, "<frozen "))


def is_installed_module(name: str) -> bool:
    """Whether a module is part of Python, of an installed package or of the engine."""
    top = name.partition(".")[0]
    if is_play_module(name):
        return False
    return top == ENGINE or top in sys.stdlib_module_names or top in installed_packages()


def _strip(node: ast.AST) -> None:
    """Take out of a node what does not change what the code does."""
    if (
        isinstance(node, (*DEFINITIONS, ast.Module))
        and ast.get_docstring(node, clean=False) is not None
    ):
        del node.body[0]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns = None
    if isinstance(node, ast.arg):
        node.annotation = None
    if isinstance(node, ast.Constant):
        node.kind = None


def _first_line(node: FunctionNode) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(each.lineno for each in decorators)])


def _span(node: ast.expr) -> Span:
    end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return (node.lineno, node.col_offset), end


def _holds(node: FunctionNode, code: types.CodeType) -> bool:
    """Whether every instruction of ``code`` comes from inside a lambda's body."""
    if not isinstance(node, ast.Lambda):
        return False
    start, end = _span(node.body)
    places = list(_places(code))
    return bool(places) and all(start <= first and last <= end for first, last in places)


def _places(code: types.CodeType) -> Iterator[Span]:
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        if (line, column) < (end_line, end_column):
            yield (line, column), (end_line, end_column)


def _innermost(found: list[FunctionNode]) -> list[FunctionNode]:
    """Of lambdas inside one another that all hold the code, give the one that holds no other."""
    inside = {id(node) for outer in found for node in ast.walk(outer) if node is not outer}
    deepest = [node for node in found if id(node) in inside]
    if not deepest:
        return found
    return _innermost(deepest) if len(deepest) > 1 else deepest


def _mentions(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement))


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _imports(node: ast.AST) -> list[str]:
    """Give the modules of an import statement; a relative one begins with a dot."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["." * node.level + (node.module or "")]
    return []


def _key_read(node: ast.AST, name: str) -> str | None:
    match node:
        case ast.Subscript(value=ast.Name(id=found), slice=ast.Constant(value=str() as key)):
            is_read = found == name and isinstance(node.ctx, ast.Load)
            return key if is_read else None
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=found), attr="get"),
            args=[ast.Constant(value=str() as key), *_],
        ):
            return key if found == name else None
    return None
