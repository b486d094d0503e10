"""What pages show of uploads: the list, the first records, the file itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

from django.db.models import QuerySet

from plays.models import Run, Upload, UploadChunk, Workspace
from plays.uploads import Column, Dialect, read_records

CELL_LENGTH = 300
"""Characters of a cell that a preview shows."""
CHUNKS_AT_A_TIME = 4


def uploads_listed(workspace: Workspace) -> QuerySet[Upload]:
    """Give a workspace's uploads, the newest first."""
    return Upload.objects.filter(workspace=workspace).select_related("created_by").defer("report")


def upload_preview(upload: Upload, n: int) -> list[list[str]]:
    """Give the first ``n`` records as lists of cells in file order, long cells cut."""
    chunks = upload.chunks.order_by("number").iterator(chunk_size=1)
    records = read_records(
        chunks,
        Dialect.from_json(upload.dialect),
        [Column.from_json(column) for column in upload.columns],
        limit=n,
    )
    return [[_cut(cell) for cell in record.values()] for record in records]


async def upload_content(upload: Upload) -> AsyncIterator[bytes]:
    """Give the file's bytes as uploaded, a few chunks in memory at a time."""
    contents = UploadChunk.objects.filter(upload=upload).order_by("number")
    async for content in contents.values_list("content", flat=True).aiterator(CHUNKS_AT_A_TIME):
        yield bytes(content)


def upload_runs(upload: Upload, n: int) -> QuerySet[Run]:
    """Give the newest runs that read this upload, at most ``n``."""
    runs = Run.objects.filter(workspace=upload.workspace_id, input__icontains=upload.ref)
    return runs.select_related("play").order_by("-created_at")[:n]


def _cut(cell: str) -> str:
    return cell if len(cell) <= CELL_LENGTH else f"{cell[:CELL_LENGTH]}\N{HORIZONTAL ELLIPSIS}"
