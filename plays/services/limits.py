"""What administrators change about limits: the profiles, and the limits of a run that is on its way.

A profile acts on the runs that start after it was stored, because each run keeps a copy. The copy of a root
run holds for its whole tree; the gateway reads it with every reservation, so a raised limit acts at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import F

from plays import live
from plays.models import GovernanceProfile, Run
from plays.models.run import LIVE
from plays.services.refusals import Refused
from plays.services.requeue import is_root

Limit = int | float | None
"""A limit's value; None: no limit."""


@dataclass(frozen=True)
class Raised:
    """One limit that was raised."""

    name: str
    old: Limit
    new: Limit

    def __str__(self) -> str:
        return f"{self.name} from {self.old_worded} to {self.new_worded}"

    @property
    def old_worded(self) -> str:
        return worded(self.old)

    @property
    def new_worded(self) -> str:
        return worded(self.new)


def run_limits_raise(run: Run, limits: Mapping[str, Limit]) -> list[Raised]:
    """Raise limits of a root run; returns what was raised, in the order of the run's limits.

    Limits that are given with the value that they have are left alone. Raises Refused, and changes nothing,
    where one would be lowered or is unknown, where the run is over or not the root of its tree, and
    where somebody else changed its limits since ``run`` was read.
    """
    raised = limits_compared(run, limits)
    if not raised:
        return []
    still = Run.objects.filter(pk=run.pk, limits=run.limits, status__in=LIVE)
    new = run.limits | {limit.name: limit.new for limit in raised}
    changed = still.update(limits=new, sequence=F("sequence") + 1)
    if not changed:
        raise Refused("Somebody changed this run meanwhile: look at its limits again.")
    live.hint(run.pk, run.sequence + 1)
    return raised


def limits_compared(run: Run, limits: Mapping[str, Limit]) -> list[Raised]:
    """Return what :func:`run_limits_raise` would raise. Raises Refused as it does; changes nothing."""
    if not run.is_live:
        raise Refused(f"This run is {run.get_status_display()}: its limits mean nothing any more.")
    if not is_root(run):
        raise Refused(
            "Limits belong to the root run and hold for its whole tree: raise them there."
        )
    if unknown := sorted(limits.keys() - run.limits.keys()):
        raise Refused(f"This run has no limit named {', '.join(unknown)}.")
    raised = [
        Raised(name, old, limits[name])
        for name, old in run.limits.items()
        if name in limits and limits[name] != old
    ]
    for limit in raised:
        if not is_higher(limit.new, limit.old):
            raise Refused(f"{limit.name} is {worded(limit.old)}; it can be raised, not lowered.")
    return raised


def is_higher(new: Limit, old: Limit) -> bool:
    """Whether a limit allows more than another; no limit at all allows the most."""
    return old is not None and (new is None or new > old)


def worded(limit: Limit) -> str:
    """Return a limit as people read it."""
    return "no limit" if limit is None else f"{Decimal(str(limit)).normalize():f}"


def profile_save(profile: GovernanceProfile) -> None:
    """Store a profile; where it is to be the default, the one that was is no longer.

    Runs that have started keep their limits. Raises IntegrityError where two people make two different
    profiles the default at once: one of them wins whole.
    """
    with transaction.atomic():
        if profile.is_default:
            others = GovernanceProfile.objects.exclude(pk=profile.pk)
            others.filter(is_default=True).update(is_default=False)
        profile.save()
