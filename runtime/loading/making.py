"""Makes the play of a published source: runs the author's module, or compiles the definition."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import cast

from runtime.loading.compiling import load_definition
from runtime.loading.importing import import_play
from runtime.loading.problems import refusal
from runtime.loading.sources import Format, base_name, source_as
from runtime.program import Play


def load(format: str, filename: str, source: bytes) -> Play:  # noqa: A002 - as revisions call it
    """Give the play of a module, bundle or definition. Runs the author's code: play process only.

    A module is run in a namespace of its own every time. Raises PlayInvalid with the author's line.
    """
    read = source_as(cast("Format", format), filename, source)
    if read.format == "definition":
        return load_definition(read.text(read.main), read.main)
    return _only_play(import_play(read, base_name(filename)))


def _only_play(module: ModuleType) -> Play:
    found = {id(each): each for each in vars(module).values() if isinstance(each, Play)}
    if len(found) != 1:
        told = "no play" if not found else f"{len(found)} plays"
        raise refusal(
            f'the file holds {told}, and needs exactly one async function under @play("name")'
        )
    (play,) = found.values()
    if not inspect.iscoroutinefunction(play.function):
        raise refusal(f"the play {play.name!r} is no async function: write 'async def'")
    return play
