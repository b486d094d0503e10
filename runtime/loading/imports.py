"""What an author's imports stand for, and those that the play process could not do.

A play may import the standard library, ``runtime``, the packages installed beside it, and the other
files of its bundle. Everything is looked up without importing it.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runtime.loading.problems import Problems, did_you_mean, refusal
from runtime.loading.syntax import AuthorModule

ENGINE = "runtime"
CATCHES_IMPORT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True, slots=True)
class Imported:
    """What a name is bound to: a module of the bundle, a member of one, or something from elsewhere.

    ``module`` is None for anything from elsewhere; ``dotted`` is then its full name.
    """

    module: AuthorModule | None
    member: str = ""
    dotted: str = ""


def imported(
    statement: ast.Import | ast.ImportFrom, here: AuthorModule, modules: Mapping[str, AuthorModule]
) -> dict[str, Imported]:
    """Give what each name of an import statement stands for; a star gives every public name."""
    if isinstance(statement, ast.Import):
        return {
            alias.asname or alias.name.split(".")[0]: _module(
                alias.name if alias.asname else alias.name.split(".")[0], modules
            )
            for alias in statement.names
        }
    base = absolute(statement, here)
    found: dict[str, Imported] = {}
    for alias in statement.names:
        if alias.name == "*":
            found.update({name: _member(base, name, modules) for name in _public(base, modules)})
        else:
            found[alias.asname or alias.name] = _member(base, alias.name, modules)
    return found


def absolute(statement: ast.ImportFrom, here: AuthorModule) -> str:
    """Give the dotted module of a ``from`` import, a relative one counted from ``here``."""
    if not statement.level:
        return statement.module or ""
    package = here.name.split(".") if here.is_package else here.name.split(".")[:-1]
    above = package[: len(package) - statement.level + 1]
    return ".".join([*above, statement.module or ""]).strip(".")


def _module(name: str, modules: Mapping[str, AuthorModule]) -> Imported:
    return Imported(modules.get(name), dotted=name)


def _member(base: str, name: str, modules: Mapping[str, AuthorModule]) -> Imported:
    whole = f"{base}.{name}".strip(".")
    if whole in modules:
        return Imported(modules[whole], dotted=whole)
    if base in modules:
        return Imported(modules[base], name, whole)
    return Imported(None, dotted=whole)


def _public(base: str, modules: Mapping[str, AuthorModule]) -> list[str]:
    if base in modules:
        return [name for name in modules[base].bindings if not name.startswith("_")]
    return list(engine_names()) if base == ENGINE else []


@functools.cache
def engine_names() -> tuple[str, ...]:
    """Give what an author may import from ``runtime``."""
    return tuple(sys.modules[ENGINE].__all__)


@functools.cache
def installed_packages() -> frozenset[str]:
    """Give the top-level names of the standard library and of all installed packages."""
    return frozenset(sys.stdlib_module_names) | importlib.metadata.packages_distributions().keys()


def check_imports(modules: Mapping[str, AuthorModule], problems: Problems) -> None:
    """Note each import that would fail in the play process.

    Raises PlayInvalid where a file of the bundle would stand for the engine.
    """
    if own := modules.get(ENGINE):
        name = own.path
        raise refusal(f"in {name}: a file of a bundle cannot be called {name}: rename it", 1)
    for module in modules.values():
        for statement in _unguarded(module.tree):
            _check_import(statement, module, modules, problems)


def _check_import(
    statement: ast.Import | ast.ImportFrom,
    here: AuthorModule,
    modules: Mapping[str, AuthorModule],
    problems: Problems,
) -> None:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if told := _missing_module(alias.name, modules):
                problems.add(statement, told, here.file)
        return
    base = absolute(statement, here)
    names = [alias.name for alias in statement.names if alias.name != "*"]
    if base and (told := _missing_module(base, modules)):
        problems.add(statement, told, here.file)
        return
    for name in names:
        if told := _missing_member(base, name, modules):
            problems.add(statement, told, here.file)


def _missing_module(name: str, modules: Mapping[str, AuthorModule]) -> str:
    top = name.split(".")[0]
    siblings = {known.split(".")[0] for known in modules if known != "play"}
    if top in siblings:
        is_known = name in modules or any(known.startswith(f"{name}.") for known in modules)
        return "" if is_known else f"the bundle has no module {name!r}{did_you_mean(name, modules)}"
    if top == ENGINE or top in installed_packages():
        return "" if _exists(name) else f"there is no module {name!r} in {top!r}"
    return (
        f"there is no module {name!r} where plays run{did_you_mean(name, siblings)}: use the standard"
        " library, or pack the module beside play.py into a bundle (.zip)"
    )


def _exists(name: str) -> bool:
    """Whether a dotted module exists. Only the engine's own are looked at: others would be imported."""
    parts = name.split(".")
    if parts[0] != ENGINE or len(parts) == 1:
        return True
    return importlib.util.find_spec(".".join(parts[:2])) is not None


def _missing_member(base: str, name: str, modules: Mapping[str, AuthorModule]) -> str:
    if base == ENGINE and name not in engine_names():
        return f"runtime has no {name!r}{did_you_mean(name, engine_names())}"
    if f"{base}.{name}".strip(".") in modules:
        return ""
    module = modules.get(base)
    if module is None:
        is_folder = not base or any(known.startswith(f"{base}.") for known in modules)
        whole = f"{base}.{name}".strip(".")
        return f"the bundle has no module {whole!r}" if is_folder else ""
    if name in module.bindings or not _is_closed(module):
        return ""
    return f"{module.path} has no {name!r}{did_you_mean(name, module.bindings)}"


def _is_closed(module: AuthorModule) -> bool:
    """Whether the names of a module are all in its text: no star import, no ``__getattr__``."""
    return "*" not in module.bindings and "__getattr__" not in module.bindings


def _unguarded(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Give the imports that must succeed: not those for type checkers, nor those that may fail."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and _is_for_type_checkers(node.test):
            waiting.extend(node.orelse)
        elif isinstance(node, ast.Try) and any(map(_catches_import, node.handlers)):
            waiting.extend([*node.handlers, *node.orelse, *node.finalbody])
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _is_for_type_checkers(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _catches_import(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    if caught is None:
        return True
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(name, ast.Name) and name.id in CATCHES_IMPORT for name in names)
