"""Uploads: a file as given, kept in the database in chunks.

The bytes live in PostgreSQL, because web, gateway and workers may run on machines that share
nothing else. Each chunk begins at a record, so a reader can start at record N without reading what
is before it.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from plays.models.access import Workspace


class Upload(models.Model):
    """A file as given: its dialect, columns and counts, and where they do not fit, the rejected lines."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="uploads")
    filename = models.CharField(max_length=255)
    size = models.BigIntegerField(help_text="Bytes.")
    sha256 = models.CharField(max_length=64)
    dialect = models.JSONField()
    columns = models.JSONField()
    record_count = models.BigIntegerField()
    report = models.JSONField(
        help_text="Lines, rejected lines, renamed headers, replaced characters."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["-created_at"], name="upload_newest_of_all")]

    def __str__(self) -> str:
        return self.filename

    @property
    def ref(self) -> str:
        """What a run's input holds for this file."""
        return f"upload:{self.id}"


class UploadChunk(models.Model):
    """Consecutive bytes of an upload; chunk 0 holds the header."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    first_record = models.BigIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upload", "number"], name="one_chunk_of_a_number"),
        ]
        indexes = [models.Index(fields=["upload", "first_record"], name="chunk_by_record")]
