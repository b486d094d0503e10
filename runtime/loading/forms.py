"""The parts of a structured definition as frozen values, with their templates read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.loading.conditions import Condition, parts_of, read_condition
from runtime.loading.documents import Path
from runtime.loading.problems import refusal
from runtime.loading.templates import (
    Expression,
    TemplateError,
    expressions_in,
    read_templates,
)
from runtime.values import Json


@dataclass(frozen=True, slots=True)
class ValueWork:
    """A JSON value with templates."""

    value: Json


@dataclass(frozen=True, slots=True)
class ToolWork:
    """One tool; ``get`` names the value of its result, None its own output."""

    tool: str
    input: Json
    get: str | None


@dataclass(frozen=True, slots=True)
class NamedWork:
    """A named waterfall; ``providers`` None: the usual ones."""

    name: str
    input: Json
    providers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class InlineStep:
    """One tool of an inline waterfall, with the input that it is given."""

    id: str
    tool: str
    input: Json


@dataclass(frozen=True, slots=True)
class InlineWork:
    """A waterfall with tools of its own."""

    id: str
    output: str
    min_results: int
    steps: tuple[InlineStep, ...]


@dataclass(frozen=True, slots=True)
class StepsWork:
    """Nested steps; ``returns`` None: a mapping of them all."""

    steps: tuple[StepForm, ...]
    returns: Json
    has_returns: bool


Work = ValueWork | ToolWork | NamedWork | InlineWork | StepsWork


@dataclass(frozen=True, slots=True)
class StepForm:
    """One step. ``told`` is its text as given, less what does not change its value."""

    name: str
    work: Work
    path: Path
    told: Mapping[str, Any]
    stale_after_seconds: float | None = None
    condition: Condition | None = None
    otherwise: Json = None

    def templates(self) -> list[Json]:
        """Give everything of the step itself that may hold templates, nested steps left out."""
        work = self.work
        found: list[Json] = parts_of(self.condition) if self.condition else []
        if isinstance(work, ValueWork):
            found.append(work.value)
        elif isinstance(work, ToolWork | NamedWork):
            found.append(work.input)
        elif isinstance(work, InlineWork):
            found += [each.input for each in work.steps]
        else:
            found.append(work.returns)
        return found


@dataclass(frozen=True, slots=True)
class MapForm:
    """One map; ``rows`` is a template, a list with templates, or the table of an earlier map."""

    table: str
    kind: str
    rows: Json
    path: Path
    steps: tuple[StepForm, ...]
    key: tuple[str, ...] = ()
    description: str = ""
    on_row_error: str = "isolate"
    stale_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class DefinitionForm:
    """A whole definition."""

    name: str
    description: str
    input_schema: dict[str, Any] | None
    maps: tuple[MapForm, ...]
    returns: str


@dataclass(slots=True)
class FormReader:
    """Reads a definition that fits the schema; ``told`` is called with the path of each wrong template.

    ``inputs`` gathers what is read of the run's input, with the path of each place.
    """

    told: Callable[[Path, str], None]
    inputs: list[tuple[Path, Expression]] = field(default_factory=list)

    def definition(self, value: Mapping[str, Any]) -> DefinitionForm:
        """Read the whole."""
        maps = tuple(self._map(each, ("maps", index)) for index, each in enumerate(value["maps"]))
        return DefinitionForm(
            value["name"].strip(),
            value.get("description", ""),
            value.get("input_schema"),
            maps,
            value.get("returns", maps[-1].table),
        )

    def _map(self, value: Mapping[str, Any], path: Path) -> MapForm:
        kind = next(name for name in ("csv", "list", "map") if name in value)
        key = value.get("key", [])
        return MapForm(
            table=value["table"],
            kind=kind,
            rows=value[kind] if kind == "map" else self._templates(value[kind], (*path, kind)),
            path=path,
            steps=self._steps(value["steps"], (*path, "steps")),
            key=(key,) if isinstance(key, str) else tuple(key),
            description=value.get("description", ""),
            on_row_error=value.get("on_row_error", "isolate"),
            stale_after_seconds=value.get("stale_after_seconds"),
        )

    def _steps(self, value: list[Any], path: Path) -> tuple[StepForm, ...]:
        return tuple(self._step(each, (*path, index)) for index, each in enumerate(value))

    def _step(self, value: Mapping[str, Any], path: Path) -> StepForm:
        return StepForm(
            name=value["name"],
            work=self._work(value, path),
            path=path,
            told={name: each for name, each in value.items() if name != "stale_after_seconds"},
            stale_after_seconds=value.get("stale_after_seconds"),
            condition=self._condition(value, path),
            otherwise=value.get("otherwise"),
        )

    def _condition(self, value: Mapping[str, Any], path: Path) -> Condition | None:
        if "when" not in value:
            return None
        try:
            condition = read_condition(value["when"])
        except TemplateError as error:
            self.told((*path, "when"), str(error))
            return None
        for part in parts_of(condition):
            self._note_inputs(part, (*path, "when"))
        return condition

    def _work(self, value: Mapping[str, Any], path: Path) -> Work:
        given = self._templates(value.get("input", {}), (*path, "input"))
        if "tool" in value:
            return ToolWork(value["tool"], given, value.get("get"))
        if "steps" in value:
            returns = self._templates(value.get("returns"), (*path, "returns"))
            return StepsWork(
                self._steps(value["steps"], (*path, "steps")), returns, "returns" in value
            )
        if "value" in value:
            return ValueWork(self._templates(value["value"], (*path, "value")))
        spec = value["waterfall"]
        if isinstance(spec, str):
            providers = value.get("providers")
            return NamedWork(spec, given, tuple(providers) if providers else None)
        return self._inline(spec, given, (*path, "waterfall"))

    def _inline(self, spec: Mapping[str, Any], given: Json, path: Path) -> InlineWork:
        steps = tuple(
            InlineStep(
                each["id"],
                each["tool"],
                self._templates(each["input"], (*path, "steps", index, "input"))
                if "input" in each
                else given,
            )
            for index, each in enumerate(spec["steps"])
        )
        return InlineWork(spec["id"], spec["output"], spec.get("min_results", 1), steps)

    def _templates(self, value: Json, path: Path) -> Json:
        """Read templates, each wrong one told with the line on which it stands."""
        if isinstance(value, dict):
            return {name: self._templates(each, (*path, name)) for name, each in value.items()}
        if isinstance(value, list):
            return [self._templates(each, (*path, index)) for index, each in enumerate(value)]
        try:
            read = read_templates(value)
        except TemplateError as error:
            self.told(path, str(error))
            return None
        self._note_inputs(read, path)
        return read

    def _note_inputs(self, value: Json, path: Path) -> None:
        found = [each for each in expressions_in(value) if each.root == "input"]
        self.inputs += [(path, each) for each in found]


def all_steps(steps: tuple[StepForm, ...]) -> Iterator[StepForm]:
    """Give steps and those nested in them."""
    for step in steps:
        yield step
        if isinstance(step.work, StepsWork):
            yield from all_steps(step.work.steps)


def read_form(value: Mapping[str, Any]) -> DefinitionForm:
    """Read a definition that was checked before. Raises PlayInvalid for a wrong template."""

    def refuse(path: Path, message: str) -> None:
        raise refusal(message)

    return FormReader(refuse).definition(value)
