"""Contestants in turn, round after round, so that what disturbs the machine disturbs all of them."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.installation import Took
from benchmarks.results import middle

Pass = Callable[[str, int], Took]
"""Does the work over that many rows, all of them under a tag that nobody had before."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A shorter and a longer pass of one contestant in one round."""

    short: Took
    long: Took

    @property
    def seconds_a_row(self) -> float:
        """What one more row takes: starts and ends are in both passes, so they do not count."""
        return (self.long.seconds - self.short.seconds) / (self.long.rows - self.short.rows)

    @property
    def cpu_a_row(self) -> float:
        """What one more row takes of the processors, in seconds."""
        return (self.long.cpu - self.short.cpu) / (self.long.rows - self.short.rows)


Rounds = list[dict[str, Pair]]


def interleaved(passes: Mapping[str, Pass], rows: int, rounds: int) -> Rounds:
    """Run every contestant over ``rows // 5`` and ``rows`` rows in each round."""
    measured: Rounds = []
    for number in range(rounds):
        pairs: dict[str, Pair] = {}
        for name, one in passes.items():
            pairs[name] = Pair(one(_tag(), rows // 5), one(_tag(), rows))
            rate = 1 / pairs[name].seconds_a_row
            print(f"  round {number + 1}: {name}: {rate:,.0f} rows/s", file=sys.stderr, flush=True)
        measured.append(pairs)
    return measured


def ratio(rounds: Rounds, value: Callable[[Pair], float], one: str, other: str) -> float:
    """Give the median over the rounds of one contestant's value by another's."""
    return middle(value(pairs[one]) / value(pairs[other]) for pairs in rounds)


def rates(rounds: Rounds) -> str:
    """Tell every contestant's rows a second."""
    return ", ".join(
        f"{name} {middle(1 / pairs[name].seconds_a_row for pairs in rounds):,.0f}"
        for name in rounds[0]
    )


def _tag() -> str:
    return uuid.uuid4().hex[:8]
