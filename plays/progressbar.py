"""The progress of a run on a terminal, read from its maps' counts."""

from __future__ import annotations

import asyncio
from types import TracebackType
from uuid import UUID

from tqdm import tqdm

from plays.models import MapFrame
from plays.playhost.orm import OrmThread

LOOK_SECONDS = 0.5
SETTLED = ("completed", "failed", "cancelled")


class ProgressBar:
    """One bar over all rows of a run's maps, on standard error; without ``is_shown`` it is silent."""

    def __init__(self, run: UUID, *, is_shown: bool) -> None:
        self._run = run
        self._is_shown = is_shown
        self._bar = tqdm(total=0, unit=" rows", disable=not is_shown)

    async def follow(self, orm: OrmThread) -> None:
        """Show the counts until cancelled."""
        while self._is_shown:
            self._show(await orm.read(self._counts))
            await asyncio.sleep(LOOK_SECONDS)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_shown:
            self._show(self._counts())
        self._bar.close()

    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        frames = MapFrame.objects.filter(run=self._run, is_sealed=True)
        for totals in frames.values_list("row_totals", flat=True):
            for status, n in totals.items():
                counts[status] = counts.get(status, 0) + n
        return counts

    def _show(self, counts: dict[str, int]) -> None:
        self._bar.total = sum(counts.values())
        self._bar.n = sum(counts.get(status, 0) for status in SETTLED)
        failed = counts.get("failed", 0)
        self._bar.set_postfix_str(f"{failed:,} failed" if failed else "", refresh=False)
        self._bar.refresh()
