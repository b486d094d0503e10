"""Taking in CSV files: what is stored of a good one, and that nothing is of a bad one."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from plays.models import Run, Upload, UploadChunk
from plays.selectors.uploads import upload_preview
from plays.services.uploads import (
    Reading,
    UploadTooLarge,
    upload_accept,
    upload_is_used,
    upload_reread,
)
from plays.uploads import UploadError
from tests.integration.cast import CSV, Cast

XLSX = b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00" + bytes(200)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64)

REFUSED = {
    "empty": b"",
    "blank lines": b"\n\n\n",
    "header only": b"first_name,last_name,domain\n",
    "unclosed quote": b'name,domain\nAda,"acme.example\nAlan,bolt.test\n',
    "spreadsheet": XLSX,
    "picture": PNG,
}

ACCEPTED = {
    "UTF-16": ("name,domain\nJürgen,acme.example\n".encode("utf-16"), ["Jürgen", "acme.example"]),
    "semicolons": (b"name;domain\nAda;acme.example\n", ["Ada", "acme.example"]),
    "byte order mark": (b"\xef\xbb\xbfname,domain\nAda,acme.example\n", ["Ada", "acme.example"]),
    "same header twice": (b"name,name\nAda,Stone\n", ["Ada", "Stone"]),
    "empty header": (b"name,\nAda,Stone\n", ["Ada", "Stone"]),
    "NUL": (b"name,domain\nA\0da,acme.example\n", ["A\ufffdda", "acme.example"]),
}


def stored() -> tuple[int, int]:
    return Upload.objects.count(), UploadChunk.objects.count()


def content(upload: Upload) -> bytes:
    chunks = upload.chunks.order_by("number")
    return b"".join(bytes(chunk.content) for chunk in chunks)


def test_a_file_is_kept_to_the_byte(cast: Cast) -> None:
    upload = upload_accept(cast.workspace, cast.alice, io.BytesIO(CSV), "leads.csv")
    assert content(upload) == CSV
    assert (upload.size, upload.record_count) == (len(CSV), 2)
    assert upload.created_by == cast.alice
    assert upload.report["counts"]["lines"] == 3


def test_chunks_of_a_long_file_begin_at_records(cast: Cast) -> None:
    records = 60_000
    file = b"name,note\n" + b"".join(b'Ada %d,"two\nlines"\n' % n for n in range(records)) * 3
    upload = upload_accept(cast.workspace, cast.alice, io.BytesIO(file), "long.csv")
    chunks = list(upload.chunks.order_by("number"))
    assert len(chunks) > 1
    assert content(upload) == file
    assert all(bytes(chunk.content).startswith(b"Ada ") for chunk in chunks[1:])
    assert upload.record_count == 3 * records


@pytest.mark.parametrize("file", REFUSED.values(), ids=REFUSED)
def test_a_bad_file_is_refused_with_one_sentence_and_nothing_is_stored(
    cast: Cast, file: bytes
) -> None:
    before = stored()
    with pytest.raises(UploadError) as refused:
        upload_accept(cast.workspace, cast.alice, io.BytesIO(file), "bad.csv")
    assert "\n" not in str(refused.value)
    assert stored() == before


def test_a_file_that_is_bad_at_its_end_leaves_no_chunk_behind(cast: Cast) -> None:
    before = stored()
    file = b"name,note\n" + b"Ada,a note of some length for this line\n" * 200_000 + b'Alan,"open\n'
    with pytest.raises(UploadError, match="line 200002"):
        upload_accept(cast.workspace, cast.alice, io.BytesIO(file), "bad.csv")
    assert stored() == before


@pytest.mark.parametrize(("file", "first"), ACCEPTED.values(), ids=ACCEPTED)
def test_an_unusual_file_is_read_rightly(cast: Cast, file: bytes, first: list[str]) -> None:
    upload = upload_accept(cast.workspace, cast.alice, io.BytesIO(file), "odd.csv")
    assert upload_preview(upload, 1) == [first]
    assert len({column["name"] for column in upload.columns}) == len(upload.columns)


def test_a_field_of_a_megabyte_is_taken_whole(cast: Cast) -> None:
    file = b"name,note\nAda," + b"x" * 1_000_000 + b"\n"
    upload = upload_accept(cast.workspace, cast.alice, io.BytesIO(file), "wide.csv")
    assert upload.record_count == 1
    assert content(upload) == file


def test_a_file_above_the_limit_is_refused_and_the_limit_named(
    cast: Cast, settings: Settings
) -> None:
    settings.DEEPLINE_UPLOAD_LIMIT_MB = 1
    before = stored()
    with pytest.raises(UploadTooLarge, match="larger than 1 MB"):
        upload_accept(
            cast.workspace, cast.alice, io.BytesIO(b"a,b\n" + b"1,2\n" * 300_000), "b.csv"
        )
    assert stored() == before


def test_memory_does_not_grow_with_the_file(cast: Cast) -> None:
    file = _Repeated(
        b"name,note\n", b"Ada,a note that makes the line longer than it was\n", 500_000
    )
    tracemalloc.start()
    upload = upload_accept(cast.workspace, cast.alice, file, "long.csv")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert upload.size > 24_000_000
    assert peak < 16_000_000


def test_a_path_and_a_nul_in_the_name_are_dropped(cast: Cast) -> None:
    upload = upload_accept(cast.workspace, cast.alice, io.BytesIO(CSV), "C:\\x\\le\0ads.csv")
    assert upload.filename == "le\ufffdads.csv"


def test_reading_again_replaces_an_upload_that_no_run_used(cast: Cast) -> None:
    file = "name;town\nAda;K\u00f6ln\n".encode("cp1252")
    wrong = upload_accept(
        cast.workspace, cast.alice, io.BytesIO(file), "odd.csv", encoding="cp437", delimiter=","
    )
    right = upload_reread(wrong, cast.bob, Reading("windows-1252", ";"))
    assert upload_preview(right, 1) == [["Ada", "K\u00f6ln"]]
    assert content(right) == file
    assert not Upload.objects.filter(pk=wrong.pk).exists()


def test_reading_again_keeps_an_upload_that_a_run_used(cast: Cast) -> None:
    Run.objects.create(
        workspace=cast.workspace,
        play=cast.revision.play,
        revision=cast.revision,
        input=cast.leads,
    )
    assert upload_is_used(cast.upload)
    again = upload_reread(cast.upload, cast.alice, Reading(has_header=False))
    assert again.record_count == 3
    assert Upload.objects.filter(pk=cast.upload.pk).exists()


def test_reading_again_in_an_impossible_way_changes_nothing(cast: Cast) -> None:
    before = stored()
    with pytest.raises(UploadError):
        upload_reread(cast.upload, cast.alice, Reading(encoding="no-such-encoding"))
    assert stored() == before
    assert Upload.objects.filter(pk=cast.upload.pk).exists()


class _Repeated(io.RawIOBase):
    """A long file that is made while it is read."""

    def __init__(self, head: bytes, line: bytes, count: int) -> None:
        self._blocks = self._made(head, line, count)
        self._rest = b""

    def _made(self, head: bytes, line: bytes, count: int) -> Iterator[bytes]:
        yield head
        for _ in range(count // 1000):
            yield line * 1000

    def read(self, size: int = -1, /) -> bytes:
        while len(self._rest) < size and (block := next(self._blocks, b"")):
            self._rest += block
        given, self._rest = self._rest[:size], self._rest[size:]
        return given
