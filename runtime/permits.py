"""How many requests a run may have in flight, so that no lane starves another.

A lane with nothing in flight may take any free permit. A lane that already has some must leave one for
each lane that waits with nothing in flight, and one more for a tool that nobody has asked yet: a tool
that hangs can then hold all permits but those.
"""

from __future__ import annotations

from collections import Counter


class Permits:
    """Counts requests in flight by lane. Waiting is the lanes' own matter."""

    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)
        self._held: Counter[str] = Counter()
        self._hungry: set[str] = set()

    @property
    def in_flight(self) -> int:
        """How many permits are taken."""
        return self._held.total()

    def held(self, lane: str) -> int:
        """How many of them this lane has."""
        return self._held[lane]

    def wants(self, lane: str, *, is_waiting: bool) -> None:
        """Note whether a lane has calls that wait."""
        if is_waiting:
            self._hungry.add(lane)
        else:
            self._hungry.discard(lane)

    def may_take(self, lane: str) -> bool:
        """Whether :meth:`take` would be granted now."""
        free = self.limit - self.in_flight
        if free < 1:
            return False
        if not self._held[lane]:
            return True
        starving = sum(1 for other in self._hungry if other != lane and not self._held[other])
        return free - 1 >= min(starving + 1, self.limit - 1)

    def take(self, lane: str) -> None:
        """Take a permit that :meth:`may_take` granted."""
        self._held[lane] += 1

    def release(self, lane: str) -> None:
        """Give a permit back."""
        self._held[lane] -= 1
