"""The calls that wait in one lane, and the pure decision which of them leave next.

A call with a ``group_by`` leaves only with calls whose inputs agree in those names. Calls whose caller
is gone are taken out, so they are never sent.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping

from opentelemetry.context import get_current

from runtime.activity import Worker
from runtime.ports import Json, Member
from runtime.progress import CellProgress
from runtime.retrying import Tries
from runtime.tools import Outcome, ToolSpec
from runtime.values import canonical_json


class Call:
    """One tool, one input, one place. Several waiters share it where they ask under one durable name.

    While it has not left its lane, it is a loose call of those who wait for it.
    """

    __slots__ = (
        "_has_left", "_waiters", "cell", "context", "group", "input", "life", "name", "since",
        "tries", "waterfall",
    )  # fmt: skip

    def __init__(
        self, name: str, call_input: Json, *, waterfall: bool, cell: CellProgress | None,
        life: float | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.input = call_input
        self.waterfall = waterfall
        self.cell = cell
        self.life = life
        self.context = get_current()
        self.group = ""
        self.since = 0.0
        self.tries = Tries()
        self._has_left = False
        self._waiters: dict[asyncio.Future[Outcome], Worker] = {}

    @property
    def waiters(self) -> Iterable[Worker]:
        """Who waits for its outcome."""
        return self._waiters.values()

    @property
    def is_wanted(self) -> bool:
        """Whether somebody still waits for its outcome."""
        return bool(self._waiters)

    def join(self, worker: Worker) -> asyncio.Future[Outcome]:
        """Give ``worker`` a future of the outcome; it counts as waiting until :meth:`settle` or leaving."""
        waiter: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = worker
        worker.wait()
        if not self._has_left:
            worker.loosen()
        return waiter

    def leaves(self) -> None:
        """It goes out with a request."""
        self._has_left = True
        for worker in self._waiters.values():
            self._tighten(worker)

    def returns(self, until: float | None) -> None:
        """It is back in its lane without an outcome; ``until``: it has to wait that long, a while."""
        self._has_left = False
        for worker in self._waiters.values():
            if until is None:
                worker.loosen()
            else:
                worker.wait_until(self, until)

    def leave(self, waiter: asyncio.Future[Outcome]) -> None:
        """Take out a waiter that may have its outcome already."""
        if worker := self._waiters.pop(waiter, None):
            if not self._has_left:
                self._tighten(worker)
            worker.resume()

    def _tighten(self, worker: Worker) -> None:
        if not worker.wait_no_more(self):
            worker.loosen(-1)

    def settle(self, outcome: Outcome) -> None:
        """Give the outcome to everybody who waits.

        They count as running from here on, not from when they come to read it: else nobody would seem
        to run in between, and batches would leave too early.
        """
        waiters, self._waiters = self._waiters, {}
        for waiter, worker in waiters.items():
            worker.resume()
            if not waiter.done():
                waiter.set_result(outcome)

    def member(self) -> Member:
        """Give the form that travels."""
        member = Member(name=self.name, input=self.input, waterfall=self.waterfall)
        if self.life is not None:
            member["stale_after_seconds"] = self.life
        return member


class Waiting:
    """The waiting calls of one tool, grouped as they may leave together, oldest first."""

    def __init__(self, spec: ToolSpec) -> None:
        self.size = spec.batch.size if spec.batch else 1
        self._group_by = spec.batch.group_by if spec.batch else ()
        self._groups: dict[str, dict[str, Call]] = {}
        self._delayed: list[tuple[float, int, Call]] = []
        self._count = itertools.count()

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    @property
    def delayed(self) -> int:
        """How many calls wait for their time to be repeated."""
        return len(self._delayed)

    def __iter__(self) -> Iterator[Call]:
        for group in self._groups.values():
            yield from group.values()

    def add(self, call: Call, now: float) -> None:
        """Put a call at the end of its group."""
        call.since = now
        call.group = self._group_of(call)
        self._groups.setdefault(call.group, {})[call.name] = call

    def add_later(self, call: Call, due: float) -> None:
        """Put a call back at ``due``."""
        heapq.heappush(self._delayed, (due, next(self._count), call))

    def drop(self, call: Call) -> None:
        """Take out a call that nobody wants any more."""
        group = self._groups.get(call.group, {})
        group.pop(call.name, None)
        if not group:
            self._groups.pop(call.group, None)

    def mature(self, now: float) -> None:
        """Move the delayed calls that are due among the waiting ones."""
        while self._delayed and self._delayed[0][0] <= now:
            call = heapq.heappop(self._delayed)[2]
            if call.is_wanted:
                self.add(call, now)

    def take(self, now: float, *, linger: float, is_idle: bool) -> list[Call]:
        """Take the calls of the next request, or none.

        A full group leaves; any group where nobody can add to it (``is_idle``), or once its oldest call
        has waited ``linger`` seconds.
        """
        for name, group in self._groups.items():
            if len(group) >= self.size or is_idle or self._oldest(group) + linger <= now:
                return self._pop(name, group)
        return []

    def next_time(self, linger: float) -> float | None:
        """Give the earliest moment at which :meth:`mature` or :meth:`take` may have something to do."""
        times = [self._oldest(group) + linger for group in self._groups.values()]
        if self._delayed:
            times.append(self._delayed[0][0])
        return min(times, default=None)

    def _pop(self, name: str, group: dict[str, Call]) -> list[Call]:
        calls = list(itertools.islice(group.values(), self.size))
        for call in calls:
            del group[call.name]
        if not group:
            del self._groups[name]
        return calls

    @staticmethod
    def _oldest(group: dict[str, Call]) -> float:
        return next(iter(group.values())).since

    def _group_of(self, call: Call) -> str:
        """Calls leave together whose inputs agree in ``group_by``, and whose answers may be as old."""
        life = "" if call.life is None else f"{call.life} "
        if not self._group_by or not isinstance(call.input, Mapping):
            return life
        return life + canonical_json([call.input.get(name) for name in self._group_by])
