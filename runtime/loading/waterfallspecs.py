"""Reads the specs of inline waterfalls, and runs through the code in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.loading.abstract import UNKNOWN, Const, Ctx, Function, Items, Part, Spec, Value
from runtime.loading.notes import WaterfallNote, WaterfallStepNote
from runtime.loading.problems import listed
from runtime.loading.readcalls import ReadCall
from runtime.loading.toolnames import repeated

if TYPE_CHECKING:
    from runtime.loading.reading import Reader


def read_spec(asked: ReadCall) -> Spec:
    """Read ``waterfall(...)``."""
    name = asked.name("id")
    output = asked.name("output")
    least, is_known = asked.literal("min_results")
    is_count = isinstance(least, int) and not isinstance(least, bool) and least >= 1
    if is_known and not is_count:
        asked.problem(f"min_results is a whole number of at least 1, not {least!r}", "min_results")
    parts = _parts(asked)
    ids = [part.note.id for part in parts if part.note.id is not None]
    if twice := repeated(ids):
        asked.problem(f"the step id {listed(twice)} is used twice: give each its own", "steps")
    return Spec(WaterfallNote(name, output, tuple(part.note for part in parts)), parts)


def _parts(asked: ReadCall) -> tuple[Part, ...]:
    given = asked.get("steps")
    if isinstance(given, Const):
        asked.problem(
            "steps needs a list of at least one tool_step(...) or code_step(...)", "steps"
        )
        return ()
    if not isinstance(given, Items):
        return ()
    if any(isinstance(part, Const | Function | Spec) for part in given.parts):
        asked.problem("steps holds something that is no tool_step(...) or code_step(...)", "steps")
    return tuple(part for part in given.parts if isinstance(part, Part))


def read_tool_step(asked: ReadCall) -> Part:
    """Read ``tool_step(...)``."""
    tool = asked.name("tool")
    if tool is not None and (told := asked.reader.tools.problem(tool)):
        asked.problem(told, "tool")
    asked.function("map_input", range(1, 2), "with the waterfall's input")
    note = WaterfallStepNote(asked.name("id"), "tool", tool, asked.place)
    return Part(note, asked.get("map_input"))


def read_code_step(asked: ReadCall) -> Part:
    """Read ``code_step(...)``."""
    value, is_known = asked.literal("run")
    if is_known:
        asked.problem(f"code_step needs a function as its run, not {value!r}", "run")
    asked.function("run", range(1, 3), "with (input, ctx)")
    note = WaterfallStepNote(asked.name("id"), "code", None, asked.place)
    return Part(note, asked.get("run"))


def run_spec(reader: Reader, spec: Spec) -> None:
    """Read the functions of a spec's steps where it is asked; their calls belong to that place."""
    for part in spec.parts:
        given: list[Value] = [UNKNOWN, Ctx()] if part.note.kind == "code" else [UNKNOWN]
        if isinstance(part.function, Function):
            reader.run(part.function, given)
