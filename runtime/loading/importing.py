"""Imports a play's modules from memory: the only place where an author's code is run to be loaded.

Used in the play process alone. Every play gets a package of its own, ``play_<digest>``, so that two
bundles with a ``helpers.py`` each do not meet in ``sys.modules``; what is imported by a plain name from
inside such a package is looked for beside the importer first. Tracebacks show the author's lines,
because the texts are given to ``linecache``.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from runtime.errors import PlayInvalid
from runtime.loading.problems import refusal
from runtime.loading.sources import Source
from runtime.loading.syntax import MAIN_MODULE, module_paths, parse
from runtime.values import digest

PREFIX = "play_"


@dataclass(frozen=True, slots=True)
class Text:
    """One module: its text; ``path`` in the bundle; ``shown``, the file's name in tracebacks."""

    text: str
    path: str
    shown: str

    @property
    def is_package(self) -> bool:
        """Whether the file stands for its folder."""
        return self.path.rpartition("/")[2] == "__init__.py"


class PlayPackage:
    """The modules of one play, by their dotted names below ``name``."""

    def __init__(self, source: Source, filename: str) -> None:
        texts = {name: (path, source.text(path)) for name, path in module_paths(source).items()}
        self.name = PREFIX + digest({name: text for name, (_, text) in texts.items()})[:12]
        label = FINDER.free_label(filename, self.name)
        self.texts = {
            name: Text(text, path, f"{label}/{path}" if source.format == "bundle" else label)
            for name, (path, text) in texts.items()
        }
        self.label = label
        self._tops = {name.split(".")[0] for name in self.texts}

    def text_shown(self, shown: str) -> Text | None:
        """Give the module that tracebacks show under a file name."""
        return next((each for each in self.texts.values() if each.shown == shown), None)

    def forget(self) -> None:
        """Drop what an earlier load of the same texts left behind."""
        for name in [each for each in sys.modules if each.split(".")[0] == self.name]:
            del sys.modules[name]

    def import_from_inside(
        self,
        name: str,
        names: Mapping[str, Any] | None = None,
        locals_: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Do what ``import`` does, with the play's own modules before all others."""
        top = name.split(".")[0]
        if level or top not in self._tops:
            return builtins.__import__(name, names, locals_, fromlist or (), level)
        found = builtins.__import__(f"{self.name}.{name}", names, locals_, fromlist or (), 0)
        return found if fromlist else sys.modules[f"{self.name}.{top}"]


class PlayFinder(MetaPathFinder):
    """Finds the modules of the plays that this process has loaded."""

    def __init__(self) -> None:
        self.packages: dict[str, PlayPackage] = {}

    def free_label(self, filename: str, package: str) -> str:
        """Give the name for tracebacks: the file's own, unless another play already goes by it."""
        others = [each.label for name, each in self.packages.items() if name != package]
        return f"{filename} ({package.removeprefix(PREFIX)})" if filename in others else filename

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give the specification of a play's package or module; None for any other."""
        top, _, name = fullname.partition(".")
        package = self.packages.get(top)
        if package is None:
            return None
        found = package.texts.get(name)
        is_folder = not name or any(each.startswith(f"{name}.") for each in package.texts)
        if found is None and not is_folder:
            return None
        is_package = is_folder or (found is not None and found.is_package)
        return ModuleSpec(fullname, PlayLoader(package, found), is_package=is_package)


class PlayLoader(InspectLoader):
    """Runs one module of a play, or makes the empty package that holds others."""

    def __init__(self, package: PlayPackage, found: Text | None) -> None:
        self._package = package
        self._found = found

    def get_source(self, fullname: str) -> str:
        """Give the text of the module."""
        return self._found.text if self._found else ""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the module; its file is the name that tracebacks show."""
        shown = self._found.shown if self._found else fullname
        return compile(self.get_source(fullname), shown, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, with imports of its siblings by their plain names."""
        if self._found is not None:
            module.__file__ = self._found.shown
        inside = dict(vars(builtins), __import__=self._package.import_from_inside)
        vars(module)["__builtins__"] = inside
        exec(self.get_code(module.__name__), vars(module))  # noqa: S102 - what the play process is for


FINDER = PlayFinder()


def import_play(source: Source, filename: str) -> ModuleType:
    """Run a module or bundle and give the module of the play, fresh; its name is ``<package>.play``.

    Raises PlayInvalid with the author's line where the code fails while it is imported.
    """
    package = PlayPackage(source, filename)
    package.forget()
    FINDER.packages[package.name] = package
    if FINDER not in sys.meta_path:
        sys.meta_path.append(FINDER)
    for each in package.texts.values():
        parse(each.text, each.path, "" if each.path == source.main else each.path)
        lines = each.text.splitlines(keepends=True)
        # No time of change: linecache then never looks for the file on the disk.
        linecache.cache[each.shown] = (len(each.text), None, lines, each.shown)
    try:
        return importlib.import_module(f"{package.name}.{MAIN_MODULE}")
    except (Exception, SystemExit) as error:
        raise _failed(error, package, source.main) from error


def _failed(error: BaseException, package: PlayPackage, main: str) -> PlayInvalid:
    line, file = 0, ""
    for frame in traceback.extract_tb(error.__traceback__):
        if found := package.text_shown(frame.filename):
            line, file = frame.lineno or 0, found.path
    place = f"in {file}: " if file not in ("", main) else ""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return refusal(f"{place}the play fails while it is imported: {what}", line)


def is_play_module(module: str) -> bool:
    """Whether a module's full name belongs to a play that this process has loaded."""
    return module.partition(".")[0] in FINDER.packages
