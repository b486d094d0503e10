"""Runs, who executes them, and what they spent."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from plays.models.access import Workspace
from plays.models.play import Play, Revision

LIVE = ("queued", "running", "waiting", "paused")


class RunStatus(models.TextChoices):
    """As ``runtime.events.RunStatus``."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    COMPLETED_WITH_FAILURES = "completed_with_failures", "completed with failures"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunRequest(models.TextChoices):
    """What a person asks of a running run; the worker's lease renewal hears it."""

    NONE = "none"
    PAUSE = "pause"
    CANCEL = "cancel"


class Run(models.Model):
    """One execution of one revision.

    ``limits`` is the run's own copy of its profile's limits. ``retry_of`` and ``selection`` (which
    rows and fields) make a retry. ``fresh_after``: ledger answers older than this are too old for
    this run. ``sequence`` grows with each commit. ``left_out`` names providers that a person
    excluded. ``writes`` are marks of the engine's newest commits, by which one whose answer was lost
    is found again.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="runs")
    play = models.ForeignKey(Play, on_delete=models.CASCADE, related_name="runs")
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="runs")
    input = models.JSONField(default=dict)
    status = models.CharField(max_length=24, choices=RunStatus.choices, default=RunStatus.QUEUED)
    requested = models.CharField(max_length=8, choices=RunRequest.choices, default=RunRequest.NONE)
    stop_reason = models.CharField(max_length=16, blank=True)
    stop_message = models.TextField(blank=True)
    sequence = models.BigIntegerField(default=0)
    counters = models.JSONField(default=dict)
    limits = models.JSONField(default=dict)
    result = models.JSONField(null=True)
    error = models.JSONField(null=True)
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="children")
    root = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="tree")
    retry_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="retries"
    )
    selection = models.JSONField(default=dict)
    left_out = models.JSONField(default=list)
    fresh_after = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    queued_at = models.DateTimeField(default=timezone.now)
    writes = ArrayField(models.BigIntegerField(), null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["status", "queued_at"], name="run_by_status"),
            models.Index(fields=["workspace", "-created_at"], name="run_newest_first"),
            models.Index(fields=["-created_at"], name="run_newest_of_all"),
        ]

    def __str__(self) -> str:
        return f"{self.play.name} {str(self.id)[:8]}"

    @property
    def is_live(self) -> bool:
        """Whether this run may still change."""
        return self.status in LIVE

    def change(self, old: tuple[str, ...] | str, new: str, **columns: Any) -> bool:
        """Go from one of ``old`` to ``new`` by compare-and-set; False: somebody else was first.

        The sequence grows with it, so that every page that watches this run hears of it.
        """
        statuses = (old,) if isinstance(old, str) else old
        changed = Run.objects.filter(pk=self.pk, status__in=statuses).update(
            status=new, sequence=models.F("sequence") + 1, **columns
        )
        return changed == 1

    def request(self, what: str) -> bool:
        """Ask the worker of a running run to pause or cancel; False: it is not running."""
        asked = Run.objects.filter(pk=self.pk, status=RunStatus.RUNNING).update(
            requested=what, sequence=models.F("sequence") + 1
        )
        return asked == 1


class RunParticipant(models.Model):
    """Who executes a run: one row per role, whose epoch grows with each claim.

    A writer must hold the current epoch and a live lease (by the database's clock). ``isolation``
    says what keeps its play's process apart from the machine.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="participants")
    role = models.CharField(max_length=16, default="engine")
    epoch = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(db_default=Now())
    worker = models.CharField(max_length=200, blank=True)
    isolation = models.CharField(max_length=60, blank=True, db_default="")
    claimed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "role"], name="one_participant_of_a_role"),
        ]


class RunUsage(models.Model):
    """What a root run's whole tree spent. Only the gateway and receipts write it.

    Apart from Run, so that reserving a call never waits for a commit of cells.
    """

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="usage"
    )
    tool_calls = models.BigIntegerField(default=0)
    retries = models.BigIntegerField(default=0)
    waterfall_steps = models.BigIntegerField(default=0)
    play_calls = models.BigIntegerField(default=0)
    descendants = models.BigIntegerField(default=0)
    credits_reserved = models.DecimalField(max_digits=16, decimal_places=4, default=0)
    credits_spent = models.DecimalField(max_digits=16, decimal_places=4, default=0)
    requests = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = verbose_name_plural = "usage"


class ChildUsage(models.Model):
    """How many child plays one play of a root run's tree has called; claims of receipts count them.

    ``parent`` is the durable place of the play that calls.
    """

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="child_usage", db_index=False
    )
    parent = models.TextField()
    play_calls = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "parent"], name="one_count_of_a_parent"),
        ]


class LogLine(models.Model):
    """One line of a run's log, bounded per run by the writer."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="log_lines", db_index=False)
    sequence = models.BigIntegerField()
    at = models.DateTimeField()
    level = models.CharField(max_length=8)
    text = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["run", "id"], name="log_by_run")]


class TraceStep(models.Model):
    """One step of a run's trace; ``id`` orders steps as they began.

    ``parent`` is the key of the step that it stands below, "" at the top. ``told`` is what is known of
    the step itself, ``counts`` count all its results by status, ``results`` are the first 25 of them
    (runtime.ports.TraceResult).
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="trace", db_index=False)
    key = models.CharField(max_length=32)
    parent = models.CharField(max_length=32, blank=True)
    sequence = models.BigIntegerField()
    told = models.JSONField(default=dict)
    counts = models.JSONField(default=dict)
    results = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "key"], name="one_trace_step_of_a_key"),
        ]
        indexes = [models.Index(fields=["run", "id"], name="trace_by_run")]
