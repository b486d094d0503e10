"""What pages show of plays: the list, and a play's revisions and differences."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery

from plays.models import Play, Revision, Run, Workspace
from plays.selectors.progress import Progress, runs_progress

COMPARED_LINES = 20_000
"""Longer texts are not compared: the time for it grows with the square of their length."""


@dataclass(frozen=True, slots=True)
class PlayLine:
    """One line of the list of plays."""

    play: Play
    last_run: Run | None
    progress: Progress
    run_count: int


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference: ``kind`` is added, removed, same or gap."""

    kind: str
    old: int | None
    new: int | None
    text: str


def plays_listed(workspace: Workspace) -> list[PlayLine]:
    """Give a workspace's plays by name, each with its last run and what that run found."""
    newest = Run.objects.filter(play=OuterRef("pk"), parent=None).order_by("-created_at")
    plays = list(
        workspace.plays.select_related("live", "live__created_by")
        .annotate(last_run_id=Subquery(newest.values("pk")[:1]), run_count=Count("runs"))
        .order_by("name")
    )
    ids = [play.last_run_id for play in plays if play.last_run_id]
    runs = Run.objects.defer("input", "result", "error").in_bulk(ids)
    progress = runs_progress(ids)
    return [
        PlayLine(
            play=play,
            last_run=runs.get(play.last_run_id),
            progress=progress.get(play.last_run_id, Progress()),
            run_count=play.run_count,
        )
        for play in plays
    ]


def revisions_of(play: Play) -> QuerySet[Revision]:
    """Give a play's revisions, the newest first, without their texts."""
    return play.revisions.select_related("created_by").defer("source", "pipeline", "input_schema")


def revision_before(revision: Revision) -> Revision | None:
    """Give the revision before this one, or None for the first."""
    earlier = Revision.objects.filter(play=revision.play_id, number__lt=revision.number)
    return earlier.order_by("-number").first()


def revision_difference(old: str, new: str) -> list[DiffLine] | None:
    """Compare two texts line by line with three lines around each change; None: too long for it."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > COMPARED_LINES:
        return None
    groups = difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(3)
    lines: list[DiffLine] = []
    for group in groups:
        if lines or group[0][1] > 0:
            lines.append(DiffLine("gap", None, None, ""))
        for tag, i1, i2, j1, j2 in group:
            lines += _block(tag, before, after, (range(i1, i2), range(j1, j2)))
    return lines


def _block(
    tag: str, before: list[str], after: list[str], spans: tuple[range, range]
) -> list[DiffLine]:
    olds, news = spans
    if tag == "equal":
        return [DiffLine("same", i + 1, j + 1, before[i]) for i, j in zip(olds, news, strict=True)]
    removed = [DiffLine("removed", i + 1, None, before[i]) for i in olds]
    return removed + [DiffLine("added", None, j + 1, after[j]) for j in news]
