"""Lanes: calls in, batches out, one outcome per call.

One lane per tool. A lane sends when a batch is full; at once when no row is runnable and no request is in
flight, since nothing can then join the batch; else when its oldest call has lingered long enough. Lanes
never wait for one another: they share only the permits. What is retryable is retried here, with the
same durable name, so that the gateway knows it for the same call.
"""

from __future__ import annotations

import asyncio
import random
import statistics
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.activity import Activity, Worker
from runtime.calls import Call, Waiting
from runtime.events import RunStatus, StopReason
from runtime.halt import Halt
from runtime.permits import Permits
from runtime.ports import Clock, Gateway, MemberOutcome
from runtime.progress import CellProgress
from runtime.recorder import Recorder
from runtime.retrying import UNATTEMPTED_SENDS, wait_after
from runtime.spans import Spans
from runtime.tools import Failed, Hit, Miss, Outcome, ToolSpec
from runtime.trace import Trace
from runtime.values import Json

LINGER_MIN_SECONDS = 0.05
LINGER_MAX_SECONDS = 5.0
LINGER_SHARE = 0.1
"""A call lingers for at most this share of the time that the run has taken, see :meth:`Lanes._linger`."""

LONG_WAIT_SECONDS = 60.0
"""Who has to wait longer than this does not wait in memory."""

HUNG_SECONDS = 10.0
HUNG_MEDIANS = 5.0
"""A lane hangs while its requests are out for this long, and for so many medians of the run's latency."""

LATENCIES_KEPT = 31
REFUSED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class LaneStatistics:
    """A snapshot of one lane: calls waiting, delayed for a retry, requests in flight, sent so far."""

    tool: str
    waiting: int
    delayed: int
    in_flight: int
    requests: int
    members: int


