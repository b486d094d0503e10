"""Child plays of a run's tree, counted in memory."""

from __future__ import annotations

from runtime.childlimits import ChildCounts, refusal
from runtime.memory.store import MemoryRun
from runtime.ports import ChildCall


def reserved(run: MemoryRun, child: ChildCall) -> str:
    """Count a child play, or give the sentence of the limit that refuses it; nothing is counted then."""
    whole = run.children.total()
    counts = ChildCounts(whole, run.children[child["parent"]], whole)
    sentence = refusal(counts, run.limits, rows=run.counters["rows"], play=child["play"])
    if not sentence:
        run.children[child["parent"]] += 1
    return sentence
