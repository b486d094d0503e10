"""Checks structured definitions and draws their pipeline, as ``checking`` does for code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.errors import KeyInvalid
from runtime.identity import safe_name
from runtime.loading.documents import Document, Path, read_document
from runtime.loading.forms import (
    DefinitionForm,
    FormReader,
    InlineWork,
    MapForm,
    NamedWork,
    StepForm,
    StepsWork,
    ToolWork,
    ValueWork,
    all_steps,
)
from runtime.loading.notes import CallNote, MapNote, Place, PlayNote, StepNote, WaterfallStepNote
from runtime.loading.problems import Problems, listed
from runtime.loading.schemas import schema_problem
from runtime.loading.shapes import check_shape
from runtime.loading.templates import Expression, Template, expressions_in
from runtime.loading.toolnames import ToolNames, repeated


def check(
    text: str, filename: str, *, tools: ToolNames, problems: Problems, note: PlayNote
) -> None:
    """Check a definition; what it says goes to ``note``, what is wrong with it to ``problems``.

    Raises PlayInvalid for a text that is no JSON or YAML.
    """
    document = read_document(text, filename)
    if isinstance(document.value, dict):
        _note_head(document, note)
    if not check_shape(document, problems):
        return
    checking = _Checking(document, tools, problems, note)
    reader = FormReader(checking.problem)
    form = reader.definition(document.value)
    for path, expression in reader.inputs:
        note.note_input(expression.name, Place(document.line(path)))
    checking.check(form)


def _note_head(document: Document, note: PlayNote) -> None:
    name, description = document.value.get("name"), document.value.get("description")
    note.name = name.strip() if isinstance(name, str) else ""
    note.description = description if isinstance(description, str) else ""
    note.line = document.line(("name",))


class _Checking:
    """One definition that fits the schema: what the schema cannot say about it."""

    def __init__(
        self, document: Document, tools: ToolNames, problems: Problems, note: PlayNote
    ) -> None:
        self._document = document
        self._tools = tools
        self._problems = problems
        self._note = note

    def problem(self, path: Path, message: str) -> None:
        """Note a problem at a part of the definition."""
        self._problems.add(self._document.line(path), message)

    def _place(self, path: Path) -> Place:
        return Place(self._document.line(path))

    def check(self, form: DefinitionForm) -> None:
        """Check the whole and note its pipeline."""
        self._check_name(form.name, ("name",))
        if form.input_schema is not None:
            if told := schema_problem(form.input_schema):
                self.problem(("input_schema",), told)
            else:
                self._note.input_schema = form.input_schema
        tables: dict[str, str] = {}
        for each in form.maps:
            self._check_map(each, tables)
            self._note.maps.append(self._map_note(each))
            if name := self._check_name(each.table, (*each.path, "table")):
                tables.setdefault(name, each.table)
        if form.returns not in [each.table for each in form.maps]:
            self.problem(("returns",), f"there is no map {form.returns!r} that could be returned")

    def _check_name(self, name: str, path: Path) -> str:
        if "{{" in name:
            self.problem(
                path, f"{name!r} is a name, which is written out: it cannot hold templates"
            )
            return ""
        try:
            return safe_name(name)
        except KeyInvalid as error:
            self.problem(path, str(error))
            return ""

    def _check_map(self, form: MapForm, tables: Mapping[str, str]) -> None:
        try:
            taken = tables.get(safe_name(form.table))
        except KeyInvalid:
            taken = None
        if taken is not None:
            told = f"the table {form.table!r} is already made by the map {taken!r}: give it another name"
            self.problem((*form.path, "table"), told)
        self._check_rows(form, tables.values())
        for name in form.key:
            if any(step.name == name for step in form.steps):
                told = (
                    f"the key uses {name!r}, which the map computes itself: use columns of its rows"
                )
                self.problem((*form.path, "key"), told)
        self._check_repeated(form.steps)
        for step in all_steps(form.steps):
            self._check_step(step)

    def _check_rows(self, form: MapForm, tables: Iterable[str]) -> None:
        path = (*form.path, form.kind)
        if form.kind == "map" and form.rows not in tables:
            self.problem(path, f"there is no map {form.rows!r} before this one")
        if form.kind == "csv" and not _names_input(form.rows):
            self.problem(path, "csv names an upload of the input: write {{input.leads}}")
        if form.kind == "list" and not isinstance(form.rows, list) and _single(form.rows) is None:
            self.problem(
                path, "list is a list of rows, or names one of the input: {{input.people}}"
            )
        for expression in expressions_in(form.rows):
            if expression.root == "row":
                self.problem(path, "there is no row yet where a map's rows come from: read 'input'")
            elif form.kind == "csv":
                self._note.note_input(expression.name, self._place(path), is_csv=True)
                self._note.calls.append(CallNote("csv", expression.name, self._place(path)))

    def _check_repeated(self, steps: tuple[StepForm, ...]) -> None:
        for index, step in enumerate(steps):
            if step.name in [each.name for each in steps[:index]]:
                told = f"the step name {step.name!r} is used twice: give each its own"
                self.problem((*step.path, "name"), told)

    def _check_step(self, step: StepForm) -> None:
        work, path = step.work, step.path
        if "{{" in step.name:
            told = f"{step.name!r} is a name, which is written out: it cannot hold templates"
            self.problem((*path, "name"), told)
        if "{{" in str(step.otherwise):
            self.problem((*path, "otherwise"), "otherwise is a plain value, without templates")
        if isinstance(work, ValueWork | StepsWork) and "input" in step.told:
            self.problem((*path, "input"), "'input' belongs to a tool or a waterfall")
        if isinstance(work, StepsWork):
            self._check_repeated(work.steps)
        elif isinstance(work, ToolWork):
            self._check_tool(work.tool, (*path, "tool"))
        elif isinstance(work, NamedWork):
            self._check_providers(work, path)
        elif isinstance(work, InlineWork):
            self._check_inline(step, work)

    def _check_tool(self, tool: str, path: Path) -> None:
        if told := self._tools.problem(tool):
            self.problem(path, told)

    def _check_providers(self, work: NamedWork, path: Path) -> None:
        if work.providers is None and (told := self._tools.default_problem(work.name)):
            self.problem((*path, "waterfall"), told)
        for index, provider in enumerate(work.providers or ()):
            if told := self._tools.provider_problem(provider, work.name):
                self.problem((*path, "providers", index), told)

    def _check_inline(self, step: StepForm, work: InlineWork) -> None:
        path = (*step.path, "waterfall")
        if "providers" in step.told:
            told = "providers belong to named waterfalls: this one has steps of its own"
            self.problem((*step.path, "providers"), told)
        if twice := repeated([each.id for each in work.steps]):
            self.problem(path, f"the step id {listed(twice)} is used twice: give each its own")
        for index, each in enumerate(work.steps):
            self._check_tool(each.tool, (*path, "steps", index, "tool"))

    def _map_note(self, form: MapForm) -> MapNote:
        return MapNote(
            form.table,
            self._place((*form.path, "table")),
            _source(form),
            list(form.key),
            form.description,
            [self._step_note(step) for step in form.steps],
            is_run=True,
        )

    def _step_note(self, step: StepForm) -> StepNote:
        note = StepNote(step.name, "code", self._place((*step.path, "name")))
        if isinstance(step.work, ValueWork):
            note.kind = "code" if list(expressions_in(step.work.value)) else "value"
        elif isinstance(step.work, StepsWork):
            note.kind = "steps"
            note.steps = [self._step_note(each) for each in step.work.steps]
        else:
            note.calls.append(self._call_note(step))
        if step.condition is not None:
            note.kind, note.condition = "when", True
        return note

    def _call_note(self, step: StepForm) -> CallNote:
        work = step.work
        if isinstance(work, ToolWork):
            return CallNote(
                "tool", step.name, self._place((*step.path, "tool")), {"tool": work.tool}
            )
        path = (*step.path, "waterfall")
        known: dict[str, Any]
        if isinstance(work, NamedWork):
            providers = work.providers or self._tools.usual_providers(work.name)
            key, known = work.name, {"providers": list(providers)}
        else:
            assert isinstance(work, InlineWork)
            steps = [
                WaterfallStepNote(each.id, "tool", each.tool, self._place((*path, "steps", index)))
                for index, each in enumerate(work.steps)
            ]
            key = work.id
            known = {"output": work.output, "steps": [each.to_json() for each in steps]}
        return CallNote("waterfall", key, self._place(path), known)


def _single(value: Any) -> Expression | None:
    """Give the one expression that a text consists of, else None."""
    if isinstance(value, Template) and len(value.parts) == 1:
        (part,) = value.parts
        return part if isinstance(part, Expression) else None
    return None


def _names_input(value: Any) -> bool:
    """Whether a text is one template that reads an input as a whole."""
    found = _single(value)
    return found is not None and len(found.path) == 1


def _source(form: MapForm) -> str | None:
    if form.kind == "map":
        return f"map:{form.rows}"
    found = _single(form.rows)
    return f"input:{found.name}" if found is not None else None
