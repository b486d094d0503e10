"""Makes a play of a structured definition: the same steps and waterfalls that an author's code makes.

The engine runs them like any other. Each resolver carries the digest of the text it was made from,
with the parts of the run's input that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.errors import PlayError, PlayInvalid
from runtime.loading.digests import OWN_DIGEST
from runtime.loading.documents import read_document
from runtime.loading.forms import (
    DefinitionForm,
    InlineStep,
    InlineWork,
    MapForm,
    NamedWork,
    StepForm,
    StepsWork,
    ToolWork,
    ValueWork,
    read_form,
)
from runtime.loading.problems import Problems
from runtime.loading.shapes import check_shape
from runtime.loading.templates import expressions_in, render
from runtime.program import Play, Resolver, Steps, ToolStep, Waterfall, When, steps
from runtime.values import Json, digest, is_meaningful

Given = Mapping[str, Json]


def load_definition(text: str, filename: str) -> Play:
    """Make the play of a definition's text. Raises PlayInvalid where it does not fit the schema."""
    document = read_document(text, filename)
    problems = Problems()
    if not check_shape(document, problems):
        raise PlayInvalid(problems.by_line())
    form = read_form(document.value)

    async def run(ctx: Any, given: Given) -> Any:
        return await _run(form, ctx, given)

    return Play(form.name, run, form.description, form.input_schema)


async def _run(form: DefinitionForm, ctx: Any, given: Given) -> Any:
    if not isinstance(given, Mapping):
        raise PlayError(f"the play {form.name!r} needs a mapping as its input")
    datasets: dict[str, Any] = {}
    for each in form.maps:
        rows = await _rows(form, each, ctx, given, datasets)
        builder = ctx.map(
            each.table,
            rows,
            key=list(each.key) or None,
            stale_after_seconds=each.stale_after_seconds,
        )
        for step in each.steps:
            builder = builder.step(
                step.name, resolver_of(step, given), stale_after_seconds=step.stale_after_seconds
            )
        datasets[each.table] = await builder.run(
            description=each.description or None, on_row_error=each.on_row_error
        )
    return datasets[form.returns]


async def _rows(
    form: DefinitionForm, each: MapForm, ctx: Any, given: Given, datasets: Mapping[str, Any]
) -> Any:
    if each.kind == "map":
        return datasets[each.rows]
    rows = render(each.rows, {"input": given, "row": {}})
    if rows is None:
        names = ", ".join(expression.name for expression in expressions_in(each.rows))
        raise PlayError(
            f"the map {each.table!r} of the play {form.name!r} has no rows: give the input {names}"
        )
    return await ctx.csv(rows) if each.kind == "csv" else rows


def resolver_of(step: StepForm, given: Given) -> Resolver:
    """Make what the engine runs for a step; ``given`` is the run's input."""
    work = step.work
    if isinstance(work, StepsWork):
        made: Resolver = _program(step, work, given)
    elif isinstance(work, ValueWork) and not any(expressions_in(work.value)):
        made = work.value
    else:
        made = _marked(WORKS[type(work)](step.name, work, given), step, given)
    if step.condition is None:
        return made
    condition = step.condition

    def holds(row: Given) -> bool:
        return condition.holds({"row": row, "input": given})

    return When(_marked(holds, step, given), made, step.otherwise)


def _marked(function: Callable[..., Any], step: StepForm, given: Given) -> Callable[..., Any]:
    """Let a function carry the digest of its step's text and of the inputs that the text reads."""
    read = [
        [expression.name, given.get(expression.name)]
        for part in step.templates()
        for expression in expressions_in(part)
        if expression.root == "input"
    ]
    setattr(function, OWN_DIGEST, digest([dict(step.told), read]))
    return function


def _program(step: StepForm, work: StepsWork, given: Given) -> Steps:
    program = steps()
    for each in work.steps:
        program = program.step(
            each.name, resolver_of(each, given), stale_after_seconds=each.stale_after_seconds
        )
    if not work.has_returns:
        return program

    def value(row: Given) -> Json:
        return render(work.returns, {"row": row, "input": given})

    return program.returns(_marked(value, step, given))


def _value(name: str, work: ValueWork, given: Given) -> Callable[..., Any]:
    def value(row: Given) -> Json:
        return render(work.value, {"row": row, "input": given})

    return value


def _tool(name: str, work: ToolWork, given: Given) -> Callable[..., Any]:
    async def ask(row: Given, ctx: Any) -> Json:
        call_input = _input(work.input, row, given)
        if call_input is None:
            return None
        result = await ctx.tools.execute(id=name, tool=work.tool, input=call_input)
        return result.value(work.get)

    return ask


def _named(name: str, work: NamedWork, given: Given) -> Callable[..., Any]:
    async def ask(row: Given, ctx: Any) -> Json:
        call_input = _input(work.input, row, given)
        if call_input is None:
            return None
        providers = list(work.providers) if work.providers else None
        return await ctx.waterfall(work.name, call_input, providers=providers)

    return ask


def _inline(name: str, work: InlineWork, given: Given) -> Callable[..., Any]:
    async def ask(row: Given, ctx: Any) -> Json:
        able = [each for each in work.steps if _input(each.input, row, given) is not None]
        if not able:
            return None
        made = tuple(ToolStep(each.id, each.tool, _input_maker(each, row, given)) for each in able)
        return await ctx.waterfall(Waterfall(work.id, work.output, made, work.min_results), {})

    return ask


def _input_maker(step: InlineStep, row: Given, given: Given) -> Callable[[Any], Json]:
    return lambda _: _input(step.input, row, given)


def _input(templates: Json, row: Given, given: Given) -> dict[str, Json] | None:
    """Give a tool's input; entries whose templates have no meaningful value are left out.

    None where there are templates and none has a value: a tool that would be asked about nothing is not
    asked, since its answer could not belong to the row.
    """
    rendered = render(templates, {"row": row, "input": given})
    open_names = {name for name, value in templates.items() if any(expressions_in(value))}
    found = {
        name: value
        for name, value in rendered.items()
        if name not in open_names or is_meaningful(value)
    }
    return None if open_names and not open_names & found.keys() else found


WORKS: Mapping[type, Callable[[str, Any, Given], Callable[..., Any]]] = {
    ValueWork: _value,
    ToolWork: _tool,
    NamedWork: _named,
    InlineWork: _inline,
}
