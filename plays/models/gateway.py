"""The gateway's ledger, and what administrators set: limits and tool policies."""

from __future__ import annotations

from django.db import models

from plays.models.access import Workspace
from plays.models.run import Run


class ToolCall(models.Model):
    """One line of the ledger: a call, keyed by what makes two calls the same.

    ``claimed`` is written before the provider is called and is believed until ``claimed_until``. A
    failure releases the claim (``failed``) and is never given as an answer. ``attempts`` counts
    provider requests.
    """

    class Status(models.TextChoices):
        CLAIMED = "claimed"
        SUBMITTED = "submitted"
        COMPLETED = "completed"
        NO_RESULT = "no_result", "no result"
        FAILED = "failed"
        IN_DOUBT = "in_doubt", "in doubt"

    key = models.CharField(max_length=64, primary_key=True)
    # No constraints in the database: they cost a lock on the run's row for every call, and that
    # row is written with each commit of cells.
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="tool_calls", db_constraint=False
    )
    run = models.ForeignKey(
        Run,
        on_delete=models.SET_NULL,
        null=True,
        related_name="tool_calls",
        db_index=False,
        db_constraint=False,
    )
    tool = models.CharField(max_length=100)
    provider = models.CharField(max_length=50)
    input = models.JSONField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.CLAIMED)
    claim = models.UUIDField(null=True, help_text="Who holds the claim.")
    claimed_until = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    result = models.JSONField(null=True)
    error = models.JSONField(null=True)
    credits = models.DecimalField(max_digits=12, decimal_places=4, default=0)
    reserved = models.DecimalField(max_digits=12, decimal_places=4, default=0)
    latency_ms = models.IntegerField(null=True)
    batch_size = models.IntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["run", "-created_at"], name="call_by_run"),
            models.Index(fields=["tool", "-created_at"], name="call_by_tool"),
            models.Index(fields=["-created_at"], name="call_newest_of_all"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.key[:8]}"


class GovernanceProfile(models.Model):
    """Limits that new runs copy. Null: no limit."""

    name = models.CharField(max_length=100, unique=True)
    is_default = models.BooleanField(default=False)
    max_play_call_depth = models.PositiveIntegerField(default=6)
    max_play_call_count = models.PositiveIntegerField(default=32)
    max_play_calls_per_row = models.PositiveIntegerField(default=1)
    max_child_play_calls_per_parent = models.PositiveIntegerField(default=16)
    max_child_play_calls_per_row = models.PositiveIntegerField(default=1)
    max_descendants = models.PositiveIntegerField(default=64)
    max_descendants_per_row = models.PositiveIntegerField(default=1)
    max_concurrent_play_calls = models.PositiveIntegerField(default=16)
    max_tool_call_count = models.PositiveIntegerField(default=500)
    max_tool_calls_per_row = models.PositiveIntegerField(default=20)
    max_waterfall_step_executions = models.PositiveIntegerField(null=True, blank=True)
    max_retry_count = models.PositiveIntegerField(default=200)
    max_retries_per_row = models.PositiveIntegerField(default=2)
    max_concurrent_tool_calls = models.PositiveIntegerField(default=32)
    max_credits = models.DecimalField(max_digits=14, decimal_places=4, null=True, blank=True)
    max_runtime_seconds = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=models.Q(is_default=True),
                name="one_default_profile",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ToolPolicy(models.Model):
    """What an administrator sets for a provider (``tool`` empty) or for one tool; it acts at once.

    ``windows`` is a list of ``[requests, seconds]``. Lives are seconds; null: for ever; 0: never
    reused. Empty fields leave the catalogue's own value.
    """

    provider = models.CharField(max_length=50)
    tool = models.CharField(max_length=100, blank=True)
    is_enabled = models.BooleanField(default=True)
    windows = models.JSONField(default=list, blank=True)
    concurrency = models.PositiveIntegerField(null=True, blank=True)
    batch_size = models.PositiveIntegerField(null=True, blank=True)
    linger_seconds = models.FloatField(null=True, blank=True)
    price = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    hit_life_seconds = models.PositiveBigIntegerField(null=True, blank=True)
    miss_life_seconds = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "tool"], name="one_policy_each"),
        ]
        verbose_name_plural = "tool policies"

    def __str__(self) -> str:
        return self.tool or self.provider
