"""Runs a map: its rows are loaded and sealed, then admitted and run, each field in order.

A crash before the seal loads the rows again; after it the stored rows win. A row's failure is that
row's: the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from runtime.admission import Admission
from runtime.datasets import Dataset, frame_dataset
from runtime.errors import RowsFailed
from runtime.events import CellStatus, RowStatus, RunStatus
from runtime.fields import Field, fill
from runtime.loader import load_rows
from runtime.plan import MapPlan
from runtime.ports import Cell, FailedRows, FieldForm
from runtime.program import Step
from runtime.rows import RowRun
from runtime.scope import current
from runtime.session import Session
from runtime.trace import MapTrace


async def run_map(session: Session, plan: MapPlan, source: Any, ctx: Any) -> Dataset:
    """Run the program over all rows; give their dataset once every row is settled.

    Raises KeyInvalid, DuplicateRowKeys and NotJson before any row runs; RowsFailed with
    ``on_row_error="fail"`` after all rows settled.
    """
    with session.trace.map(current.get(), plan) as traced:
        return await _run(session, plan, traced, source, ctx)


async def _run(session: Session, plan: MapPlan, traced: MapTrace, source: Any, ctx: Any) -> Dataset:
    fields = [_field(plan, step) for step in plan.steps]
    with session.waits.busy():
        forms = [field.form for field in fields]
        frame, columns, total, settled = await load_rows(session, plan, forms, source)
    traced.opened(frame, total, settled)
    mapped = _MapRun(session, fields, traced, ctx)
    await Admission(session, frame, place=plan.place, run_row=mapped.run_row).run()
    await session.recorder.committed()
    if plan.on_row_error == "fail" and (failed := await session.ports.rows.failed(frame)):
        raise RowsFailed(_told(plan, failed, total))
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


def _told(plan: MapPlan, failed: FailedRows, total: int) -> str:
    step = failed["error"].get("step", failed["field"])
    return (
        f"{plan.where}: {failed['rows']:,} of {total:,} rows failed, first step {step!r} of row"
        f" {failed['position'] + 1:,}: {failed['error'].get('message', '')}"
    )


def _visible(steps: Sequence[Step]) -> list[str]:
    return [step.name for step in steps if not step.is_hidden]


class _MapRun:
    """One map while it runs: what its rows do."""

    def __init__(self, session: Session, fields: list[Field], traced: MapTrace, ctx: Any) -> None:
        self._session = session
        self._fields = fields
        self._traced = traced
        self._ctx = ctx

    async def run_row(self, row: RowRun) -> None:
        """Fill the row's fields in order; all that comes of it is recorded."""
        recorder = self._session.recorder
        index = -1
        try:
            for index, field in enumerate(self._fields):
                if not await fill(self._session, field, row, self._ctx):
                    self._fail(row, index)
                    return
        except asyncio.CancelledError:
            self._stopped(row, index)
            raise
        recorder.row(row, RowStatus.COMPLETED)
        self._traced.row(RowStatus.COMPLETED)
        recorder.count("rows_done")

    def _fail(self, row: RowRun, index: int) -> None:
        recorder = self._session.recorder
        reason = f"after {self._fields[index].name}"
        for field in self._fields[index + 1 :]:
            recorder.cell(row, field.name, Cell(status=CellStatus.SKIPPED, reason=reason))
        recorder.row(row, RowStatus.FAILED)
        self._traced.row(RowStatus.FAILED)
        recorder.count("rows_failed")

    def _stopped(self, row: RowRun, index: int) -> None:
        """The run stands still or was cancelled, or the row leaves memory for a while."""
        recorder = self._session.recorder
        stop = self._session.halt.stop
        if stop is None and row.wake_at is not None:
            recorder.row(row, RowStatus.WAITING, wake_at=row.wake_at)
            return
        is_cancelled = stop is not None and stop.status is RunStatus.CANCELLED
        status = CellStatus.CANCELLED if is_cancelled else CellStatus.QUEUED
        recorder.cell(row, self._fields[index].name, Cell(status=status))
        recorder.row(row, RowStatus.CANCELLED if is_cancelled else RowStatus.PENDING)
