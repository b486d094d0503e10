"""Taking in CSV files: one pass that reads, checks and stores, in bounded memory.

The bytes go into the database in chunks that begin at records, in one transaction with the upload's
row: a file that is refused, at whatever line, leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import asdict, dataclass
from pathlib import PurePath

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from plays.models import Run, Upload, UploadChunk, Workspace
from plays.uploads import ByteStream, ChunkStream, Inspection, Scan, UploadError
from runtime.values import sanitise

MEBIBYTE = 1024 * 1024
CHUNKS_AT_A_TIME = 4
FILENAME_LENGTH = 255


class UploadTooLarge(UploadError):
    """The file is larger than this installation takes; the sentence names the limit."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a person wants a file to be read; None: as it looks."""

    encoding: str | None = None
    delimiter: str | None = None
    has_header: bool = True


def upload_accept(
    workspace: Workspace,
    user: AbstractBaseUser | None,
    file: ByteStream,
    filename: str,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    has_header: bool = True,
) -> Upload:
    """Read a CSV file to its end and store it with its report, both or neither.

    It is committed when this returns. Raises UploadError with one sentence where it is no CSV
    file or gives no record, and UploadTooLarge beyond ``DEEPLINE_UPLOAD_LIMIT_MB``; nothing is
    stored then.
    """
    reading = Reading(encoding, delimiter, has_header)
    counted = _Counted(file, plain_filename(filename))
    with transaction.atomic():
        upload_id = uuid.uuid4()
        inspection = _store(upload_id, counted, reading)
        return Upload.objects.create(
            id=upload_id,
            workspace=workspace,
            filename=counted.filename,
            size=counted.size,
            sha256=counted.sha256,
            dialect=inspection.dialect.to_json(),
            columns=sanitise([column.to_json() for column in inspection.columns])[0],
            record_count=inspection.counts.records,
            report=_report(inspection),
            created_by_id=user.pk if user else None,
        )


def upload_reread(upload: Upload, user: AbstractBaseUser, reading: Reading) -> Upload:
    """Read an upload's bytes in another way, as a new upload.

    The old one is removed with it unless a run has used it: what a run has read must stay as it
    was. Raises UploadError, and changes nothing, where the file cannot be read in that way.
    """
    with transaction.atomic():
        chunks = upload.chunks.order_by("number").iterator(chunk_size=CHUNKS_AT_A_TIME)
        reread = upload_accept(
            upload.workspace,
            user,
            ChunkStream(chunks),
            upload.filename,
            encoding=reading.encoding,
            delimiter=reading.delimiter,
            has_header=reading.has_header,
        )
        old = Upload.objects.select_for_update().get(pk=upload.pk)
        if not upload_is_used(old):
            old.delete()
        return reread


def upload_is_used(upload: Upload) -> bool:
    """Whether a run's input names this upload."""
    runs = Run.objects.filter(workspace=upload.workspace_id)
    return runs.filter(input__icontains=upload.ref).exists()


def upload_limit_sentence(filename: str) -> str:
    """Say that a file is too large, and name the limit."""
    return (
        f"{filename or 'The file'} is larger than {settings.DEEPLINE_UPLOAD_LIMIT_MB} MB, the most"
        " that an upload may have here: split it, or ask an administrator to raise"
        " DEEPLINE_UPLOAD_LIMIT_MB."
    )


def plain_filename(filename: str) -> str:
    """Give a file's own name without directories, storable, at most 255 characters."""
    name = PurePath(sanitise(filename)[0].replace("\\", "/")).name.strip() or "upload.csv"
    return name[-FILENAME_LENGTH:]


class _Counted:
    """A file whose bytes are counted and digested as they are read, and refused above the limit."""

    def __init__(self, file: ByteStream, filename: str) -> None:
        self.filename = filename
        self.size = 0
        self._file = file
        self._digest = hashlib.sha256()
        self._limit = settings.DEEPLINE_UPLOAD_LIMIT_MB * MEBIBYTE

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def read(self, size: int, /) -> bytes:
        block = self._file.read(size)
        self.size += len(block)
        if self.size > self._limit:
            raise UploadTooLarge(upload_limit_sentence(self.filename))
        self._digest.update(block)
        return block


def _store(upload_id: uuid.UUID, file: ByteStream, reading: Reading) -> Inspection:
    """Write the chunks; the upload's row follows in the same transaction (its key is deferred).

    One by one: a statement holds its bytes several times over, so a group would cost more memory
    than it saves time.
    """
    scan = Scan(file, **asdict(reading))
    for chunk in scan:
        UploadChunk.objects.create(
            upload_id=upload_id,
            number=chunk.number,
            first_record=chunk.first_record,
            content=chunk.content,
        )
    return scan.inspection


def _report(inspection: Inspection) -> dict[str, object]:
    """Keep what cannot be read again from the chunks; the preview can."""
    report = inspection.to_json()
    kept = {name: report[name] for name in ("counts", "rejections", "warnings")}
    clean: dict[str, object] = sanitise(_lists(kept))[0]
    return clean


def _lists(value: object) -> object:
    """Make tuples lists, which is what JSON and the sanitiser know."""
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return value
