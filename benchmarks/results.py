"""What was measured, and the table that tells it: ratios first, each beside its goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. ``is_met`` None: a figure without a goal, told after those that have one."""

    measure: str
    what: str
    value: str
    goal: str = ""
    is_met: bool | None = None


def at_least(measure: str, what: str, value: float, goal: float) -> Result:
    """Give the line of a ratio that should be no smaller than its goal."""
    return Result(measure, what, f"{value:.2f}", f"at least {goal:g}", value >= goal)


def at_most(measure: str, what: str, value: float, goal: float) -> Result:
    """Give the line of a ratio that should be no larger than its goal."""
    return Result(measure, what, f"{value:.2f}", f"at most {goal:g}", value <= goal)


def figure(measure: str, what: str, value: str) -> Result:
    """Give a line without a goal."""
    return Result(measure, what, value)


def middle(values: Iterable[float]) -> float:
    """Give the median over the rounds, which one disturbed round does not move."""
    return median(values)


def table(results: Sequence[Result]) -> str:
    """Give all lines as a Markdown table, those with a goal first."""
    ordered = sorted(results, key=lambda result: result.is_met is None)
    lines = [["measure", "what", "value", "goal", "met"], *map(_cells, ordered)]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    )


def _cells(result: Result) -> list[str]:
    met = {None: "", True: "yes", False: "**no**"}[result.is_met]
    return [result.measure, result.what, result.value, result.goal, met]
