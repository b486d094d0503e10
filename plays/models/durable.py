"""What a run must not do twice, and where it waits."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from plays.models.grid import MapFrame
from plays.models.run import Run


class CheckpointEntry(models.Model):
    """A result that the gateway does not hold (ctx.step, code steps), by durable name.

    Removed when its row is complete: the row's cells hold what came of it. The indexes of its two
    foreign keys are the ones below.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="entries", db_index=False)
    name = models.TextField()
    frame = models.ForeignKey(MapFrame, on_delete=models.CASCADE, null=True, db_index=False)
    position = models.IntegerField(null=True)
    value = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "name"], name="one_entry_of_a_name"),
        ]
        indexes = [models.Index(fields=["frame", "position"], name="entry_by_row")]
        verbose_name_plural = "checkpoint entries"


class Receipt(models.Model):
    """The record that a named top-level call was claimed or finished. ``run`` is the root run."""

    class Status(models.TextChoices):
        CLAIMED = "claimed"
        COMPLETED = "completed"
        FAILED = "failed"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="receipts")
    name = models.TextField()
    input_digest = models.CharField(max_length=64)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.CLAIMED)
    epoch = models.BigIntegerField()
    output = models.JSONField(null=True)
    error = models.JSONField(null=True)
    claimed_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "name"], name="one_receipt_of_a_name"),
        ]


class Boundary(models.Model):
    """A named place where a run waits: a sleep, or an event with a deadline.

    ``run`` is the root run. ``payload`` is what answered it, ``answered_at`` when it was answered or
    ended, ``answered_by`` the person, None for a system outside. The deadline never moves.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        RECEIVED = "received"
        TIMED_OUT = "timed_out", "timed out"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="boundaries")
    name = models.TextField()
    event = models.CharField(max_length=200, null=True)
    frame = models.ForeignKey(MapFrame, on_delete=models.CASCADE, null=True, db_index=False)
    position = models.IntegerField(null=True)
    due_at = models.DateTimeField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    message = models.TextField(null=True)
    form = models.JSONField(null=True)
    payload = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "name"], name="one_boundary_of_a_name"),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="boundary_due", condition=models.Q(status="open")),
            models.Index(fields=["run", "event", "-id"], name="boundary_by_event"),
            models.Index(fields=["frame", "position"], name="boundary_by_row"),
        ]
        verbose_name_plural = "boundaries"

    def __str__(self) -> str:
        return f"wait {self.pk} for {self.event}" if self.event else f"sleep {self.pk}"


class EarlyAnswer(models.Model):
    """An event that came before anything waited for it; the next wait for it takes the oldest.

    ``run`` is the root run.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False)
    event = models.CharField(max_length=200)
    payload = models.JSONField(null=True)
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, db_index=False
    )

    class Meta:
        indexes = [models.Index(fields=["run", "event", "id"], name="early_answer_oldest")]


class LateAnswer(models.Model):
    """An answer that came too late, kept to be seen: it never satisfied anything.

    ``run`` is the root run, ``why`` one sentence.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="late_answers")
    boundary = models.ForeignKey(
        Boundary, on_delete=models.CASCADE, null=True, related_name="late_answers"
    )
    event = models.CharField(max_length=200)
    payload = models.JSONField(null=True)
    why = models.TextField()
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, db_index=False
    )
