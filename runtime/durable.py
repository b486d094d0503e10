"""Named pieces of work that happen once: ``ctx.step``, ``ctx.sleep``, ``ctx.wait_for_event``.

In a row the name is made of the row's place, the field, the author's key and, for a repeated key, its
occurrence; at the top level a receipt holds it. Results are found by name: nothing is replayed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from runtime.activity import Worker
from runtime.errors import PlayError
from runtime.identity import context_key, durable_name
from runtime.ports import Boundary, BoundaryState
from runtime.receipts import Work, once
from runtime.scope import Scope, current
from runtime.session import Session
from runtime.tools import Hit, Miss, ToolResult, ToolSpec, tool_result
from runtime.values import Json, check_json

EVENT_TOOL = "event_wait"
_EVENT_SPEC = ToolSpec(EVENT_TOOL, provider="", output="payload", output_kind="object")
_ASKED = {"event", "timeout_seconds", "message", "form"}

LONGEST_SECONDS = 1_000_000_000
EVENT_CHARACTERS = 200
LONGEST_MESSAGE = 10_000


async def step(session: Session, key: str, function: Callable[[], Any]) -> Json:
    """Run ``function()`` (sync or async) once under this name and give its JSON value.

    The value is committed before this returns. Raises what the function raises; nothing is kept then.
    """
    key = context_key(key, "ctx.step")
    scope = current.get()
    occurrence = scope.begin(key)
    try:
        name = f"{scope.place}/step/{durable_name(occurrence)}"
        return await kept(session, name, f"ctx.step({key!r})", function)
    finally:
        scope.end(key)


async def kept(session: Session, name: str, where: str, function: Callable[[], Any]) -> Json:
    """Give the value that is kept under this durable name, or run ``function()`` and keep its value.

    ``where`` is what errors call it.
    """
    row = current.get().row
    if row is None:
        return await _kept_by_receipt(session, name, where, function)
    if name in row.entries:
        return row.entries[name]
    value = await _value_of(where, function)
    session.recorder.entry(name, value, row)
    async with inside(row.worker):
        await session.recorder.committed()
    row.entries[name] = value
    return value


async def _kept_by_receipt(
    session: Session, name: str, where: str, function: Callable[[], Any]
) -> Json:
    async def work() -> Json:
        with session.waits.busy():
            return await _value_of(where, function)

    return await once(session, Work(name, where), work)


async def _value_of(where: str, function: Callable[[], Any]) -> Json:
    value = function()
    if inspect.isawaitable(value):
        value = await value
    return check_json(value, where)


async def sleep(session: Session, seconds: float) -> None:
    """Wait until ``seconds`` after this sleep was first asked for, across any restart."""
    scope = current.get()
    occurrence = scope.begin("sleep")
    try:
        state = await _registered(session, scope, _boundary(scope, f"sleep/{occurrence}", seconds))
        with _waiting(session, scope, ("sleep", "sleeps"), state["due_at"]):
            await session.ports.clock.sleep(max(0.0, state["due_at"] - session.ports.clock.now()))
    finally:
        scope.end("sleep")


async def wait_for_event(
    session: Session,
    key: str,
    *,
    event: str,
    timeout_seconds: float,
    message: str | None = None,
    form: Json = None,
) -> dict[str, Json]:
    """Wait for an answer or the deadline: ``{"status": "received" | "timed_out", "payload"}``.

    Raises PlayError for an event, message or form that nobody could be shown.
    """
    key = context_key(key, "ctx.wait_for_event")
    _check_asked(key, event, message, form)
    scope = current.get()
    occurrence = scope.begin(key)
    try:
        boundary = _boundary(scope, f"event/{durable_name(occurrence)}", timeout_seconds)
        boundary |= {"event": event, "message": message, "form": form}
        state = await _registered(session, scope, boundary)
        while state["status"] == "open":
            told = (EVENT_TOOL, f"waits for {event!r}")
            with _waiting(session, scope, told, state["due_at"]):
                await _changed_or_due(session, boundary["name"], state["due_at"])
            state = await _registered(session, scope, boundary)
        status = "received" if state["status"] == "received" else "timed_out"
        return {"status": status, "payload": state["payload"]}
    finally:
        scope.end(key)


async def wait_by_tool(session: Session, key: str, asked: Json) -> ToolResult:
    """Do as :func:`wait_for_event` for ``ctx.tools.execute(tool="event_wait", input=asked)``.

    The result holds what ``wait_for_event`` gives; there is none where the wait timed out.
    """
    if not isinstance(asked, Mapping) or not {"event", "timeout_seconds"} <= set(asked) <= _ASKED:
        raise PlayError(
            f"{EVENT_TOOL} ({key!r}) takes event, timeout_seconds, and if wanted message and form"
        )
    answer = await wait_for_event(session, key, **asked)
    if answer["status"] == "timed_out":
        return tool_result(_EVENT_SPEC, Miss())
    return tool_result(_EVENT_SPEC, Hit(answer))


def _check_asked(key: str, event: object, message: object, form: Json) -> None:
    where = f"ctx.wait_for_event({key!r})"
    if not isinstance(event, str) or not 0 < len(event) <= EVENT_CHARACTERS:
        raise PlayError(f"{where}: event is a text of 1 to {EVENT_CHARACTERS} characters")
    if message is not None and not (isinstance(message, str) and len(message) <= LONGEST_MESSAGE):
        raise PlayError(f"{where}: message is a text of at most {LONGEST_MESSAGE:,} characters")
    if form is not None:
        # Loads a library that few plays need.
        from runtime.loading.schemas import schema_problem

        if told := schema_problem(form, "form"):
            raise PlayError(f"{where}: {told}")


def _boundary(scope: Scope, key: str, seconds: float) -> Boundary:
    row = scope.inside
    if not float(seconds) <= LONGEST_SECONDS:
        raise PlayError(f"a wait ends after a number of seconds, at most {LONGEST_SECONDS:,}")
    return Boundary(
        name=f"{scope.place}/{key}",
        seconds=max(0.0, float(seconds)),
        event=None,
        frame=row.frame if row else None,
        position=row.position if row else None,
        message=None,
        form=None,
    )


async def _registered(session: Session, scope: Scope, boundary: Boundary) -> BoundaryState:
    if scope.row is None:
        return await session.ports.receipts.wait(boundary)
    async with inside(scope.row.worker):
        return await session.ports.receipts.wait(boundary)


async def _changed_or_due(session: Session, name: str, due_at: float) -> None:
    clock = session.ports.clock
    changed = asyncio.ensure_future(session.ports.signals.event(name))
    due = asyncio.ensure_future(clock.sleep(max(0.0, due_at - clock.now())))
    try:
        await asyncio.wait({changed, due}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        changed.cancel()
        due.cancel()


@contextmanager
def _waiting(
    session: Session, scope: Scope, told: tuple[str, str], due_at: float
) -> Iterator[None]:
    """Have this place wait durably inside the block; ``told`` is the stage and the reason for its cell.

    A row that a child play runs in waits with it: its one open call is the child.
    """
    row = scope.inside
    if scope.row is not None:
        scope.row.worker.wait()
    if scope.cell is not None:
        scope.cell.rests(*told, due_at)
    try:
        with session.waits.until(due_at, row.worker if row else None):
            yield
    finally:
        if scope.row is not None:
            scope.row.worker.resume()
    if scope.cell is not None:
        scope.cell.computing()


@asynccontextmanager
async def inside(worker: Worker) -> AsyncIterator[None]:
    """Have an engine call of this row open inside the block."""
    worker.wait()
    try:
        yield
    finally:
        worker.resume()
