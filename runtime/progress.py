"""What one cell goes through while its step runs, told to the recorder."""

from __future__ import annotations

from typing import cast

from runtime.events import CellStatus
from runtime.ports import Cell
from runtime.recorder import Recorder
from runtime.rows import RowRun
from runtime.tools import Failed, Hit, Miss, Outcome, ToolSpec
from runtime.tracesteps import Told
from runtime.values import MISSING, Json


class CellProgress:
    """The states of one field of one row, and every attempt that was made for it."""

    __slots__ = (
        "_column", "_recorder", "_row", "attempts", "field", "is_exhausted", "is_partial", "told"
    )  # fmt: skip

    def __init__(self, recorder: Recorder, row: RowRun, field: str, *, column: str = "") -> None:
        self._recorder = recorder
        self._row = row
        self._column = column
        self.field = field
        self.attempts: list[dict[str, Json]] = []
        self.is_exhausted = False
        self.is_partial = False
        self.told: list[Told] = []

    @property
    def frame(self) -> int:
        """The frame of its row."""
        return self._row.frame

    @property
    def position(self) -> int:
        """The position of its row."""
        return self._row.position

    @property
    def has_missed(self) -> bool:
        """Whether a call found nothing, or a waterfall had nobody left to ask."""
        return self.is_exhausted or any(each["status"] == "no_result" for each in self.attempts)

    def of_step(self, column: str) -> CellProgress:
        """Give the progress of a call of one step of an inline waterfall, whose column shows it, too."""
        step = CellProgress(self._recorder, self._row, self.field, column=column)
        step.attempts = self.attempts
        return step

    def computing(self) -> None:
        """The step's own code runs, and no call of it is open."""
        self._row_cell({"status": CellStatus.RUNNING})

    def queued(self, spec: ToolSpec) -> None:
        """A call of this cell waits in its lane."""
        self._tell(CellStatus.QUEUED, spec)

    def running(self, spec: ToolSpec) -> None:
        """The request with the call has left."""
        self._tell(CellStatus.RUNNING, spec)

    def waiting(self, spec: ToolSpec, until: float) -> None:
        """The call must not be repeated before ``until`` (Unix time)."""
        reason = f"{spec.provider} asked to wait"
        self._row_cell({**_waiting(spec.id, reason, until), "provider": spec.provider})

    def rests(self, stage: str, reason: str, until: float) -> None:
        """The field waits, for an answer or until ``until`` (Unix time)."""
        self._row_cell(_waiting(stage, reason, until))

    def answered(self, spec: ToolSpec, outcome: Outcome) -> None:
        """A call of this cell has its outcome."""
        attempt: dict[str, Json] = {
            "tool": spec.id,
            "provider": spec.provider,
            "call": outcome.call,
        }
        match outcome:
            case Hit():
                attempt |= {
                    "status": "completed",
                    "source": outcome.source,
                    "credits": outcome.credits,
                }
            case Miss():
                attempt |= {
                    "status": "no_result",
                    "source": outcome.source,
                    "credits": outcome.credits,
                }
            case Failed():
                attempt |= {
                    "status": "failed",
                    "error": outcome.message,
                    "category": outcome.category,
                }
        self.attempts.append(attempt)
        self.computing()

    def part(self, column: str, status: CellStatus, value: Json = MISSING, **known: Json) -> None:
        """Tell the state of one step of an inline waterfall, shown in a column of its own."""
        told = {"status": status, "part_of": self.field, **known}
        self._recorder.cell(self._row, column, cast("Cell", told), value)

    def _tell(self, status: CellStatus, spec: ToolSpec) -> None:
        self._row_cell({"status": status, "stage": spec.id, "provider": spec.provider})

    def _row_cell(self, cell: Cell) -> None:
        self._recorder.cell(self._row, self.field, cell)
        if self._column:
            self._recorder.cell(self._row, self._column, {**cell, "part_of": self.field})


def _waiting(stage: str, reason: str, until: float) -> Cell:
    return {"status": CellStatus.WAITING, "stage": stage, "reason": reason, "at": until}
