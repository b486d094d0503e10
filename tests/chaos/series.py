"""A seeded series of blows against runs under way, and the same runs undisturbed."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from tests.chaos.faults import FAULTS, Arena, Missed
from tests.chaos.stage import Asked, Stage
from tests.chaos.workload import (
    Order,
    Result,
    Stuck,
    has_work_in_flight,
    moment,
    order,
    patiently,
    result,
    short_order,
    start,
    until,
)

KEPT_GOING = 2


@dataclass
class Hits:
    """What one kind of fault did: how often, to which orders, and how long they stood still."""

    count: int = 0
    orders: set[int] = field(default_factory=set)
    longest_seconds: float = 0.0


@dataclass
class Side:
    """All runs of one side, disturbed or calm, and what the provider was asked for them."""

    runs: dict[Order, UUID] = field(default_factory=dict)
    stuck: set[Order] = field(default_factory=set)
    asked: Asked = field(default_factory=Counter)

    def results(self) -> dict[Order, Result]:
        """Read the results of the runs that came to an end."""
        over = {one: run for one, run in self.runs.items() if one not in self.stuck}
        return {one: patiently(lambda run=run: result(run)) for one, run in over.items()}


class Series:
    """Deals blows until each kind has hit as often as planned."""

    def __init__(self, stage: Stage, plan: Mapping[str, int], seed: int, share: float) -> None:
        self.stage = stage
        self.hits: dict[str, Hits] = defaultdict(Hits)
        self.disturbed = Side()
        self._share = share
        self._chance = random.Random(seed)
        self._blows = [kind for kind, count in plan.items() for _ in range(count)]
        self._chance.shuffle(self._blows)
        self.arena = Arena(stage, self._chance, self._start_short)

    def run(self) -> None:
        """Deal all blows, then let every run come to its end."""
        began = time.monotonic()
        for number, kind in enumerate(self._blows, start=1):
            self._deal(kind)
            seconds = time.monotonic() - began
            print(f"{seconds:6.0f} s  {number:3} of {len(self._blows)}  {kind}", flush=True)
        _end_all(self.disturbed)
        self.disturbed.asked = self.stage.asked()

    def _deal(self, kind: str) -> None:
        """Deal one blow to a run that has work in flight, and wait until that run moves again."""
        while True:
            one = self._victim()
            run = self.disturbed.runs[one]
            try:
                before, fell = moment(run), time.monotonic()
                FAULTS[kind](self.arena, run)
                break
            except Missed:
                continue
            except Stuck as error:
                self._give_up(one, f"{kind}: {error}")
                break
            finally:
                self.stage.mend()
        hits = self.hits[kind]
        hits.count += 1
        hits.orders.add(one.number)
        try:
            until(lambda: _has_moved(run, before.done), f"{one.play} {run} to move after: {kind}")
        except Stuck as error:
            self._give_up(one, str(error))
        hits.longest_seconds = max(hits.longest_seconds, time.monotonic() - fell)

    def _victim(self) -> Order:
        """Choose a run with work in flight; new ones are started so that some are always going."""
        while True:
            live = [one for one in self.disturbed.runs if self._is_live(one)]
            while len(live) < KEPT_GOING:
                live += [self._start(order(len(self.disturbed.runs), self._share))]
            self._chance.shuffle(live)
            for one in live:
                if has_work_in_flight(self.disturbed.runs[one]):
                    return one
            time.sleep(0.1)

    def _is_live(self, one: Order) -> bool:
        return one not in self.disturbed.stuck and not moment(self.disturbed.runs[one]).is_over

    def _start(self, one: Order) -> Order:
        self.disturbed.runs[one] = patiently(lambda: start(one, "disturbed"))
        return one

    def _start_short(self) -> UUID:
        return self.disturbed.runs[self._start(short_order(len(self.disturbed.runs)))]

    def _give_up(self, one: Order, why: str) -> None:
        print(f"STUCK: {why}", flush=True)
        self.disturbed.stuck.add(one)


def calm_side(stage: Stage, orders: list[Order]) -> Side:
    """Run the same orders with nobody disturbing them, on a provider that is quick."""
    calm = Side()
    for one in orders:
        calm.runs[one] = start(one, "calm")
    _end_all(calm)
    calm.asked = stage.asked()
    return calm


def _end_all(side: Side) -> None:
    for one, run in side.runs.items():
        if one not in side.stuck:
            try:
                until(lambda run=run: moment(run).is_over, f"the end of {one.play} {run}")
            except Stuck as error:
                print(f"STUCK: {error}", flush=True)
                side.stuck.add(one)


def _has_moved(run: UUID, done: int) -> bool:
    now = moment(run)
    return now.is_over or now.done > done
