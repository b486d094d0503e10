"""The rows of a run's maps, with the value and state of every cell."""

from __future__ import annotations

from django.db import models

from plays.models.run import Run

FRAME_SHIFT = 32
"""A row's primary key is its frame's number times 2^32 plus its position."""


class RowStatus(models.TextChoices):
    """As ``runtime.events.RowStatus``."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class MapFrame(models.Model):
    """One map of a run.

    ``fields`` is a list of FieldForm (runtime.ports) in step order; ``columns`` the input's in
    file order. ``totals`` counts cells by field and status, ``row_totals`` rows by status; both
    add up to ``total`` (a field's missing count is "not started").
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="frames")
    path = models.CharField(max_length=500)
    table = models.CharField(max_length=63)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    columns = models.JSONField()
    fields = models.JSONField()
    key = models.JSONField(default=list)
    explicit = models.BooleanField(default=False)
    is_sealed = models.BooleanField(default=False)
    total = models.BigIntegerField(default=0)
    totals = models.JSONField(default=dict)
    row_totals = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "path"], name="one_frame_of_a_path"),
        ]
        indexes = [models.Index(fields=["table", "-id"], name="frame_latest_of_table")]
        ordering = ["id"]

    def __str__(self) -> str:
        return self.title


class RowState(models.Model):
    """One record of a map.

    ``id`` joins frame and position (Django's admin cannot show a composite key, and a second index
    would be written with every update). ``input`` is the record as loaded, ``data`` the computed
    values by field, ``cells`` their state (runtime.ports.Cell plus ``sequence``), ``sequence``
    that of the last change. ``wake_at``: when a waiting row may run again; an answer sets it to now.
    """

    id = models.BigIntegerField(primary_key=True)
    frame = models.ForeignKey(
        MapFrame, on_delete=models.CASCADE, related_name="rows", db_index=False
    )
    position = models.IntegerField()
    row_key = models.CharField(max_length=80)
    input = models.JSONField()
    data = models.JSONField(default=dict)
    cells = models.JSONField(default=dict)
    status = models.CharField(max_length=12, choices=RowStatus.choices, default=RowStatus.PENDING)
    sequence = models.BigIntegerField(default=0)
    wake_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["frame", "row_key"], name="one_row_of_a_key"),
        ]
        indexes = [
            # Claims read it by status and position, takeovers by status; finished rows are not in
            # it.
            models.Index(
                fields=["frame", "status", "position"],
                name="row_unfinished",
                condition=models.Q(status__in=["pending", "running", "waiting"]),
            ),
            models.Index(
                fields=["frame", "wake_at"],
                name="row_to_wake",
                condition=models.Q(status="waiting"),
            ),
        ]

    def __str__(self) -> str:
        return f"row {self.position + 1} of {self.frame_id}"


class LoadingRow(models.Model):
    """A row of a frame that is not sealed yet; sealing moves it to ``RowState`` and settles its key.

    Apart from RowState, so that no reader meets a row before its key is final, each row is written
    to the indexed table once, in its final form, and an interrupted load leaves nothing there.
    """

    id = models.BigIntegerField(primary_key=True)
    row_key = models.CharField(max_length=80)
    input = models.JSONField()


def row_id(frame: int, position: int) -> int:
    """Give a row's primary key."""
    return (frame << FRAME_SHIFT) + position
