"""Asks one tool, from wherever the author's code stands: a field of a row, or the top level."""

from __future__ import annotations

from runtime.activity import Worker
from runtime.errors import PlayError, ToolFailed
from runtime.identity import call_name, context_key
from runtime.progress import CellProgress
from runtime.receipts import Work, once
from runtime.scope import Scope, current
from runtime.session import Session
from runtime.tools import Failed, Hit, Miss, Outcome, ToolResult, ToolSpec, tool_result
from runtime.values import Json, check_json, digest

CODE_TOOL = "run_javascript"


async def execute(session: Session, key: str, tool: str, tool_input: Json) -> ToolResult:
    """Ask a tool by the author's ``key``; at the top level under a receipt.

    Raises ToolFailed, UnknownTool, NotJson.
    """
    key = context_key(key, "ctx.tools.execute(id=...)")
    if tool == CODE_TOOL:
        raise PlayError(
            f"{CODE_TOOL} is no tool of a play: write the code as a step of the play instead"
        )
    spec = await session.catalogue.spec(tool)
    given = check_json(tool_input, f"the input of {key!r} ({tool})")
    scope = current.get()
    if scope.row is None:
        return await _with_receipt(session, scope, spec, key, given)
    return tool_result(spec, _definite(spec, await ask(session, spec, key, given)))


async def ask(
    session: Session, spec: ToolSpec, key: str, call_input: Json, *, step: str | None = None
) -> Outcome:
    """Put one call into its tool's lane and wait for the outcome, failures included.

    ``step``: a waterfall asks; the column in which its step shows, "" where it has none.
    """
    scope = current.get()
    worker, cell = _caller(session, scope)
    if cell and step:
        cell = cell.of_step(step)
    try:
        return await session.lanes.call(
            spec,
            call_name(scope.place, key, call_input),
            call_input,
            worker=worker,
            cell=cell,
            waterfall=step is not None,
            life=scope.life,
        )
    finally:
        if scope.row is None:
            worker.end()


def _caller(session: Session, scope: Scope) -> tuple[Worker, CellProgress | None]:
    if scope.row is not None:
        return scope.row.worker, scope.cell
    return Worker(session.activity), None


def _definite(spec: ToolSpec, outcome: Outcome) -> Hit | Miss:
    if isinstance(outcome, Failed):
        raise ToolFailed(
            f"{spec.id} failed: {outcome.message}",
            tool=spec.id,
            provider=outcome.provider,
            category=outcome.category,
            code=outcome.code,
            attempts=outcome.attempts,
            retryable=outcome.retryable,
            request=outcome.request,
        )
    return outcome


async def _with_receipt(
    session: Session, scope: Scope, spec: ToolSpec, key: str, call_input: Json
) -> ToolResult:
    live: list[Hit | Miss] = []

    async def work() -> Json:
        outcome = _definite(spec, await ask(session, spec, key, call_input))
        live.append(outcome)
        result = outcome.result if isinstance(outcome, Hit) else None
        return {"hit": isinstance(outcome, Hit), "result": result, "call": outcome.call}

    name = call_name(f"{scope.place}/tool", f"{key}:{spec.id}", call_input)
    told = f"ctx.tools.execute({key!r}, {spec.id!r})"
    output = await once(session, Work(name, told, digest(call_input)), work)
    return tool_result(spec, live[0] if live else _stored(output))


def _stored(output: Json) -> Hit | Miss:
    if output["hit"]:
        return Hit(output["result"], "cache", 0.0, output["call"])
    return Miss("cache", 0.0, output["call"])
