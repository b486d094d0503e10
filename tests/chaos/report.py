"""What the series found, as a table: differences, paid calls that were repeated, runs that are stuck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.chaos.series import Series, Side
from tests.chaos.stage import Asked
from tests.chaos.workload import Order

COLUMNS = ("fault", "hits", "longest standstill", "differences", "runs stuck")


@dataclass
class Report:
    """The comparison of both sides.

    ``repeated`` are calls that the provider got more often than undisturbed, less ``excused``: those
    that a gateway had under way when it was killed, of which nobody can know whether they arrived.
    """

    series: Series
    calm: Side
    differing: dict[Order, list[str]]
    repeated: Asked
    excused: Asked
    never_asked: Asked

    @property
    def is_good(self) -> bool:
        """Whether everything is as if nothing had happened."""
        stuck = self.series.disturbed.stuck | self.calm.stuck
        return not (self.differing or self.repeated or self.never_asked or stuck)

    def lines(self) -> Iterator[str]:
        """Give the table, and below it what concerns all kinds of faults together."""
        yield f"{COLUMNS[0]:32} {COLUMNS[1]:>5} {COLUMNS[2]:>19} {COLUMNS[3]:>12} {COLUMNS[4]:>11}"
        differing = {one.number for one in self.differing}
        stuck = {one.number for one in self.series.disturbed.stuck}
        for kind, hits in self.series.hits.items():
            longest = f"{hits.longest_seconds:.1f} s"
            different = len(hits.orders & differing)
            yield (
                f"{kind:32} {hits.count:5} {longest:>19} {different:12} {len(hits.orders & stuck):11}"
            )
        yield ""
        yield f"blows                                  {sum(h.count for h in self.series.hits.values())}"
        yield f"runs                                   {len(self.calm.runs)}"
        yield f"paid calls                             {self.calm.asked.total()}"
        yield f"paid calls repeated                    {self.repeated.total()}"
        yield f"calls under way in a killed gateway    {self.series.arena.excused.total()}"
        yield f"  of those asked again                 {self.excused.total()}"
        yield f"calls never asked                      {self.never_asked.total()}"
        for one, names in self.differing.items():
            run = self.series.disturbed.runs[one]
            yield f"DIFFERENT: {one.play} {one.number} (run {run}): {', '.join(names)}"
        for (tool, given), count in list(self.repeated.items())[:20]:
            yield f"REPEATED {count} times: {tool} {given}"


def report(series: Series, calm: Side) -> Report:
    """Compare the disturbed side with the calm one."""
    disturbed, undisturbed = series.disturbed.results(), calm.results()
    differing = {
        one: names
        for one, found in disturbed.items()
        if one in undisturbed and (names := found.differences(undisturbed[one]))
    }
    more = series.disturbed.asked - calm.asked
    repeated = more - series.arena.excused
    never_asked: Asked = Counter(calm.asked) - series.disturbed.asked
    return Report(series, calm, differing, repeated, more - repeated, never_asked)
