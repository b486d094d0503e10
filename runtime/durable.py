"""Named pieces of work that happen once: ``ctx.step``, ``ctx.sleep``, ``ctx.wait_for_event``.

In a row the name is made of the row's place, the field, the author's key and, for a repeated key, its
occurrence; at the top level a receipt holds it. Results are found by name: nothing is replayed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from runtime.activity import Worker
from runtime.errors import PlayError, describe
from runtime.identity import context_key, durable_name
from runtime.ports import Boundary, BoundaryState
from runtime.scope import Scope, current
from runtime.session import Session
from runtime.values import Json, check_json


async def step(session: Session, key: str, function: Callable[[], Any]) -> Json:
    """Run ``function()`` (sync or async) once under this name and give its JSON value.

    The value is committed before this returns. Raises what the function raises; nothing is kept then.
    """
    key = context_key(key, "ctx.step")
    scope = current.get()
    occurrence = scope.begin(key)
    try:
        name = f"{scope.place}/step/{durable_name(occurrence)}"
        if scope.row is None:
            return await _step_with_receipt(session, name, key, function)
        return await _step_in_row(session, scope, name, (key, function))
    finally:
        scope.end(key)


async def _step_in_row(
    session: Session, scope: Scope, name: str, work: tuple[str, Callable[[], Any]]
) -> Json:
    row = scope.row
    assert row is not None
    if name in row.entries:
        return row.entries[name]
    value = await _value_of(*work)
    session.recorder.entry(name, value, row)
    async with _inside(row.worker):
        await session.recorder.committed()
    row.entries[name] = value
    return value


async def _step_with_receipt(
    session: Session, name: str, key: str, function: Callable[[], Any]
) -> Json:
    receipts = session.ports.receipts
    receipt = await receipts.claim(name, "")
    if receipt["state"] == "completed":
        return receipt["output"]
    if receipt["state"] == "refused":
        raise PlayError(f"ctx.step({key!r}): {receipt['error']}")
    try:
        with session.waits.busy():
            value = await _value_of(key, function)
    except Exception as error:
        await receipts.fail(name, describe(error))
        raise
    await receipts.complete(name, value)
    return value


async def _value_of(key: str, function: Callable[[], Any]) -> Json:
    value = function()
    if inspect.isawaitable(value):
        value = await value
    return check_json(value, f"ctx.step({key!r})")


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
    """Wait for an answer or the deadline: ``{"status": "received" | "timed_out", "payload"}``."""
    key = context_key(key, "ctx.wait_for_event")
    scope = current.get()
    occurrence = scope.begin(key)
    boundary = _boundary(scope, f"event/{durable_name(occurrence)}", timeout_seconds)
    boundary |= {"event": event, "message": message, "form": form}
    try:
        state = await _registered(session, scope, boundary)
        while state["status"] == "open":
            told = ("event_wait", f"waits for {event!r}")
            with _waiting(session, scope, told, state["due_at"]):
                await _changed_or_due(session, boundary["name"], state["due_at"])
            state = await _registered(session, scope, boundary)
        status = "received" if state["status"] == "received" else "timed_out"
        return {"status": status, "payload": state["payload"]}
    finally:
        scope.end(key)


def _boundary(scope: Scope, key: str, seconds: float) -> Boundary:
    row = scope.inside
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
    async with _inside(scope.row.worker):
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
        scope.cell.goes_on()


@asynccontextmanager
async def _inside(worker: Worker) -> AsyncIterator[None]:
    worker.wait()
    try:
        yield
    finally:
        worker.resume()
