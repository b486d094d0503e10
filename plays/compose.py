"""Puts one claimed run together: stores, gateway, lease, play process, and runs it to its end or stop.

The only module that joins the engine with these adapters. What a run means to the database, its
claim and its end, is ``plays.services.leases``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
from django.conf import settings

from plays.models import RunParticipant
from plays.playhost import levels
from plays.playhost.calls import GatewayCalls, gateway_client
from plays.playhost.host import PlayDied, PlayHost
from plays.playhost.journal import Hints, Journal
from plays.playhost.library import StoredLibrary
from plays.playhost.orm import OrmThread
from plays.playhost.tasks import end_all
from plays.playhost.ticket import Ticket, ticket_of
from plays.services.leases import run_reclaim, runs_are_queued
from plays.stores import (
    Participant,
    PostgresReceipts,
    PostgresRecords,
    PostgresRows,
    PostgresSignals,
    RunWriter,
    open_pool,
)
from plays.stores.connections import Pool
from plays.stores.takeover import map_title, row_last_touched
from runtime.engine import RunOutcome
from runtime.events import RunStatus, StopReason

_LEASE_LOST = RunOutcome(RunStatus.PAUSED, stop_reason=str(StopReason.LEASE_LOST))

logger = logging.getLogger(__name__)

Json = Any

MOST_DEATHS = 3
"""So many deaths of a play process in a row, without anything committed between them, fail the run."""

TURN_SECONDS = 60.0
TURN_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Execution:
    """How a claim ended. ``gives_way``: the run stopped for others and is to go on later.

    ``participant`` is the last one: each play process has an epoch of its own. ``peak_rss`` is the
    most memory, in bytes, of the play process that finished.
    """

    participant: Participant
    outcome: RunOutcome
    gives_way: bool = False
    peak_rss: int = 0


class GiveWay:
    """Asks a running execution to stop so that the run can go on elsewhere or later."""

    def __init__(self) -> None:
        self._signals: PostgresSignals | None = None
        self.is_asked = False

    def ask(self) -> None:
        """Stop the run at the next opportunity; safe as a signal handler of the loop."""
        self.is_asked = True
        if self._signals is not None:
            self._signals.ask_to_pause()

    def attach(self, signals: PostgresSignals) -> None:
        """Pass the wish on to whoever tells the engine."""
        self._signals = signals
        if self.is_asked:
            signals.ask_to_pause()


@dataclass(frozen=True, slots=True)
class _Desk:
    """What lasts for a whole execution, whatever happens to its play processes."""

    orm: OrmThread
    pool: Pool
    client: httpx.AsyncClient
    give_way: GiveWay


async def run_execute(
    participant: Participant, *, gateway_url: str, give_way: GiveWay | None = None
) -> Execution:
    """Run a claimed run until it ends or has to stop.

    Everything found is committed then; the run's own row is not touched. A play process that dies
    is started again at once, and finds what was finished. Without ``gateway_url`` it is the
    settings'.
    """
    give_way = give_way or GiveWay()
    async with (
        OrmThread() as orm,
        open_pool() as pool,
        gateway_client(gateway_url) as client,
    ):
        desk = _Desk(orm, pool, client, give_way)
        async with _background(_take_turns(desk)):
            return await _execute(desk, participant)


async def _execute(desk: _Desk, participant: Participant) -> Execution:
    deaths = 0
    while True:
        try:
            outcome, peak_rss = await _run_once(desk, participant)
        except PlayDied as death:
            deaths = 1 if death.has_progress else deaths + 1
            again = await _after_death(desk, participant, str(death), is_last=deaths >= MOST_DEATHS)
            if isinstance(again, RunOutcome):
                return Execution(participant, again)
            participant = again
        except Exception as error:
            # A reason to end this run, not to try it for ever: whatever it is, it is ours.
            logger.exception("run %s met an error of the product", participant.run)
            return Execution(participant, _product_failed(error))
        else:
            gives_way = desk.give_way.is_asked and _may_go_on(outcome)
            return Execution(participant, outcome, gives_way, peak_rss)


def _product_failed(error: Exception) -> RunOutcome:
    message = f"an error of the product itself stopped the run: {type(error).__name__}"
    return RunOutcome(RunStatus.FAILED, error={"type": "HostFailed", "message": message})


async def _after_death(
    desk: _Desk, participant: Participant, how: str, *, is_last: bool
) -> Participant | RunOutcome:
    """Give the participant that goes on, or the outcome of a run that does not."""
    row = await desk.orm.read(partial(row_last_touched, participant.run))
    told = f"the play process died: {how}" + (f"; {row} was running" if row else "")
    if is_last:
        return RunOutcome(RunStatus.FAILED, error={"type": "PlayDied", "message": told})
    logger.warning("run %s: %s", participant.run, told)
    return await desk.orm.read(partial(run_reclaim, participant, told)) or _LEASE_LOST


async def _run_once(desk: _Desk, participant: Participant) -> tuple[RunOutcome, int]:
    """Run one play process under one epoch."""
    ticket = await desk.orm.read(lambda: ticket_of(participant))
    hints = Hints(participant.run)
    writer = RunWriter(desk.pool, participant, hints)
    signals = PostgresSignals(
        participant, ticket.root, lease_seconds=settings.DEEPLINE_LEASE_SECONDS
    )
    desk.give_way.attach(signals)
    ports = _Ports(desk, ticket, writer, signals)
    async with _background(hints.send(), ports.journal.write(), signals.keep()):
        order = levels.ORDERS[settings.PLAY_ISOLATION]
        host = PlayHost(ticket, ports, ports.journal.say, order)
        try:
            return await host.run(await writer.now()), host.peak_rss
        finally:
            await ports.journal.flush()


class _Ports:
    """The ports of one epoch."""

    def __init__(
        self, desk: _Desk, ticket: Ticket, writer: RunWriter, signals: PostgresSignals
    ) -> None:
        self.rows = PostgresRows(writer)
        self.records = PostgresRecords(writer)
        self.receipts = PostgresReceipts(writer, ticket.root)
        self.library = StoredLibrary(desk.orm, workspace=ticket.workspace, root=ticket.root)
        self.signals = signals
        self.journal = Journal(self.records)
        self.gateway = GatewayCalls(desk.client, ticket, self.library, self.journal.say)
        self._orm = desk.orm
        self._participant = ticket.participant

    async def isolated(self, level: str) -> None:
        """Keep, with the claim, what keeps the play apart from this machine."""
        claim = RunParticipant.objects.filter(
            run=self._participant.run, role="engine", epoch=self._participant.epoch
        )
        await self._orm.read(lambda: claim.update(isolation=level))

    async def title(self, frame: int | None) -> str:
        """Name a map of the run; without one, the running row that changed last, or ""."""
        run = self._participant.run
        if frame is None:
            return await self._orm.read(partial(row_last_touched, run))
        return await self._orm.read(partial(map_title, run, frame))


async def _take_turns(desk: _Desk) -> None:
    """After a while, let other runs that wait have this worker."""
    await asyncio.sleep(TURN_SECONDS)
    while not await desk.orm.read(runs_are_queued):  # noqa: ASYNC110  # other processes queue
        await asyncio.sleep(TURN_LOOK_SECONDS)
    desk.give_way.ask()


@asynccontextmanager
async def _background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Have work under way inside the block; what went wrong in it is raised after the block."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        errors = await end_all(tasks)
    for error in errors:
        raise error


def _may_go_on(outcome: RunOutcome) -> bool:
    """Whether an engine that was asked to give way stopped because of that."""
    return outcome.status is RunStatus.PAUSED and outcome.stop_reason == StopReason.PERSON