class Lane:
    """The waiting calls of one tool and what was sent of them."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec
        self.waiting = Waiting(spec)
        self.calls: dict[str, Call] = {}
        self.paused_until = 0.0
        self.timer: asyncio.Task[None] | None = None
        self.timer_at = 0.0
        self.out_since: dict[object, float] = {}
        self.requests = 0
        self.members = 0


class Lanes:
    """All lanes of one run. ``tasks`` owns what they start; its end is the end of everything in flight."""

    def __init__(
        self, gateway: Gateway, clock: Clock, *, permits: Permits, activity: Activity,
        recorder: Recorder, halt: Halt, tasks: asyncio.TaskGroup, trace: Trace, spans: Spans,
    ) -> None:  # fmt: skip
        self._gateway = gateway
        self._clock = clock
        self._permits = permits
        self._activity = activity
        self._recorder = recorder
        self._halt = halt
        self._group = tasks
        self._trace = trace
        self._spans = spans
        self._tasks: set[asyncio.Task[None]] = set()
        self._lanes: dict[str, Lane] = {}
        self._latencies: deque[float] = deque(maxlen=LATENCIES_KEPT)
        self._median = 0.0
        self._started = clock.now()
        self._is_refused = False
        self._harvested = asyncio.Event()
        self.on_quiet: Callable[[], None] = lambda: None
        activity.on_idle = self._idle

    @property
    def in_flight(self) -> int:
        """How many requests are out."""
        return self._permits.in_flight

    def statistics(self) -> list[LaneStatistics]:
        """Give a snapshot of each lane, in the order of their first calls."""
        return [
            LaneStatistics(
                lane.spec.id,
                len(lane.waiting),
                lane.waiting.delayed,
                self._permits.held(lane.spec.id),
                lane.requests,
                lane.members,
            )
            for lane in self._lanes.values()
        ]

    def due_times(self) -> Iterator[float]:
        """Give the moments at which lanes have something to send, where nobody calls before."""
        for lane in self._lanes.values():
            if (due := self._due(lane, self._linger(lane))) is not None:
                yield due

    def stuck(self) -> Iterator[Worker]:
        """Give who waits for a call that cannot leave, because its tool does not answer."""
        now = self._clock.now()
        patience = max(HUNG_SECONDS, HUNG_MEDIANS * self._median)
        for lane in self._lanes.values():
            if lane.out_since and max(lane.out_since.values()) + patience <= now:
                for call in lane.waiting:
                    yield from call.waiters

    async def call(
        self, spec: ToolSpec, name: str, call_input: Json, *,
        worker: Worker, cell: CellProgress | None, waterfall: bool = False,
        life: float | None = None,
    ) -> Outcome:  # fmt: skip
        """Ask a tool and wait for the outcome; the same durable name at the same time is asked once.

        ``life`` is for how many seconds before this run's start an answer is good enough.

        Cancelling the wait takes the call out of its lane unless it has left already.
        """
        lane = self._lane(spec)
        call = lane.calls.get(name)
        if call is None:
            call = Call(name, call_input, waterfall=waterfall, cell=cell, life=life)
            lane.calls[name] = call
            if cell:
                cell.queued(spec)
            lane.waiting.add(call, self._clock.now())
        return await self._outcome(lane, call, worker)

    async def _outcome(self, lane: Lane, call: Call, worker: Worker) -> Outcome:
        waiter = call.join(worker)
        try:
            self._pump(lane)
            return await waiter
        except asyncio.CancelledError:
            call.leave(waiter)
            if not call.is_wanted:
                lane.calls.pop(call.name, None)
                lane.waiting.drop(call)
            raise

    async def harvest(self) -> None:
        """Once the halt is tripped: return when all in flight is answered and every row has its answers.

        That may be never, where a request hangs or an author's code waits outside the engine.
        """
        if self._activity.is_idle:
            self._idle()
        await self._harvested.wait()

    def close(self) -> None:
        """Let go of what is in flight: the gateway finishes it and keeps what was paid for."""
        for task in self._tasks:
            task.cancel()

    def _start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _linger(self, lane: Lane) -> float:
        """Give the seconds for which a batch that is not full may wait for more; 0 without batches.

        The longest while rows are still to be admitted, since their calls will fill it. Then one moving
        median of the request latency, or a tenth of the time that the run has taken where that is more:
        a short run stays quick, and a long one fills its batches although its last rows trickle in.
        """
        if lane.spec.batch is None:
            return 0.0
        if lane.spec.linger_seconds is not None:
            return lane.spec.linger_seconds
        if self._activity.has_more:
            return LINGER_MAX_SECONDS
        share = LINGER_SHARE * (self._clock.now() - self._started)
        return min(LINGER_MAX_SECONDS, max(LINGER_MIN_SECONDS, self._median, share))

    def _lane(self, spec: ToolSpec) -> Lane:
        lane = self._lanes.get(spec.id)
        if lane is None:
            lane = self._lanes[spec.id] = Lane(spec)
        return lane

    def _idle(self) -> None:
        if self._permits.in_flight > 0:
            return
        if self._halt.stop:
            self._harvested.set()
        for lane in self._lanes.values():
            self._pump(lane, is_idle=True)
        if self._permits.in_flight == 0:
            self.on_quiet()

    def _pump(self, lane: Lane, *, is_idle: bool = False) -> None:
        if self._halt.stop:
            return  # nothing leaves any more
        now = self._clock.now()
        lane.waiting.mature(now)
        linger = self._linger(lane)
        tool = lane.spec.id
        if now >= lane.paused_until:
            while self._permits.may_take(tool):
                batch = lane.waiting.take(now, linger=linger, is_idle=is_idle)
                if not batch:
                    break
                self._send(lane, batch)
        self._permits.wants(tool, is_waiting=bool(len(lane.waiting)))
        self._set_timer(lane, now, linger)

    def _send(self, lane: Lane, batch: list[Call]) -> None:
        self._permits.take(lane.spec.id)
        lane.requests += 1
        lane.members += len(batch)
        if lane.spec.batch:
            self._trace.sent(lane.spec.id, batch)
        for call in batch:
            call.leaves()
            if call.cell:
                call.cell.running(lane.spec)
        self._start(self._request(lane, batch), name=f"request {lane.spec.id}")

    async def _request(self, lane: Lane, batch: list[Call]) -> None:
        started = self._clock.now()
        lane.out_since[batch[0]] = started
        try:
            with self._spans.request(lane.spec, batch) as answered:
                members = [call.member() for call in batch]
                outcomes = await self._gateway.execute(lane.spec.id, members)
                answered(outcomes)
        finally:
            del lane.out_since[batch[0]]
            self._permits.release(lane.spec.id)
        self._latencies.append(self._clock.now() - started)
        self._median = statistics.median(self._latencies)
        self._recorder.count("requests")
        self._recorder.count("members", len(batch))
        self._settle(lane, batch, outcomes)
        for other in self._lanes.values():
            self._pump(other)
        if self._activity.is_idle:
            self._idle()

    def _settle(self, lane: Lane, batch: Sequence[Call], outcomes: Sequence[MemberOutcome]) -> None:
        # Last first, so that calls which go back do so in turned order: one call that cuts every reply
        # short cannot hide the same others each time.
        for call, told in reversed(list(zip(batch, outcomes, strict=True))):
            if told["kind"] == "stopped":
                self._refused()
            elif (outcome := self._outcome_of(lane, call, told)) is not None:
                self._finish(lane, call, outcome)

    def _refused(self) -> None:
        """The gateway refuses this run: whoever stopped it says why through the signals, in a moment."""
        if not self._is_refused:
            self._is_refused = True
            self._start(self._stop_without_reason(), name="refused by the gateway")

    async def _stop_without_reason(self) -> None:
        await self._clock.sleep(REFUSED_SECONDS)
        self._halt.trip(
            RunStatus.PAUSED, StopReason.LEASE_LOST, "the gateway refuses the calls of this run"
        )

    def _finish(self, lane: Lane, call: Call, outcome: Outcome) -> None:
        if isinstance(outcome, Failed) and self._halt.trip_for(outcome):
            return
        lane.calls.pop(call.name, None)
        if call.cell:
            call.cell.answered(lane.spec, outcome)
        call.settle(outcome)

    def _outcome_of(self, lane: Lane, call: Call, told: MemberOutcome) -> Outcome | None:
        """Give the final outcome of a call, or None where it goes back into its lane."""
        match told["kind"]:
            case "hit":
                return Hit(
                    told.get("result"), told.get("source", "live"), told.get("credits", 0.0),
                    told.get("call", ""),
                )  # fmt: skip
            case "miss":
                return Miss(
                    told.get("source", "live"), told.get("credits", 0.0), told.get("call", "")
                )
            case "pending":
                self._again(lane, call, told.get("retry_after") or 1.0)
                return None
            case "unattempted":
                return self._unattempted(lane, call)
            case _:
                return self._failed(lane, call, told)

    def _unattempted(self, lane: Lane, call: Call) -> Outcome | None:
        call.tries.unattempted += 1
        if call.tries.unattempted < UNATTEMPTED_SENDS:
            self._again(lane, call, 0.0)
            return None
        return Failed(
            f"{lane.spec.provider} left this call out of its reply {UNATTEMPTED_SENDS} times",
            "upstream",
            lane.spec.provider,
            "left_out",
            attempts=call.tries.requests,
        )

    def _failed(self, lane: Lane, call: Call, told: MemberOutcome) -> Outcome | None:
        failed = Failed(
            told.get("message", "the call failed"),
            told.get("category", "internal"),
            told.get("provider") or lane.spec.provider,
            told.get("code", ""),
            told.get("retryable", False),
            told.get("retry_after"),
            call.tries.requests + 1,
            told.get("call", ""),
            told.get("request", ""),
        )
        wait = wait_after(failed, call.tries, random.random)
        if wait is None:
            return failed
        if failed.category == "rate_limit":
            lane.paused_until = max(lane.paused_until, self._clock.now() + wait)
        self._again(lane, call, wait)
        return None

    def _again(self, lane: Lane, call: Call, wait: float) -> None:
        if not call.is_wanted:
            return
        now = self._clock.now()
        call.returns(now + wait if wait >= LONG_WAIT_SECONDS else None)
        if call.cell and wait >= 1.0:
            call.cell.waiting(lane.spec, now + wait)
        lane.waiting.add_later(call, now + wait)

    def _due(self, lane: Lane, linger: float) -> float | None:
        due = lane.waiting.next_time(linger)
        return None if due is None else max(due, lane.paused_until)

    def _set_timer(self, lane: Lane, now: float, linger: float) -> None:
        due = self._due(lane, linger)
        if due is None:
            return
        if due <= now and not self._permits.may_take(lane.spec.id):
            return  # a permit's release pumps every lane
        if lane.timer and not lane.timer.done() and lane.timer_at <= due:
            return
        if lane.timer:
            lane.timer.cancel()
        lane.timer_at = due
        lane.timer = self._start(self._wake(lane, due - now), name=f"timer {lane.spec.id}")

    async def _wake(self, lane: Lane, seconds: float) -> None:
        await self._clock.sleep(max(0.0, seconds))
        lane.timer = None
        self._pump(lane)
