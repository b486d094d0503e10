"""One look at a run, for the sockets that watch it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from plays.models import LogLine, Run
from plays.selectors.grid.rows import rows_changed
from plays.selectors.grid.summary import run_frames, run_state

LOG_TAIL = 200
"""The newest log lines that one look brings; older ones are read by page."""


@dataclass(frozen=True, slots=True)
class RunLook:
    """What changed in a run above a sequence.

    ``sequence`` is the run's, read first: everything up to it is in this look. ``state`` is None
    where nothing changed. ``rows`` are patches by the row's primary key.
    """

    sequence: int
    is_live: bool
    state: dict[str, Any] | None = None
    frames: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    logs: list[dict[str, Any]] = field(default_factory=list)


def run_look(run_id: UUID, since: int, shown: frozenset[int]) -> RunLook:
    """Look at what changed above ``since`` (0: the run as it is), with patches of the shown rows.

    A run that is gone gives a look without anything.
    """
    run = Run.objects.select_related("root").filter(pk=run_id).first()
    if run is None:
        return RunLook(since, is_live=False)
    if since and run.sequence == since:
        return RunLook(since, run.is_live)
    return RunLook(
        run.sequence,
        run.is_live,
        run_state(run),
        run_frames(run),
        rows_changed(run_id, shown, since),
        log_tail(run_id, since),
    )


def log_tail(run_id: UUID, since: int) -> list[dict[str, Any]]:
    """Give the newest 200 log lines that were committed above ``since``, oldest first."""
    newest = LogLine.objects.filter(run_id=run_id).order_by("-id")[:LOG_TAIL]
    return [log_line(line) for line in reversed(newest) if line.sequence > since]


def log_page(
    run_id: UUID, *, before: int | None = None, search: str = "", level: str = ""
) -> list[dict[str, Any]]:
    """Give up to 200 log lines in order that precede the line ``before`` and fit the rest."""
    lines = LogLine.objects.filter(run_id=run_id)
    if before is not None:
        lines = lines.filter(pk__lt=before)
    if search:
        lines = lines.filter(text__icontains=search)
    if level:
        lines = lines.filter(level=level)
    return [log_line(line) for line in reversed(lines.order_by("-id")[:LOG_TAIL])]


def log_line(line: LogLine) -> dict[str, Any]:
    """Give one log line; ``at`` in ISO 8601."""
    return {
        "id": line.pk,
        "at": line.at.isoformat(),
        "level": line.level,
        "text": line.text,
    }
