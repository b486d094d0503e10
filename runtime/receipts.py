"""Work of the top level, and child plays, that happen once in a run's tree: claimed, done, and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from runtime.errors import DuplicateName, PlayError, describe, raise_of_host
from runtime.events import RunStatus, StopReason
from runtime.ports import ChildCall, ReceiptState
from runtime.session import Session
from runtime.values import Json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work: its durable name, what errors call it, and the digest of its input.

    ``child`` is given where it is a child play, which its first claim counts.
    """

    name: str
    told: str
    input_digest: str = ""
    child: ChildCall | None = None


async def once(session: Session, work: Work, function: Callable[[], Awaitable[Json]]) -> Json:
    """Do the work and keep its output, or give the output that is kept.

    Work that raises is recorded as failed and may be done again. Work that is cancelled stays claimed. Raises
    what ``function`` raises, DuplicateName while the same work is under way, and PlayError where another has
    claimed it or did it with another input. A limit on child plays stops the run.
    """
    claims = session.claims
    if work.name in claims.running:
        raise DuplicateName(
            f"{work.told} is running already: give each of two calls at once its own name"
        )
    claims.running.add(work.name)
    try:
        kept = await _kept(session, work)
        return kept[0] if kept else await _done(session, work, function)
    finally:
        claims.running.discard(work.name)


async def _kept(session: Session, work: Work) -> list[Json]:
    """Claim the work; give its output, in a list of one, where it was completed before."""
    if work.name in session.claims.held:
        return []
    receipt = await _settled(_claim(session, work))
    match receipt["state"]:
        case "completed":
            session.recorder.log(f"{work.told} was done before: what it gave is taken over")
            return [receipt["output"]]
        case "refused":
            raise PlayError(f"{work.told}: {receipt['error']}")
        case "limit":
            session.halt.trip(RunStatus.PAUSED, StopReason.LIMIT, receipt["error"])
            await asyncio.get_running_loop().create_future()  # until the halt cancels it
    return []


async def _claim(session: Session, work: Work) -> ReceiptState:
    receipt = await session.ports.receipts.claim(work.name, work.input_digest, work.child)
    if receipt["state"] == "claimed":
        session.claims.held.add(work.name)
    return receipt


async def _done(session: Session, work: Work, function: Callable[[], Awaitable[Json]]) -> Json:
    receipts = session.ports.receipts
    try:
        output = await function()
    except Exception as error:  # an author's code may raise anything
        raise_of_host(error)
        await _settled(_finished(session, work, receipts.fail(work.name, describe(error))))
        raise
    await _settled(_finished(session, work, receipts.complete(work.name, output)))
    return output


async def _finished(session: Session, work: Work, recorded: Awaitable[None]) -> None:
    await recorded
    session.claims.held.discard(work.name)


async def _settled(asked: Coroutine[Any, Any, T]) -> T:
    """Give the store's answer; where this is cancelled meanwhile, hear it first: it says what is claimed."""
    answer = asyncio.ensure_future(asked)
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        await asyncio.gather(answer, return_exceptions=True)
        raise
