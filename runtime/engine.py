"""Runs one play to its end, or to the point where it must stop.

One task group owns everything that runs. What stops a run (a request, a lost lease, a limit, the
deadline) trips the halt; the play is then cancelled, what was found is committed, and the outcome says
why. The web process never imports this module.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.activity import Activity, Worker
from runtime.calling import author_error
from runtime.catalogue import Catalogue
from runtime.context import Context, output_of
from runtime.errors import raise_of_host
from runtime.events import Request, RunStatus, StopReason
from runtime.halt import Halt, Stop
from runtime.identity import durable_name
from runtime.lanes import Lanes
from runtime.permits import Permits
from runtime.ports import Json, Ports
from runtime.program import Play
from runtime.recorder import Recorder
from runtime.scope import Scope, current
from runtime.session import RunForm, Session, Standing
from runtime.spans import Spans
from runtime.trace import Trace
from runtime.turns import Turns
from runtime.waits import Waits

CANCEL_TRIES = 20
CANCEL_WAIT_SECONDS = 1.0
HARVEST_SECONDS = 1.0

DigestOf = Callable[[Any], str]
Loader = Callable[[Mapping[str, Json]], tuple[Play, DigestOf]]
"""Makes a play, and the function that gives its steps' digests, of what ``Library.play`` gives."""

