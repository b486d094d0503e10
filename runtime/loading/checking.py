"""Checks an uploaded play without running anything of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from runtime.errors import PlayInvalid, Problem
from runtime.loading import definitions
from runtime.loading.abstract import Ctx, Input
from runtime.loading.declarations import find_play
from runtime.loading.imports import check_imports
from runtime.loading.maps import check_all_run
from runtime.loading.notes import PlayNote
from runtime.loading.problems import Problems
from runtime.loading.reading import Reader, TooEntangledError
from runtime.loading.sources import FORMATS, Format, Source, read_source
from runtime.loading.syntax import parse_modules
from runtime.loading.toolnames import ToolNames


@dataclass(frozen=True, slots=True)
class Checked:
    """A play's source as its text shows it.

    ``problems`` is ordered by line; the play may be published where it is empty. ``pipeline`` is the
    static pipeline, as complete as the text allows; its lines count from 1.
    """

    format: Format
    name: str
    description: str
    input_schema: dict[str, Any] | None
    pipeline: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)


def check(filename: str, source: bytes, *, known_tools: Collection[str]) -> Checked:
    """Read a module, bundle or definition, and tell everything that is wrong with it.

    The author's code is never run. Raises nothing for any content of ``source``.
    """
    note, problems = PlayNote(), Problems()
    found = FORMATS.get(PurePosixPath(filename).suffix.lower(), "module")
    try:
        read = read_source(filename, source)
        found = read.format
        tools = ToolNames(known_tools)
        if found == "definition":
            definitions.check(
                read.text(read.main), read.main, tools=tools, problems=problems, note=note
            )
        else:
            _check_code(read, tools, problems, note)
    except PlayInvalid as error:
        for problem in error.problems:
            problems.add(problem.line, problem.message)
    return Checked(
        found,
        note.name,
        note.description,
        note.input_schema,
        note.to_json(),
        problems.by_line(),
    )


def _check_code(source: Source, tools: ToolNames, problems: Problems, note: PlayNote) -> None:
    modules = parse_modules(source)
    check_imports(modules, problems)
    reader = Reader(modules, tools=tools, problems=problems, note=note)
    try:
        play = find_play(reader)
        if play is not None:
            reader.run(play, (Ctx(), Input()))
        check_all_run(reader)
    except TooEntangledError:
        problems.add(
            0, "the functions of the play call one another in too many ways to be followed"
        )
    except RecursionError:
        problems.add(
            0,
            "the functions or expressions of the play are nested too deeply to be followed: split them",
        )
    reader.check_unread_tools()
