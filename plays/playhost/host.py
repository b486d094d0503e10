"""Runs one claim of one run: a play process, its ports served, its requests obeyed, its death told."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from plays.playhost.messages import BadMessage
from plays.playhost.process import (
    LEAVE_SECONDS,
    Channel,
    Say,
    how_it_died,
    play_process,
)
from plays.playhost.serving import PortServer
from plays.playhost.ticket import Ticket
from plays.stores.fencing import LeaseLost
from runtime.engine import RunOutcome
from runtime.errors import HostGone
from runtime.events import Request, RunStatus, StopReason

Json = Any

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


class PlayDied(Exception):
    """The play process ended before its run did. ``has_progress``: it had committed something."""

    def __init__(self, how: str, *, has_progress: bool) -> None:
        super().__init__(how)
        self.has_progress = has_progress


class PlayHost:
    """Serves one play process. ``say`` gets what its author prints.

    ``peak_rss`` is the most memory, in bytes, that the process says it has used.
    """

    def __init__(self, ticket: Ticket, ports: HostPorts, say: Say) -> None:
        self._ticket = ticket
        self._ports = ports
        self._say = say
        self._enforced: Request | None = None
        self.peak_rss = 0

    async def run(self, now: float) -> RunOutcome:
        """Run the play to its end or stop; ``now`` is the time by the database's clock.

        Raises PlayDied. A process that breaks the protocol ends the run as failed; one that does
        not stop when asked is killed, and the run ends as was asked.
        """
        async with play_process(self._say) as channel:
            server = PortServer(self._ports, channel)
            enforcing = asyncio.create_task(self._enforce(channel), name="requests of people")
            try:
                outcome = await server.serve(self._start(now))
                self.peak_rss = server.peak_rss
                return outcome
            except BadMessage as error:
                return _failed("BrokenProtocol", f"the play process sent {error}")
            except LeaseLost:
                return _stopped(Request.LEASE_LOST)
            except HostGone:
                if self._enforced is not None:
                    return _stopped(self._enforced)
                raise PlayDied(await _death(channel), has_progress=server.commits > 0) from None
            finally:
                enforcing.cancel()

    def _start(self, now: float) -> dict[str, Json]:
        ticket = self._ticket
        return {"form": ticket.form, "source": ticket.source, "input": ticket.input, "now": now}

    async def _enforce(self, channel: Channel) -> None:
        """Kill a process that does not stop though it was asked to."""
        asked = Request(await self._ports.signals.requested())
        await asyncio.sleep(GRACE_SECONDS[asked])
        self._enforced = asked
        channel.process.kill()


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


def _failed(kind: str, message: str) -> RunOutcome:
    return RunOutcome(RunStatus.FAILED, error={"type": kind, "message": message})
