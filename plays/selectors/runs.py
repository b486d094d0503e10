"""What pages show of runs: lists, filtered by play and status, with how far each run is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from plays.models import Play, Run, RunStatus, Workspace
from plays.selectors.progress import Progress, runs_progress


@dataclass(frozen=True, slots=True)
class RunLine:
    """One line of a list of runs."""

    run: Run
    progress: Progress


def runs_listed(
    workspace: Workspace, *, status: str | None = None, play: Play | None = None
) -> QuerySet[Run]:
    """Give a workspace's runs, the newest first, without those that other runs started.

    ``status`` is a status word; an unknown one gives all.
    """
    runs = _light(Run.objects.filter(workspace=workspace, parent=None))
    if play is not None:
        runs = runs.filter(play=play)
    if status in RunStatus.values:
        runs = runs.filter(status=status)
    return runs


def runs_of_play(play: Play, n: int) -> list[RunLine]:
    """Give a play's newest runs, at most ``n``."""
    return run_lines(_light(play.runs.filter(parent=None))[:n])


def run_lines(runs: Iterable[Run]) -> list[RunLine]:
    """Give these runs with their progress, in one more query."""
    shown = list(runs)
    progress = runs_progress([run.pk for run in shown])
    return [RunLine(run, progress.get(run.pk, Progress())) for run in shown]


def _light(runs: QuerySet[Run]) -> QuerySet[Run]:
    heavy = ("input", "result", "error", "revision__source", "revision__pipeline")
    return (
        runs.select_related("play", "revision", "created_by", "usage")
        .defer(*heavy, "revision__input_schema")
        .order_by("-created_at")
    )
