"""The ``Library`` port on the database: what a run may read, and nothing of other workspaces."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from plays.models import CheckpointEntry, Play, Revision, Upload, UploadChunk
from plays.playhost.orm import OrmThread
from plays.tools.policies import specs_for
from plays.uploads import ChunkStream, Column, Dialect, Scan, UploadError, read_records
from runtime.errors import PlayError
from runtime.ports import UploadPage
from runtime.tools import ToolSpec

Json = Any

PREFIX = "upload:"
MOST_READERS = 8
"""So many positions in files are remembered, so that the next page need not be searched for."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """An upload as it is read: with its own dialect, or scanned again with another."""

    id: UUID
    dialect: Dialect
    columns: tuple[Column, ...]
    total: int
    is_own: bool

    def page(self, records: list[dict[str, str]]) -> UploadPage:
        columns = [column.name for column in self.columns]
        return {"columns": columns, "records": records, "total": self.total}


class StoredLibrary:
    """What one run reads. ``root`` is the first run of its tree, for which plays are pinned."""

    def __init__(self, orm: OrmThread, *, workspace: int, root: UUID) -> None:
        self._orm = orm
        self._workspace = workspace
        self._root = root
        self._opened: dict[tuple[str, str], _Opened] = {}
        self._readers: dict[tuple[UUID, str, int], Iterator[dict[str, str]]] = {}
        self._specs: dict[str, ToolSpec] = {}

    async def play(self, name: str) -> dict[str, Json]:
        """Give the revision that this run tree uses, the live one of its first use."""
        return await self._orm.read(lambda: self._pinned(name))

    async def upload(self, ref: str, offset: int, n: int, dialect: dict[str, Json]) -> UploadPage:
        try:
            return await self._orm.read(lambda: self._page(ref, offset, n, dialect))
        except UploadError as error:
            raise PlayError(f"{ref} cannot be read so: {error}") from error

    async def tools(self, ids: list[str]) -> list[dict[str, Json]]:
        return [spec.to_json() for spec in await self.specs(ids)]

    async def specs(self, ids: list[str]) -> list[ToolSpec]:
        """Give those tools that the catalogue holds, as policies have them when first asked."""
        missing = [name for name in ids if name not in self._specs]
        if missing:
            found = await self._orm.read(lambda: specs_for(missing))
            self._specs.update({spec.id: spec for spec in found})
        return [self._specs[name] for name in ids if name in self._specs]

    def _pinned(self, name: str) -> dict[str, Json]:
        play = Play.objects.filter(workspace=self._workspace, name=name).first()
        if play is None or play.live_id is None:
            raise PlayError(
                f"there is no play {name!r} in this workspace: upload it, or mend its name"
            )
        pin, _ = CheckpointEntry.objects.get_or_create(
            run_id=self._root, name=f"pinned/{play.pk}", defaults={"value": play.live_id}
        )
        return source_json(Revision.objects.get(pk=int(pin.value or 0)))

    def _page(self, ref: str, offset: int, n: int, dialect: dict[str, Json]) -> UploadPage:
        opened = self._open(ref, dialect)
        key = (opened.id, repr(sorted(dialect.items())), offset)
        reader = self._readers.pop(key, None) or _records(opened, offset)
        records = list(islice(reader, n))
        while len(self._readers) >= MOST_READERS:
            del self._readers[next(iter(self._readers))]
        self._readers[*key[:2], offset + len(records)] = reader
        return opened.page(records)

    def _open(self, ref: str, dialect: dict[str, Json]) -> _Opened:
        key = (ref, repr(sorted(dialect.items())))
        if key not in self._opened:
            found = _find(ref, self._workspace)
            self._opened[key] = _reread(found, dialect) if dialect else _as_stored(found)
        return self._opened[key]


def source_json(revision: Revision) -> dict[str, Json]:
    """Give a revision's text as the play process loads it; the bytes in base 64."""
    return {
        "format": revision.format,
        "filename": revision.filename,
        "source": base64.b64encode(bytes(revision.source)).decode(),
    }


def _find(ref: str, workspace: int) -> Upload:
    try:
        wanted = UUID(ref.removeprefix(PREFIX) if ref.startswith(PREFIX) else "")
        return Upload.objects.get(pk=wanted, workspace=workspace)
    except (ValueError, Upload.DoesNotExist):
        raise PlayError(f"{ref!r} is no upload of this run's workspace") from None


def _as_stored(upload: Upload) -> _Opened:
    dialect = Dialect.from_json(upload.dialect)
    columns = tuple(Column.from_json(told) for told in upload.columns)
    return _Opened(upload.pk, dialect, columns, upload.record_count, is_own=True)


def _reread(upload: Upload, dialect: dict[str, Json]) -> _Opened:
    """Scan the stored bytes with another encoding or delimiter."""
    scan = Scan(ChunkStream(_chunks(upload.pk, 0)), **dialect)
    for _ in scan:
        pass
    seen = scan.inspection
    return _Opened(upload.pk, seen.dialect, seen.columns, seen.counts.records, is_own=False)


def _records(opened: _Opened, offset: int) -> Iterator[dict[str, str]]:
    first = _first_chunk(opened.id, offset) if opened.is_own else 0
    return read_records(_chunks(opened.id, first), opened.dialect, opened.columns, offset=offset)


def _first_chunk(upload: UUID, offset: int) -> int:
    before = UploadChunk.objects.filter(upload=upload, first_record__lte=offset)
    return before.order_by("-number").values_list("number", flat=True).first() or 0


def _chunks(upload: UUID, first: int) -> Iterator[UploadChunk]:
    """Read chunks one by one, each when the one before is used up."""
    number = first
    while chunk := UploadChunk.objects.filter(upload=upload, number=number).first():
        yield chunk
        number += 1
