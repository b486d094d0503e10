"""What an operator may ask of a run, in the words of its confirmation."""

from __future__ import annotations

from plays.admin.confirming import Change
from plays.models import Run, RunStatus
from plays.services.requeue import ON_THEIR_WAY, is_root, run_requeue
from plays.services.runs import run_cancel, run_pause, run_resume


def _is_live(run: Run) -> bool:
    return is_root(run) and run.is_live


def _is_on_its_way(run: Run) -> bool:
    return is_root(run) and run.status in ON_THEIR_WAY


def _is_paused(run: Run) -> bool:
    return is_root(run) and run.status == RunStatus.PAUSED


PAUSE = Change(
    name="pause",
    label="Pause",
    consequence=(
        "No further call leaves, rows that run are stopped, and what was found is kept. Resuming goes on"
        " from there."
    ),
    done="Asked to pause.",
    do=run_pause,
    suits=_is_on_its_way,
)
RESUME = Change(
    name="resume",
    label="Resume",
    consequence="The run goes to the queue and on from where it stopped. It may spend credits again.",
    done="Resumed.",
    do=run_resume,
    suits=_is_paused,
)
REQUEUE = Change(
    name="requeue",
    label="Re-queue",
    consequence=(
        "The run is taken from whichever worker holds it and goes to the end of the queue. For runs that"
        " do not move: what is committed is kept, and no call that was sent is sent again."
    ),
    done="Put back in the queue.",
    do=run_requeue,
    suits=_is_on_its_way,
)
CANCEL = Change(
    name="cancel",
    label="Cancel",
    consequence="The run ends. What was found is kept, but it cannot go on; a retry is a new run.",
    done="Asked to cancel.",
    do=run_cancel,
    suits=_is_live,
)

RUN_CHANGES = (PAUSE, RESUME, REQUEUE, CANCEL)
