"""The trace of a run as pages and programs read it: a tree of steps."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from plays.exports import cell_text
from plays.models import TraceStep
from runtime.tracesteps import trace_tree


def run_trace(run_id: UUID) -> list[dict[str, Any]]:
    """Give the run's steps as they began, each with those that stand below it.

    Values of results are text, so that no reader's numbers lose a digit.
    """
    steps = TraceStep.objects.filter(run_id=run_id).order_by("id")
    return [_read(step) for step in trace_tree(map(_change, steps))]


def _change(step: TraceStep) -> Any:
    names = ("key", "parent", "told", "counts", "results")
    return {name: getattr(step, name) for name in names}


def _read(step: dict[str, Any]) -> dict[str, Any]:
    results = [{**result, "value": _text(result["value"])} for result in step["results"]]
    told = ("key", "kind", "counts", "results", "steps")
    return {
        "key": step["key"],
        "kind": step.get("kind", ""),
        "facts": {name: value for name, value in step.items() if name not in told},
        "counts": step["counts"],
        "results": results,
        "steps": [_read(below) for below in step["steps"]],
    }


def _text(value: Any) -> str | None:
    return None if value is None else cell_text(value)
