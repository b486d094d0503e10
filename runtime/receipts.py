"""Work of the top level, and child plays, that happen once in a run's tree: claimed, done, and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from runtime.errors import DuplicateName, HostFailed, PlayError, describe
from runtime.events import RunStatus, StopReason
from runtime.ports import ChildCall
from runtime.session import Session
from runtime.values import Json


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
    receipt = await session.ports.receipts.claim(work.name, work.input_digest, work.child)
    match receipt["state"]:
        case "completed":
            session.recorder.log(f"{work.told} was done before: what it gave is taken over")
            return [receipt["output"]]
        case "refused":
            raise PlayError(f"{work.told}: {receipt['error']}")
        case "limit":
            session.halt.trip(RunStatus.PAUSED, StopReason.LIMIT, receipt["error"])
            await asyncio.get_running_loop().create_future()  # until the halt cancels it
    session.claims.held.add(work.name)
    return []


async def _done(session: Session, work: Work, function: Callable[[], Awaitable[Json]]) -> Json:
    try:
        output = await function()
    except HostFailed:
        raise
    except Exception as error:  # an author's code may raise anything
        await session.ports.receipts.fail(work.name, describe(error))
        session.claims.held.discard(work.name)
        raise
    await session.ports.receipts.complete(work.name, output)
    session.claims.held.discard(work.name)
    return output
