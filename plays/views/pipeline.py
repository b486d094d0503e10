"""The picture of a play's static pipeline: inputs, then maps and calls in the order of the source.

It turns the pipeline that ``runtime.loading`` read from the text (a revision keeps it) into
what the template draws. It knows nothing of runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plays.highlighting import line_anchor

Node = Mapping[str, Any]

COMPUTED = "(computed)"
"""Stands for a name that only a run can tell."""

KIND_WORDS = {
    "tool": "tool",
    "waterfall": "waterfall",
    "play": "play",
    "step": "recorded step",
    "fetch": "fetch",
    "sleep": "sleep",
    "wait": "wait for an event",
    "code": "code",
    "value": "value",
    "when": "code",
    "steps": "nested steps",
}
ICONS = {
    "tool": "tool",
    "waterfall": "waterfall",
    "play": "play",
    "fetch": "download",
    "sleep": "waiting",
    "wait": "waiting",
    "value": "value",
    "when": "branch",
    "steps": "steps",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call: ``steps`` are the tools of a waterfall in the order in which they are asked."""

    icon: str
    words: str
    name: str
    anchor: str
    steps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field of a map, with the calls that fill it and the fields of a nested program."""

    name: str
    anchor: str
    icon: str
    words: str
    is_hidden: bool
    is_conditional: bool
    calls: list[Call]
    fields: list[FieldShape]


@dataclass(frozen=True, slots=True)
class Stage:
    """One box of the picture: a map with its fields, or a call outside maps."""

    title: str
    line: int
    anchor: str
    reads: str
    key: list[str]
    description: str
    fields: list[FieldShape]
    call: Call | None


@dataclass(frozen=True, slots=True)
class InputShape:
    """One key of the play's input."""

    name: str
    anchor: str
    is_csv: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """What the template draws, from top to bottom."""

    inputs: list[InputShape]
    stages: list[Stage]


def picture(pipeline: Node) -> Picture:
    """Give the picture of a pipeline."""
    inputs = pipeline.get("inputs", [])
    stages = [_map_stage(entry) for entry in pipeline.get("maps", [])]
    stages += [_call_stage(entry) for entry in pipeline.get("calls", []) if entry["kind"] != "csv"]
    return Picture(
        inputs=sorted(map(_input, inputs), key=lambda shape: not shape.is_csv),
        stages=sorted(stages, key=lambda stage: stage.line),
    )


def _input(entry: Node) -> InputShape:
    return InputShape(entry["name"], _anchor(entry), entry["kind"] == "csv")


def _map_stage(entry: Node) -> Stage:
    return Stage(
        title=entry["table"] or COMPUTED,
        line=entry["line"],
        anchor=_anchor(entry),
        reads=_source_words(entry.get("source")),
        key=list(entry.get("key") or []),
        description=entry.get("description") or "",
        fields=_fields(entry.get("steps", [])),
        call=None,
    )


def _call_stage(entry: Node) -> Stage:
    call = _call(entry)
    return Stage(call.name, entry["line"], call.anchor, "", [], "", [], call)


def _source_words(source: str | None) -> str:
    """Say what a map's rows are: ``input:leads`` is a file, ``map:leads`` another map."""
    kind, _, name = (source or "").partition(":")
    return {"input": f"rows of {name}", "map": f"results of {name}"}.get(kind, "")


def _fields(steps: Iterable[Node]) -> list[FieldShape]:
    return [_field(step) for step in steps]


def _field(step: Node) -> FieldShape:
    calls = [_call(call) for call in step.get("calls", [])]
    main = calls[0] if calls else None
    kind = step["kind"]
    return FieldShape(
        name=step["name"] or COMPUTED,
        anchor=_anchor(step),
        icon=main.icon if main else ICONS.get(kind, "code"),
        words=KIND_WORDS.get(kind, str(kind)),
        is_hidden=bool(step.get("hidden")),
        is_conditional=bool(step.get("condition")) or kind == "when",
        calls=calls,
        fields=_fields(step.get("steps", [])),
    )


def _call(call: Node) -> Call:
    kind = call["kind"]
    steps = [_step_words(step) for step in call.get("steps") or []]
    name = call.get("tool") or call.get("play") or call.get("key") or COMPUTED
    return Call(
        icon=ICONS.get(kind, "code"),
        words=KIND_WORDS.get(kind, str(kind)),
        name=name,
        anchor=_anchor(call),
        steps=steps or list(call.get("providers") or []),
    )


def _step_words(step: Node) -> str:
    """Name one step of an inline waterfall: its tool, or its own id where it is code."""
    return step.get("tool") or f"{step.get('id') or COMPUTED} (code)"


def _anchor(node: Node) -> str:
    return line_anchor(node.get("file", ""), node.get("line", 0))
