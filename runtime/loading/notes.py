"""What the static check found in a play, and its JSON form: the static pipeline.

The pipeline is drawn on the play's page and stored with its revision. None stands for what only a run
can tell, such as a name that is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
StepKind = Literal["value", "code", "when", "steps"]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; ``file`` is "" for the play's own."""

    line: int
    file: str = ""

    def to_json(self) -> Json:
        """Give ``line``, and ``file`` where it is a helper module's."""
        return {"line": self.line, "file": self.file} if self.file else {"line": self.line}


@dataclass(slots=True)
class InputNote:
    """One key of the play's input, where it is first read; ``csv``: it names an upload."""

    name: str
    place: Place
    kind: Literal["csv", "value"]

    def to_json(self) -> Json:
        """Give the pipeline's form."""
        return {"name": self.name, **self.place.to_json(), "kind": self.kind}


@dataclass(frozen=True, slots=True)
class WaterfallStepNote:
    """One step of an inline waterfall."""

    id: str | None
    kind: Literal["tool", "code"]
    tool: str | None
    place: Place

    def to_json(self) -> Json:
        """Give the pipeline's form."""
        told = {"tool": self.tool} if self.kind == "tool" else {}
        return {"id": self.id, "kind": self.kind, **told, **self.place.to_json()}


@dataclass(frozen=True, slots=True)
class WaterfallNote:
    """The spec of an inline waterfall."""

    id: str | None
    output: str | None
    steps: tuple[WaterfallStepNote, ...]

    def to_json(self) -> Json:
        """Give what the pipeline's form of a call holds of it."""
        return {"output": self.output, "steps": [step.to_json() for step in self.steps]}


@dataclass(frozen=True, slots=True)
class CallNote:
    """One call of the context. ``known`` holds what belongs to its kind: tool, play, providers, steps."""

    kind: str
    key: str | None
    place: Place
    known: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> Json:
        """Give the pipeline's form."""
        return {"kind": self.kind, "key": self.key, **self.place.to_json(), **self.known}


@dataclass(slots=True)
class StepNote:
    """One step of a map or of a nested program."""

    name: str | None
    kind: StepKind
    place: Place
    condition: bool = False
    calls: list[CallNote] = field(default_factory=list)
    steps: list[StepNote] | None = None
    branch: tuple[tuple[int, int], ...] = ()

    def to_json(self) -> Json:
        """Give the pipeline's form; ``steps`` only where the step is a nested program."""
        nested = {} if self.steps is None else {"steps": [step.to_json() for step in self.steps]}
        return {
            "name": self.name,
            **self.place.to_json(),
            "hidden": bool(self.name and self.name.startswith("_")),
            "kind": self.kind,
            "condition": self.condition,
            "calls": [call.to_json() for call in self.calls],
            **nested,
        }


@dataclass(slots=True)
class MapNote:
    """One map. ``key`` None: a function or a computed value makes it; []: there is none."""

    table: str | None
    place: Place
    source: str | None = None
    key: list[str] | None = field(default_factory=list)
    description: str = ""
    steps: list[StepNote] = field(default_factory=list)
    is_run: bool = False
    branch: tuple[tuple[int, int], ...] = ()

    def to_json(self) -> Json:
        """Give the pipeline's form."""
        return {
            "table": self.table,
            **self.place.to_json(),
            "key": self.key,
            "description": self.description,
            "source": self.source,
            "steps": [step.to_json() for step in self.steps],
        }


@dataclass(slots=True)
class PlayNote:
    """A play as its text shows it."""

    name: str = ""
    description: str = ""
    line: int = 0
    input_schema: dict[str, Any] | None = None
    inputs: list[InputNote] = field(default_factory=list)
    maps: list[MapNote] = field(default_factory=list)
    calls: list[CallNote] = field(default_factory=list)

    def note_input(self, name: str, place: Place, *, is_csv: bool = False) -> None:
        """Note that an input is read; once it is known to name an upload it stays one."""
        found = next((each for each in self.inputs if each.name == name), None)
        if found is None:
            self.inputs.append(InputNote(name, place, "csv" if is_csv else "value"))
        elif is_csv:
            found.kind = "csv"

    def to_json(self) -> Json:
        """Give the static pipeline."""
        return {
            "name": self.name,
            "description": self.description,
            "line": self.line,
            "inputs": [each.to_json() for each in self.inputs],
            "maps": [each.to_json() for each in self.maps],
            "calls": [each.to_json() for each in self.calls],
        }
