"""Runs one claim of one run: a play process, its ports served, its bounds watched, its end told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, Protocol

from plays.playhost import levels, watching
from plays.playhost.messages import BadMessage
from plays.playhost.process import (
    LEAVE_SECONDS,
    Channel,
    Say,
    how_it_died,
    play_process,
)
from plays.playhost.serving import PortServer
from plays.playhost.tasks import end_all
from plays.playhost.ticket import Ticket
from plays.stores.fencing import LeaseLost
from runtime.engine import RunOutcome
from runtime.errors import HostGone
from runtime.events import Request, RunStatus, StopReason

Json = Any

START_SECONDS = 30.0
"""How long a process may take until it says what keeps it apart."""

GRACE_SECONDS = {Request.PAUSE: 30.0, Request.CANCEL: 30.0, Request.LEASE_LOST: 1.0}
"""How long an engine may take to stop before its process is killed."""


class HostPorts(Protocol):
    """The ports of ``runtime.ports`` that a host serves; the clock is the process' own."""

    @property
    def rows(self) -> Any: ...
    @property
    def records(self) -> Any: ...
    @property
    def receipts(self) -> Any: ...
    @property
    def library(self) -> Any: ...
    @property
    def gateway(self) -> Any: ...
    @property
    def signals(self) -> Any: ...

    async def isolated(self, level: str) -> None:
        """Keep what keeps the play apart from this machine."""

    async def title(self, frame: int | None) -> str:
        """Name a map of the run; without one, the running row that changed last, or ""."""


class PlayDied(Exception):
    """The play process ended before its run did. ``has_progress``: it had finished something."""

    def __init__(self, how: str, *, has_progress: bool) -> None:
        super().__init__(how)
        self.has_progress = has_progress


class PlayHost:
    """Serves one play process, started by ``order``. ``say`` gets what its author prints.

    ``peak_rss`` is the most memory, in bytes, that the process says it has used.
    """

    def __init__(
        self, ticket: Ticket, ports: HostPorts, say: Say, order: Mapping[str, Any]
    ) -> None:
        self._ticket = ticket
        self._ports = ports
        self._say = say
        self._order = order
        self._enforced: Request | Literal["loop", "memory"] | None = None
        self.peak_rss = 0

    async def run(self, now: float) -> RunOutcome:
        """Run the play to its end or stop; ``now`` is the time by the database's clock.

        Raises PlayDied. A process that breaks the protocol or a bound ends the run as failed; one
        that does not stop when asked is killed, and the run ends as was asked.
        """
        async with play_process(self._say, self._order) as channel:
            server = PortServer(self._ports, channel)
            try:
                return await self._served(server, channel, now)
            except BadMessage as error:
                return _failed("BrokenProtocol", f"the play process sent {error}")
            except LeaseLost:
                return _stopped(Request.LEASE_LOST)
            except HostGone:
                if self._enforced is not None:
                    return await self._ended(server)
                died = await _death(channel)
                raise PlayDied(died, has_progress=server.progress > 0) from None

    async def _served(self, server: PortServer, channel: Channel, now: float) -> RunOutcome:
        try:
            async with asyncio.timeout(START_SECONDS):
                greeting = await server.greeting()
        except TimeoutError:
            told = f"it did not start within {START_SECONDS:g} s"
            raise PlayDied(told, has_progress=False) from None
        if "refused" in greeting:
            return _refused(greeting["refused"])
        self._say(levels.sentence(greeting), "info")
        await self._ports.isolated(levels.level(greeting))
        async with self._watched(server, channel):
            outcome = await server.serve(self._start(now))
        self.peak_rss = server.peak_rss
        return outcome

    def _start(self, now: float) -> dict[str, Json]:
        ticket = self._ticket
        return {
            "form": ticket.form,
            "source": ticket.source,
            "input": ticket.input,
            "now": now,
            "patience": watching.LOOP_SECONDS,
        }

    @asynccontextmanager
    async def _watched(self, server: PortServer, channel: Channel) -> AsyncIterator[None]:
        """Inside the block, end a process that goes beyond its bounds or does not stop when asked."""
        watches = [
            asyncio.create_task(watch)
            for watch in (
                self._obeyed(channel),
                self._loop_kept(server, channel),
                self._memory_kept(channel),
            )
        ]
        try:
            yield
        finally:
            await end_all(watches)

    async def _obeyed(self, channel: Channel) -> None:
        asked = Request(await self._ports.signals.requested())
        await asyncio.sleep(GRACE_SECONDS[asked])
        self._end(channel, asked)

    async def _loop_kept(self, server: PortServer, channel: Channel) -> None:
        if await watching.loop_is_blocked(server):
            self._end(channel, "loop")

    async def _memory_kept(self, channel: Channel) -> None:
        if await watching.memory_is_exceeded(channel.process.pid):
            self._end(channel, "memory")

    def _end(self, channel: Channel, why: Request | Literal["loop", "memory"]) -> None:
        self._enforced = self._enforced or why
        channel.end()

    async def _ended(self, server: PortServer) -> RunOutcome:
        """Give the outcome of a run whose process was ended here."""
        if isinstance(self._enforced, Request):
            return _stopped(self._enforced)
        if self._enforced == "memory":
            return _failed("MemoryExceeded", watching.memory_sentence())
        at = server.blocked
        where = await self._ports.title(at["frame"] if at and at["field"] else None)
        return _failed("LoopBlocked", watching.blocked_sentence(at, where))


async def _death(channel: Channel) -> str:
    """Say how a process ended whose end of the pipe is closed."""
    try:
        async with asyncio.timeout(LEAVE_SECONDS):
            await channel.process.wait()
    except TimeoutError:
        return "it closed its pipe"
    return how_it_died(channel.process)


def _stopped(asked: Request) -> RunOutcome:
    if asked is Request.LEASE_LOST:
        reason, message = StopReason.LEASE_LOST, "another worker has this run"
    else:
        reason, message = StopReason.PERSON, "the play did not stop by itself and was ended"
    status = RunStatus.CANCELLED if asked is Request.CANCEL else RunStatus.PAUSED
    return RunOutcome(status, stop_reason=str(reason), stop_message=message)


def _refused(why: str) -> RunOutcome:
    return RunOutcome(
        RunStatus.PAUSED,
        stop_reason=str(StopReason.ISOLATION),
        stop_message=levels.refusal(why),
    )


def _failed(kind: str, message: str) -> RunOutcome:
    return RunOutcome(RunStatus.FAILED, error={"type": kind, "message": message})
