"""Plays and their revisions: a name, and the immutable, numbered texts behind it."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from plays.models.access import Workspace


class Play(models.Model):
    """A named thing an author wrote. New runs take its live revision."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="plays")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    live = models.ForeignKey(
        "Revision", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_play_of_a_name"),
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Revision(models.Model):
    """One text of a play; never changed once stored.

    ``source`` is the file as uploaded; ``pipeline`` is the static pipeline that
    ``runtime.loading`` read from it; ``input_schema`` is JSON Schema for a run's input, or null.
    """

    class Format(models.TextChoices):
        MODULE = "module"
        BUNDLE = "bundle"
        DEFINITION = "definition"

    play = models.ForeignKey(Play, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    format = models.CharField(max_length=12, choices=Format.choices)
    filename = models.CharField(max_length=255)
    source = models.BinaryField()
    digest = models.CharField(max_length=64)
    pipeline = models.JSONField()
    input_schema = models.JSONField(null=True)
    note = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["play", "number"], name="one_revision_of_a_number"),
        ]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.play.name} #{self.number}"
