"""The limits on how many child plays a run's tree may call. Pure: memory and database ask the same rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class _Limit:
    name: str
    default: int
    per_row: str
    counts: str


CALLS = _Limit("max_play_call_count", 32, "max_play_calls_per_row", "child plays")
PER_PARENT = _Limit(
    "max_child_play_calls_per_parent",
    16,
    "max_child_play_calls_per_row",
    "child plays of one parent",
)
DESCENDANTS = _Limit("max_descendants", 64, "max_descendants_per_row", "descendants")


@dataclass(frozen=True, slots=True)
class ChildCounts:
    """What a run's tree has called so far: ``of_parent`` by the play that calls now."""

    calls: int
    of_parent: int
    descendants: int


def refusal(counts: ChildCounts, limits: Mapping[str, Any], *, rows: int, play: str) -> str:
    """Give the sentence of the limit that forbids one more call of ``play``; "": it is allowed.

    Each limit grows by its ``…_per_row`` (1 by default) for each row of the run. None: no limit.
    """
    used = {
        CALLS: counts.calls,
        PER_PARENT: counts.of_parent,
        DESCENDANTS: counts.descendants,
    }
    for limit, count in used.items():
        base = limits.get(limit.name, limit.default)
        if base is None:
            continue
        value = int(base) + int(limits.get(limit.per_row, 1) or 0) * rows
        if count >= value:
            return (
                f"the limit {limit.name} ({value:,} {limit.counts}) is used up, and {play!r} would"
                " be one more; raise it on this run in the administration, then resume"
            )
    return ""