__all__ = ["Engine", "RunForm", "RunOutcome"]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. ``result`` is ``{"dataset": …}`` or ``{"value": …}`` where it completed.

    ``stop_reason`` ``lease_lost`` means that somebody else has the run: nothing may be written.
    """

    status: RunStatus
    result: Json = None
    error: Json = None
    stop_reason: str = ""
    stop_message: str = ""

    def to_json(self) -> dict[str, Json]:
        """Give the form that travels."""
        return {
            "status": str(self.status),
            "result": self.result,
            "error": self.error,
            "stop_reason": self.stop_reason,
            "stop_message": self.stop_message,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Json]) -> RunOutcome:
        """Read what :meth:`to_json` gave."""
        return cls(**{**told, "status": RunStatus(told["status"])})


class Engine:
    """One run of one play over seven ports."""

    def __init__(
        self, play: Play, ports: Ports, form: RunForm, *, digest_of: DigestOf, load: Loader
    ) -> None:
        self._play = play
        self._ports = ports
        self._form = form
        self._digest_of = digest_of
        self._load = load

    async def run(self, run_input: Mapping[str, Json]) -> RunOutcome:
        """Run the play with its input. Everything found is committed when this returns.

        Raises HostFailed where the records could not be written.
        """
        recorder = Recorder(self._ports.records, self._ports.clock)
        async with _task(recorder.run(), "recorder") as recording:
            try:
                outcome = await self._play_it(recorder, dict(run_input), recording)
            except BaseExceptionGroup as group:
                raise _first(group) from None
            await _until(recorder.committed(), recording)
        return outcome

    async def _play_it(
        self, recorder: Recorder, run_input: dict[str, Json], recording: asyncio.Task[None]
    ) -> RunOutcome:
        halt = Halt()
        async with asyncio.TaskGroup() as tasks:
            session = self._session(recorder, halt, tasks)
            watches = self._watches(halt, tasks)
            outcome = await self._run_play(session, run_input, recording)
            session.waits.close()
            session.lanes.close()
            for task in watches:
                task.cancel()
        return outcome

    def _session(self, recorder: Recorder, halt: Halt, tasks: asyncio.TaskGroup) -> Session:
        activity = Activity()
        trace = Trace(recorder)
        lanes = Lanes(
            self._ports.gateway,
            self._ports.clock,
            permits=Permits(self._limit("max_concurrent_tool_calls", 32)),
            activity=activity,
            recorder=recorder,
            halt=halt,
            tasks=tasks,
            trace=trace,
            spans=Spans(self._form.play, self._form.id),
        )
        catalogue = Catalogue(self._ports.library)
        waits = Waits(self._ports.clock, activity=activity, lanes=lanes, halt=halt, tasks=tasks)
        turns = Turns(self._limit("max_concurrent_play_calls", 16))
        return Session(
            self._form, self._ports, recorder, lanes, catalogue, activity, halt, waits, turns, trace
        )

    def _limit(self, name: str, default: int) -> int:
        return int(self._form.limits.get(name) or default)

    def _watches(self, halt: Halt, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        watches = [tasks.create_task(self._obey(halt), name="signals")]
        seconds = self._form.limits.get("max_runtime_seconds")
        if seconds:
            watches.append(tasks.create_task(self._deadline(halt, seconds), name="deadline"))
        return watches

    async def _obey(self, halt: Halt) -> None:
        match Request(await self._ports.signals.requested()):
            case Request.PAUSE:
                halt.trip(RunStatus.PAUSED, StopReason.PERSON, "paused by a person")
            case Request.CANCEL:
                halt.trip(RunStatus.CANCELLED, StopReason.PERSON, "cancelled by a person")
            case _:
                halt.trip(RunStatus.PAUSED, StopReason.LEASE_LOST, "another worker has this run")

    async def _deadline(self, halt: Halt, seconds: float) -> None:
        await self._ports.clock.sleep(seconds)
        halt.trip(
            RunStatus.PAUSED,
            StopReason.DEADLINE,
            f"the limit max_runtime_seconds ({seconds:,} s) is used up; raise it on this run in the"
            " administration, then resume",
        )

    async def _run_play(
        self, session: Session, run_input: dict[str, Json], recording: asyncio.Task[None]
    ) -> RunOutcome:
        worker = Worker(session.activity)
        worker.wait()  # a play's own code between its engine calls brings no row's call
        playing = asyncio.ensure_future(self._play_function(session, run_input))
        halted = asyncio.ensure_future(session.halt.tripped())
        try:
            await asyncio.wait({playing, halted, recording}, return_when=asyncio.FIRST_COMPLETED)
            if recording.done():
                await _cancelled(playing)
                recording.result()
            if not playing.done():
                return await self._stop(session, playing, halted.result())
            return self._outcome(playing)
        finally:
            halted.cancel()
            await _cancelled(playing)

    async def _stop(self, session: Session, playing: asyncio.Future[Any], stop: Stop) -> RunOutcome:
        """Stop the play. What is in flight has a moment to come home, so that cells show what was paid."""
        if stop.reason is not StopReason.LEASE_LOST:
            harvest = asyncio.ensure_future(session.lanes.harvest())
            late = asyncio.ensure_future(self._ports.clock.sleep(HARVEST_SECONDS))
            try:
                await asyncio.wait({harvest, late, playing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                harvest.cancel()
                late.cancel()
        await _cancelled(playing)
        return _stopped(stop)

    async def _play_function(self, session: Session, run_input: dict[str, Json]) -> Any:
        standing = Standing(self._play.name, durable_name(self._play.name))
        current.set(Scope(standing.place))
        ctx = Context(session, standing, digest_of=self._digest_of, load=self._child)
        output = output_of(await self._play.function(ctx, run_input), self._play.name)
        session.trace.returned(output)
        return output

    async def _child(self, name: str) -> tuple[Play, DigestOf]:
        return self._load(await self._ports.library.play(name))

    def _outcome(self, playing: asyncio.Future[Any]) -> RunOutcome:
        error = playing.exception()
        if error is None:
            return RunOutcome(RunStatus.COMPLETED, playing.result())
        raise_of_host(error)
        if not isinstance(error, Exception):
            raise error
        told = {**author_error(error), "play": self._play.name}
        return RunOutcome(RunStatus.FAILED, error=told)


def _stopped(stop: Stop) -> RunOutcome:
    return RunOutcome(stop.status, stop_reason=str(stop.reason), stop_message=stop.message)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Give the first error of a group, which says why the others were cancelled."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _cancelled(task: asyncio.Future[Any]) -> None:
    """Cancel a task until it ends: an author's code may swallow a cancellation once or twice."""
    for _ in range(CANCEL_TRIES):
        if task.done():
            break
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_WAIT_SECONDS)
    with contextlib.suppress(asyncio.CancelledError):
        task.exception() if task.done() else None


@contextlib.asynccontextmanager
async def _task(coroutine: Any, name: str) -> Any:
    task = asyncio.create_task(coroutine, name=name)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()


async def _until(wanted: Any, other: asyncio.Task[Any]) -> None:
    """Wait for ``wanted``, or raise what ended ``other``."""
    waiting = asyncio.ensure_future(wanted)
    await asyncio.wait({waiting, other}, return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done():
        waiting.cancel()
        other.result()
    waiting.result()
