"""The steps of a run's trace as values: results, changes, and how changes join. Pure.

A step is known by its key, so that a run that goes on adds to the steps it has. What rows ask is counted
with the cell that it was for: the change travels in the group that holds the cell's outcome, and a cell
has one outcome, so nothing is counted twice. What the top level asks is one step each, told anew each time
that it is found again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from runtime.ports import TraceChange, TraceResult
from runtime.values import Json, canonical_json

PREVIEW_RESULTS = 25
VALUE_MAX = 2_000
ERROR_MAX = 500
NAME_MAX = 200


class Step:
    """One step: what it is called in the store, and how many of its results this engine has told."""

    __slots__ = ("kept", "key", "parent", "waterfall")

    def __init__(self, key: str, parent: str, waterfall: str = "") -> None:
        self.key = key
        self.parent = parent
        self.waterfall = waterfall
        self.kept = 0

    def change(
        self,
        told: dict[str, Json] | None = None,
        *,
        counts: dict[str, int] | None = None,
        results: list[TraceResult] | None = None,
    ) -> TraceChange:
        """Give a change of this step."""
        return {
            "key": self.key,
            "parent": self.parent,
            "told": told or {},
            "counts": counts or {},
            "results": results or [],
        }


class Told(NamedTuple):
    """One result of a step, held until its cell has its outcome; ``result`` None: it is counted only."""

    step: Step
    status: str
    provider: str
    result: TraceResult | None


def step_key(parent: str, label: str) -> str:
    """Give the key of the step that is called so below ``parent``."""
    return hashlib.sha256(f"{parent}/{label}".encode("utf-8", "replace")).hexdigest()[:32]


def trace_result(
    row: int | None, status: str, value: Json, provider: str, error: str
) -> TraceResult:
    """Give one result, its value and error cut to a size that can be shown."""
    return {
        "row": row,
        "status": status,
        "value": value_preview(value),
        "provider": provider[:NAME_MAX],
        "error": error if len(error) <= ERROR_MAX else error[:ERROR_MAX] + "…",
    }


def value_preview(value: Json) -> Json:
    """Give a value as it is shown: of a list the first 25, of what is long the beginning of its text."""
    if isinstance(value, list) and len(value) > PREVIEW_RESULTS:
        value = value[:PREVIEW_RESULTS]
    text = value if isinstance(value, str) else canonical_json(value)
    return value if len(text) <= VALUE_MAX else text[:VALUE_MAX] + "…"


def join(first: TraceChange, then: TraceChange) -> None:
    """Add a later change to an earlier one of the same step."""
    first["told"].update(then["told"])
    for status, count in then["counts"].items():
        first["counts"][status] = first["counts"].get(status, 0) + count
    first["results"] += then["results"][: PREVIEW_RESULTS - len(first["results"])]


def trace_tree(steps: Iterable[TraceChange]) -> list[dict[str, Any]]:
    """Give stored steps, in the order in which they began, as a tree.

    Each is what was told of it, with ``key``, ``counts`` by status, ``results`` and ``steps`` below it.
    """
    by_key: dict[str, dict[str, Any]] = {}
    top: list[dict[str, Any]] = []
    for step in steps:
        shown = by_key[step["key"]] = _shown(step)
        parent = by_key.get(step["parent"])
        (top if parent is None else parent["steps"]).append(shown)
    return top


def _shown(step: TraceChange) -> dict[str, Any]:
    told = dict(step["told"])
    counts, results = dict(step["counts"]), list(step["results"])
    if result := told.pop("result", None):
        counts, results = {result["status"]: 1}, [result]
    return {**told, "key": step["key"], "counts": counts, "results": results, "steps": []}
