"""Runs a map: its rows are loaded and sealed, then claimed and run a window at a time.

A crash before the seal loads the rows again; after it the stored rows win. A row that is done leaves
memory. A row's failure is that row's: the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from runtime.activity import Worker
from runtime.datasets import Dataset, frame_dataset
from runtime.errors import RowsFailed
from runtime.events import CellStatus, RowStatus, RunStatus
from runtime.fields import Field, fill
from runtime.loader import load_rows
from runtime.plan import MapPlan
from runtime.ports import Cell, ClaimedRow, FieldForm
from runtime.program import Step
from runtime.rows import RowRun
from runtime.session import Session
from runtime.values import canonical_bytes

WINDOW_ROWS = 2_000
WINDOW_BYTES = 64 * 1024 * 1024
CLAIM_ROWS = 500
PATIENCE_SECONDS = 5.0
"""How long room for less than a group may stand free while the window is busy."""


async def run_map(session: Session, plan: MapPlan, source: Any, ctx: Any) -> Dataset:
    """Run the program over all rows; give their dataset once every row is settled.

    Raises KeyInvalid, DuplicateRowKeys and NotJson before any row runs; RowsFailed with
    ``on_row_error="fail"`` after all rows settled.
    """
    fields = [_field(plan, step) for step in plan.steps]
    frame, columns, total = await load_rows(session, plan, [field.form for field in fields], source)
    session.recorder.log(
        f"{plan.where}: {_count(total, 'row')}, {_count(len(_visible(plan.steps)), 'field')}"
    )
    failed = await _Admission(session, plan, fields, frame).run(ctx)
    await session.recorder.committed()
    if failed and plan.on_row_error == "fail":
        raise RowsFailed(
            f"{plan.where}: {failed:,} of {total:,} rows failed; open their cells for the reasons"
        )
    output = [*columns, *(name for name in _visible(plan.steps) if name not in columns)]
    dataset = frame_dataset(session, frame, namespace=plan.namespace, columns=output, count=total)
    dataset.preview = await dataset.peek()
    return dataset


def _field(plan: MapPlan, step: Step) -> Field:
    form = FieldForm(
        name=step.name,
        digest=plan.digest_of(step.resolver),
        stale_after_seconds=step.stale_after_seconds,
        parts=[],
    )
    return Field(step, form, plan.where)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _visible(steps: Sequence[Step]) -> list[str]:
    return [step.name for step in steps if not step.is_hidden]


class _Admission:
    """Claims rows and runs each in a task of its own, as many at once as the window admits."""

    def __init__(self, session: Session, plan: MapPlan, fields: list[Field], frame: int) -> None:
        self._session = session
        self._plan = plan
        self._fields = fields
        self._frame = frame
        self._active = 0
        self._bytes = 0
        self._failed = 0
        self._has_more = False
        self._ended = asyncio.Event()

    async def run(self, ctx: Any) -> int:
        """Run until no row is left; give the number that failed in this engine."""
        admitter = Worker(self._session.activity)
        try:
            async with asyncio.TaskGroup() as tasks:
                while claimed := await self._claim(admitter):
                    for row in claimed:
                        self._start(tasks, row, ctx)
        finally:
            self._expect(False)
            admitter.end()
        return self._failed

    def _expect(self, has_more: bool) -> None:
        """Tell the lanes whether rows are still to be admitted."""
        self._session.activity.maps_with_more += has_more - self._has_more
        self._has_more = has_more

    async def _claim(self, admitter: Worker) -> list[ClaimedRow]:
        admitter.wait()
        await self._room()
        admitter.resume()
        while not (claimed := await self._next(self._free())):
            if not self._active:
                return []
            admitter.wait()
            await self._one_ended()
            admitter.resume()
        return claimed

    async def _next(self, n: int) -> list[ClaimedRow]:
        claimed = await self._session.ports.rows.claim(self._frame, n)
        self._expect(len(claimed) == n)
        return claimed

    def _free(self) -> int:
        return min(CLAIM_ROWS, WINDOW_ROWS - self._active)

    async def _room(self) -> None:
        """Wait until a whole group fits, or some room stood free for PATIENCE_SECONDS.

        Rows are admitted by the group, so that their first calls fill batches.
        """
        await self._session.recorder.room()
        while self._is_full() or self._free() < CLAIM_ROWS:
            if self._is_full():
                await self._one_ended()
            elif not await self._ended_within(PATIENCE_SECONDS):
                return

    def _is_full(self) -> bool:
        return self._active >= WINDOW_ROWS or self._bytes >= WINDOW_BYTES

    async def _one_ended(self) -> None:
        self._ended.clear()
        await self._ended.wait()

    async def _ended_within(self, seconds: float) -> bool:
        """Wait for rows to end until there is room for a group; False: the time is over."""
        timer = asyncio.ensure_future(self._session.ports.clock.sleep(seconds))
        try:
            while self._free() < CLAIM_ROWS:
                self._ended.clear()
                ended = asyncio.ensure_future(self._ended.wait())
                done, _ = await asyncio.wait({timer, ended}, return_when=asyncio.FIRST_COMPLETED)
                ended.cancel()
                if timer in done:
                    return False
            return True
        finally:
            timer.cancel()

    def _start(self, tasks: asyncio.TaskGroup, claimed: ClaimedRow, ctx: Any) -> None:
        worker = Worker(self._session.activity)
        row = RowRun(claimed, frame=self._frame, place=self._plan.place, worker=worker)
        size = len(canonical_bytes(claimed["input"]))
        self._active += 1
        self._bytes += size
        tasks.create_task(self._run_row(row, size, ctx), name=f"row {row.position}")

    async def _run_row(self, row: RowRun, size: int, ctx: Any) -> None:
        try:
            await self._fill(row, ctx)
            await self._session.recorder.room()
        finally:
            row.worker.end()
            self._active -= 1
            self._bytes -= size
            self._ended.set()

    async def _fill(self, row: RowRun, ctx: Any) -> None:
        recorder = self._session.recorder
        index = -1
        try:
            for index, field in enumerate(self._fields):
                if not await fill(self._session, field, row, ctx):
                    self._fail(row, index)
                    return
        except asyncio.CancelledError:
            self._stopped(row, index)
            raise
        recorder.row(row, RowStatus.COMPLETED)
        recorder.count("rows_done")

    def _fail(self, row: RowRun, index: int) -> None:
        recorder = self._session.recorder
        reason = f"after {self._fields[index].name}"
        for field in self._fields[index + 1 :]:
            recorder.cell(row, field.name, Cell(status=CellStatus.SKIPPED, reason=reason))
        recorder.row(row, RowStatus.FAILED)
        recorder.count("rows_failed")
        self._failed += 1

    def _stopped(self, row: RowRun, index: int) -> None:
        """The run stands still or was cancelled: what this row was doing is no longer true."""
        stop = self._session.halt.stop
        is_cancelled = stop is not None and stop.status is RunStatus.CANCELLED
        status = CellStatus.CANCELLED if is_cancelled else CellStatus.QUEUED
        recorder = self._session.recorder
        recorder.cell(row, self._fields[index].name, Cell(status=status))
        recorder.row(row, RowStatus.CANCELLED if is_cancelled else RowStatus.PENDING)
