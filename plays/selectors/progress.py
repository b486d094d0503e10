"""How far runs are: rows by status and found cells, summed over the maps of each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from plays.models import MapFrame

FOUND = ("completed", "cached", "manual")
"""Cell statuses with a value."""
SETTLED_ROWS = ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Progress:
    """Rows and visible cells of a run, in all its maps. ``found`` of ``cells`` have a value."""

    rows: int = 0
    rows_done: int = 0
    rows_failed: int = 0
    cells: int = 0
    found: int = 0

    @property
    def fill_rate(self) -> float | None:
        """The share of cells that have a value; None where there are no cells yet."""
        return self.found / self.cells if self.cells else None

    @property
    def done_rate(self) -> float | None:
        """The share of rows that are settled; None where there are no rows yet."""
        return self.rows_done / self.rows if self.rows else None


def runs_progress(run_ids: Iterable[UUID]) -> dict[UUID, Progress]:
    """Give the progress of each of these runs, in one query; runs without a map are left out."""
    frames = MapFrame.objects.filter(run__in=list(run_ids)).only(
        "run_id", "fields", "total", "totals", "row_totals"
    )
    sums: dict[UUID, Progress] = {}
    for frame in frames:
        sums[frame.run_id] = _plus(sums.get(frame.run_id, Progress()), frame)
    return sums


def _plus(before: Progress, frame: MapFrame) -> Progress:
    visible = [field["name"] for field in frame.fields if not field["name"].startswith("_")]
    return Progress(
        rows=before.rows + frame.total,
        rows_done=before.rows_done + _sum(frame.row_totals, SETTLED_ROWS),
        rows_failed=before.rows_failed + _sum(frame.row_totals, ("failed",)),
        cells=before.cells + frame.total * len(visible),
        found=before.found + sum(_sum(frame.totals.get(name, {}), FOUND) for name in visible),
    )


def _sum(totals: Mapping[str, Any], statuses: Iterable[str]) -> int:
    return sum(totals.get(status, 0) for status in statuses)
