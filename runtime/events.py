"""The status words of runs, rows and cells: one enum each, used by engine, stores and pages alike."""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    COMPLETED_WITH_FAILURES = "completed_with_failures"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self in FINAL_RUN


class RowStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CellStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    CACHED = "cached"
    MANUAL = "manual"
    MISSED = "missed"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether this cell has its outcome."""
        return self not in UNFINISHED_CELL


class Request(StrEnum):
    """What a person, or the loss of the lease, asks of a running engine."""

    NONE = "none"
    PAUSE = "pause"
    CANCEL = "cancel"
    LEASE_LOST = "lease_lost"


class StopReason(StrEnum):
    """Why a run stands still or ended early; ``stop_message`` beside it is the sentence."""

    PERSON = "person"
    LIMIT = "limit"
    PROVIDER = "provider"
    DEADLINE = "deadline"
    LEASE_LOST = "lease_lost"
    WAITS = "waits"
    ISOLATION = "isolation"


FINAL_RUN = frozenset(
    {
        RunStatus.COMPLETED,
        RunStatus.COMPLETED_WITH_FAILURES,
        RunStatus.FAILED,
        RunStatus.CANCELLED,
    }
)
UNFINISHED_CELL = frozenset({CellStatus.QUEUED, CellStatus.RUNNING, CellStatus.WAITING})
