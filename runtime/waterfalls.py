"""Waterfalls: providers asked in turn until there is enough.

The only place that knows "the first meaningful value wins". A waterfall is a loop in one row's
coroutine; that its calls leave in batches is the lanes' matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime import durable, toolcalls
from runtime.errors import PlayError, WaterfallIncomplete, raise_of_host
from runtime.events import CellStatus
from runtime.identity import call_name, context_key, step_column
from runtime.program import CodeStep, Waterfall, WaterfallStep
from runtime.scope import current
from runtime.session import Session
from runtime.tools import Failed, Hit, ToolSpec, output_value
from runtime.trace import WaterfallTrace
from runtime.values import MISSING, Json, check_json, is_meaningful

DEFAULT_PROVIDERS = ("hunter", "leadmagic", "pdl", "dropcontact", "prospeo")
PROVIDER_ALIASES = {"pdl": "peopledatalabs"}
"""Providers whose tools carry another name than authors write."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one step gave: values that are meaningful, or the reason for which it failed.

    ``is_final``: nobody else is asked, because the failure is this side's and the answer may be paid for.
    """

    values: list[Json] = field(default_factory=list)
    failure: str = ""
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Asking:
    """One step of a waterfall: who is asked, the grid column of its own (inline only), and the question.

    ``left_out`` is why it is not asked, or "".
    """

    who: str
    ask: Callable[[], Awaitable[Answer]]
    column: str = ""
    is_code: bool = False
    left_out: str = ""


async def named(
    session: Session, name: str, given: Mapping[str, Json], providers: Sequence[str] | None
) -> Json:
    """Ask the providers' tools of one capability in turn; give the value that they declare, or None.

    Raises WaterfallIncomplete where none had a value and one failed, UnknownTool for a provider
    without such a tool.
    """
    name = context_key(name, "ctx.waterfall")
    call_input = check_json(given, f"the input of the waterfall {name!r}")
    specs = await _provider_tools(session, name, providers)
    steps = [
        Asking(
            spec.provider,
            _tool_question(session, spec, name, lambda: call_input, spec.output),
        )
        for spec in specs
    ]
    parts = [{"id": spec.provider, "tool": spec.id} for spec in specs]
    return await _run(session, session.trace.waterfall({"id": name}, parts), steps, 1)


async def inline(session: Session, spec: Waterfall, given: Mapping[str, Json], ctx: Any) -> Json:
    """Run the steps of an inline waterfall; give its value, its list, or None.

    With ``min_results`` above 1 the value is a list; one that is too short is marked partial.
    """
    call_input = check_json(given, f"the input of the waterfall {spec.id!r}")
    steps = [await _asking(session, spec, step, call_input, ctx) for step in spec.steps]
    if all(step.left_out for step in steps):
        raise _nobody(spec.id, [step.who for step in steps])
    told = {"id": spec.id, "output": spec.output, "min_results": spec.min_results}
    traced = session.trace.waterfall(told, [_part(step) for step in spec.steps])
    return await _run(session, traced, steps, spec.min_results)


def _part(step: WaterfallStep) -> dict[str, Json]:
    return {"id": step.id, "tool": None if isinstance(step, CodeStep) else step.tool}


async def _run(
    session: Session, traced: WaterfallTrace, steps: Sequence[Asking], min_results: int
) -> Json:
    asked = [step for step in steps if not step.left_out]
    for step in steps:
        if step.left_out:
            _tell(step, CellStatus.SKIPPED, reason=step.left_out)
        else:
            _tell(step, CellStatus.QUEUED)
    try:
        value = await _in_turn(session, traced, asked, min_results)
    except WaterfallIncomplete as error:
        traced.ended("failed", error=str(error))
        raise
    is_short = value is None or (min_results > 1 and len(value) < min_results)
    traced.ended("missed" if is_short else "completed", value)
    return value


async def _in_turn(
    session: Session, traced: WaterfallTrace, steps: Sequence[Asking], min_results: int
) -> Json:
    found: list[Json] = []
    reasons: list[tuple[str, str]] = []
    for index, step in enumerate(steps):
        answer = await _answer(session, step, steps[index:])
        _tell_answer(step, answer)
        traced.answered(step.who, answer.values, answer.failure)
        found += answer.values
        if answer.failure:
            reasons.append((step.who, answer.failure))
        if answer.is_final:
            break
        if len(found) >= min_results:
            for left in steps[index + 1 :]:
                _tell(left, CellStatus.SKIPPED, reason=f"{step.who} was enough")
            return found[0] if min_results == 1 else found
    return _too_few(traced.name, found, reasons, min_results)


async def _answer(session: Session, step: Asking, unfinished: Sequence[Asking]) -> Answer:
    if step.is_code:
        _tell(step, CellStatus.RUNNING)
    try:
        return await step.ask()
    except asyncio.CancelledError:
        for left in unfinished:
            _tell(left, session.halt.unfinished_cell)
        raise


def _too_few(
    name: str, found: list[Json], reasons: list[tuple[str, str]], min_results: int
) -> Json:
    cell = current.get().cell
    if found:
        if cell:
            cell.is_partial = True
        return found
    if reasons:
        raise WaterfallIncomplete(name, reasons)
    if cell:
        cell.is_exhausted = True
    return None


def _tell_answer(step: Asking, answer: Answer) -> None:
    if answer.failure:
        _tell(step, CellStatus.FAILED, error={"message": answer.failure})
    elif answer.values:
        value = answer.values[0] if len(answer.values) == 1 else answer.values
        _tell(step, CellStatus.COMPLETED, value)
    else:
        _tell(step, CellStatus.MISSED, None)


def _tell(step: Asking, status: CellStatus, value: Json = MISSING, **known: Json) -> None:
    cell = current.get().cell
    if cell and step.column:
        cell.part(step.column, status, value, provider=step.who, **known)


async def _provider_tools(
    session: Session, name: str, providers: Sequence[str] | None
) -> list[ToolSpec]:
    """Give the tools that can be asked. Of the usual providers, those without such a tool are left out."""
    wanted = providers or DEFAULT_PROVIDERS
    asked = [
        f"{PROVIDER_ALIASES.get(provider, provider)}_{name}"
        for provider in wanted
        if provider not in session.form.left_out
    ]
    look_up = session.catalogue.specs if providers else session.catalogue.those_known
    specs = [spec for spec in await look_up(asked) if not _left_out(session, spec)]
    if not specs:
        raise _nobody(name, wanted)
    return specs


def _left_out(session: Session, spec: ToolSpec) -> str:
    if spec.provider in session.form.left_out:
        return f"{spec.provider} is left out of this run"
    return spec.unusable


def _nobody(name: str, wanted: Sequence[str]) -> PlayError:
    return PlayError(
        f"the waterfall {name!r} has nobody to ask: none of {', '.join(wanted)} can be used"
        " (switched off, without credentials, or left out of this run)"
    )


async def _asking(
    session: Session, spec: Waterfall, step: WaterfallStep, call_input: Json, ctx: Any
) -> Asking:
    column = step_column(spec.id, step.id)
    if isinstance(step, CodeStep):
        ask = _code_question(session, spec, step, call_input, ctx)
        return Asking(step.id, ask, column, is_code=True)
    tool = await session.catalogue.spec(step.tool)

    def mapped() -> Json:
        if step.map_input is None:
            return call_input
        return check_json(step.map_input(call_input), f"map_input of {step.id!r}")

    key = f"{spec.id}.{step.id}"
    ask = _tool_question(session, tool, key, mapped, spec.output, column=column)
    return Asking(step.id, ask, column, left_out=_left_out(session, tool))


def _tool_question(
    session: Session,
    spec: ToolSpec,
    key: str,
    make_input: Callable[[], Json],
    output: str,
    *,
    column: str = "",
) -> Callable[[], Awaitable[Answer]]:
    """Ask one tool. ``column``: it is a step of an inline waterfall, whose lists are several values."""

    async def ask() -> Answer:
        try:
            call_input = make_input()
        except Exception as error:  # noqa: BLE001 (an author's map_input may raise anything)
            return Answer(failure=f"{type(error).__name__}: {error}")
        outcome = await toolcalls.ask(session, spec, key, call_input, step=column)
        if isinstance(outcome, Failed):
            return Answer(failure=outcome.message, is_final=outcome.category == "internal")
        value = output_value(spec, outcome.result, output) if isinstance(outcome, Hit) else None
        return Answer(_values(value, spread=bool(column)))

    return ask


def _code_question(
    session: Session, spec: Waterfall, step: CodeStep, call_input: Json, ctx: Any
) -> Callable[[], Awaitable[Answer]]:
    key = f"{spec.id}.{step.id}"

    async def ask() -> Answer:
        name = call_name(f"{current.get().place}/code", key, call_input)
        where = f"the step {step.id!r} of the waterfall {spec.id!r}"
        try:
            result = await durable.kept(session, name, where, lambda: step.run(call_input, ctx))
        except Exception as error:  # noqa: BLE001 (an author's code may raise anything)
            raise_of_host(error)
            return Answer(failure=f"{type(error).__name__}: {error}")
        if isinstance(result, dict) and spec.output in result:
            result = result[spec.output]
        return Answer(_values(result, spread=True))

    return ask


def _values(value: Json, *, spread: bool) -> list[Json]:
    if spread and isinstance(value, list):
        return [item for item in value if is_meaningful(item)]
    return [value] if is_meaningful(value) else []
