"""An author's modules as syntax trees: what each binds at its top, and what its functions take.

Nothing is ever run. A text that Python itself would refuse is refused here with Python's own words.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from runtime.errors import PlayInvalid
from runtime.loading.problems import refusal
from runtime.loading.sources import Source

MAIN_MODULE = "play"
"""The name of the play's own module, whatever its file is called."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(eq=False)
class AuthorModule:
    """One file of a play. ``name`` is dotted, as a sibling imports it; ``file`` is "" for the play's own.

    ``bindings`` gives, by top-level name, every statement that binds it.
    """

    name: str
    path: str
    file: str
    tree: ast.Module
    is_package: bool = False
    bindings: Mapping[str, list[ast.stmt]] = field(init=False)

    def __post_init__(self) -> None:
        self.bindings = bindings_of(self.tree)


def parse_modules(source: Source) -> dict[str, AuthorModule]:
    """Parse every Python file of a module or bundle, by dotted name; the play's own is ``play``.

    Raises PlayInvalid with every file that Python cannot read.
    """
    modules: dict[str, AuthorModule] = {}
    refused: list[PlayInvalid] = []
    for name, path in module_paths(source).items():
        try:
            file = "" if path == source.main else path
            tree = parse(source.text(path), path, file)
            is_package = path.rpartition("/")[2] == "__init__.py"
            modules[name] = AuthorModule(name, path, file, tree, is_package)
        except PlayInvalid as error:
            refused.append(error)
    if refused:
        raise PlayInvalid([problem for error in refused for problem in error.problems])
    return modules


def module_paths(source: Source) -> dict[str, str]:
    """Give the paths of a source's Python files by the dotted name of each module, the play's first."""
    named = {name: path for path in sorted(source.files) if (name := module_name(path))}
    others = {name: path for name, path in named.items() if path != source.main}
    return {MAIN_MODULE: source.main} | {n: p for n, p in others.items() if n != MAIN_MODULE}


def module_name(path: str) -> str | None:
    """Give the dotted name under which a bundle's file is imported, or None where it cannot be."""
    if not path.endswith(".py"):
        return None
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None


def parse(text: str, path: str, file: str = "") -> ast.Module:
    """Parse and compile a module's text, without running it. Raises PlayInvalid with the line."""
    place = f"in {file}: " if file else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, path)
            compile(tree, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise refusal(
            f"{place}Python cannot read this: {_sentence(error)}", error.lineno or 0
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise refusal(
            f"{place}the source is nested too deeply for Python to read: split its longest expression"
        ) from None
    return tree


def _sentence(error: SyntaxError) -> str:
    advice = ADVICE.get(error.msg.split(" (")[0], "")
    return f"{error.msg}{advice}"


ADVICE = {
    "'await' outside async function": (
        ": write 'async def', or let a lambda give the call without 'await'"
    ),
    "'await' outside function": ": a play's work belongs inside its function",
    "'return' outside function": ": a play's work belongs inside its function",
}
"""How to mend what authors of plays get wrong most; Python's own words say the rest."""


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements of a body and of the compound statements in it, not those of definitions."""
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        if not isinstance(statement, DEFINITIONS):
            inner = _statements_in(ast.iter_child_nodes(statement))
            waiting.extend(reversed(inner))


def _statements_in(nodes: Iterable[ast.AST]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.stmt):
            found.append(node)
        elif isinstance(node, ast.ExceptHandler | ast.match_case):
            found.extend(node.body)
    return found


def bindings_of(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """Give, by name, the top-level statements that bind it, those of ``global`` names included."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in statements(tree.body):
        for name in names_bound(statement):
            found.setdefault(name, []).append(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                found.setdefault(name, []).append(node)
    return found


def names_bound(statement: ast.stmt) -> list[str]:
    """Give the names that one statement binds, compound statements' bodies left out."""
    if isinstance(statement, DEFINITIONS):
        return [statement.name]
    if isinstance(statement, ast.Import):
        return [alias.asname or alias.name.split(".")[0] for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
        targets = [statement.target]
    elif isinstance(statement, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in statement.items if item.optional_vars]
    return [name for target in targets for name in target_names(target)]


def target_names(target: ast.expr) -> list[str]:
    """Give the names that an assignment's target binds."""
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def takes(function: FunctionNode, count: int) -> bool:
    """Whether a function can be called with ``count`` positional arguments and nothing else."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    has_room = arguments.vararg is not None or count <= len(positional)
    return required <= count and has_room and None not in arguments.kw_defaults


def is_generator(function: FunctionNode) -> bool:
    """Whether a function yields, so that calling it gives an iterator."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, (*DEFINITIONS, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def called(function: FunctionNode) -> str:
    """Give a function's name for a sentence."""
    return "the lambda" if isinstance(function, ast.Lambda) else f"the function {function.name!r}"


def parameters_of(function: FunctionNode) -> list[str]:
    """Give the names of a function's positional parameters."""
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def line_of(node: ast.AST) -> int:
    """Give the line of a node; of a call in a chain over several lines, that of its own name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.end_lineno or node.lineno
    return int(getattr(node, "lineno", 0))
