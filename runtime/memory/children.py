"""The limits on child plays of a run's tree, in memory."""

from __future__ import annotations

from runtime.memory.store import MemoryRun
from runtime.ports import ChildCall

LIMITS = {
    "max_play_call_count": (32, "max_play_calls_per_row", "child plays"),
    "max_child_play_calls_per_parent": (
        16,
        "max_child_play_calls_per_row",
        "child plays of one parent",
    ),
    "max_descendants": (64, "max_descendants_per_row", "descendants"),
}
"""By limit: its default, the limit that adds to it for each row (1 by default), and what it counts."""


def reserved(run: MemoryRun, child: ChildCall) -> str:
    """Count a child play, or give the sentence of the limit that refuses it; nothing is counted then."""
    whole = run.children.total()
    used = dict.fromkeys(LIMITS, whole)
    used["max_child_play_calls_per_parent"] = run.children[child["parent"]]
    for limit, count in used.items():
        value = _value(run, limit)
        if count >= value:
            return (
                f"the limit {limit} ({value:,} {LIMITS[limit][2]}) is used up, and {child['play']!r} would be"
                " one more; raise it on this run in the administration, then resume"
            )
    run.children[child["parent"]] += 1
    return ""


def _value(run: MemoryRun, limit: str) -> int:
    default, per_row, _ = LIMITS[limit]
    base = int(run.limits.get(limit, default))
    return base + int(run.limits.get(per_row, 1)) * run.counters["rows"]
