"""What a host knows of the run that it serves, and its play process must not all know."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from plays.gateway import tokens
from plays.models import Run
from plays.playhost.library import source_json
from plays.stores import Participant
from runtime.engine import RunForm

Json = Any


@dataclass(frozen=True, slots=True)
class Ticket:
    """One epoch of one run.

    ``form`` (``RunForm.to_json``), ``source`` and ``input`` go to the play process; ``token`` and
    ``workspace`` never do. Answers from before ``fresh_after`` are too old for the whole run.
    """

    participant: Participant
    root: UUID
    workspace: int
    form: dict[str, Json]
    source: dict[str, Json]
    input: dict[str, Json]
    started_at: datetime
    fresh_after: datetime | None
    token: str = field(repr=False)

    def oldest_answer(self, stale_after_seconds: float | None) -> datetime | None:
        """Give the moment before which answers are too old for a call; None: none is."""
        moments = [self.fresh_after]
        if stale_after_seconds is not None:
            moments.append(self.started_at - timedelta(seconds=stale_after_seconds))
        return max((moment for moment in moments if moment is not None), default=None)


def ticket_of(participant: Participant) -> Ticket:
    """Read what a claimed run needs. Limits are those of the root of its tree."""
    run = Run.objects.select_related("revision", "play", "root").get(pk=participant.run)
    root = run.root or run
    form = RunForm(
        id=str(run.pk),
        play=run.play.name,
        limits=root.limits,
        left_out=tuple(run.left_out),
        selection=run.selection,
    )
    return Ticket(
        participant=participant,
        root=root.pk,
        workspace=run.workspace_id,
        form=form.to_json(),
        source=source_json(run.revision),
        input=run.input,
        started_at=run.started_at or run.created_at,
        fresh_after=run.fresh_after,
        token=tokens.issue(str(run.pk), participant.epoch),
    )
