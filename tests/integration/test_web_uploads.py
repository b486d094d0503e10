"""The pages of uploads: taking a file in, its report, reading it in another way, giving it back."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from pytest_django import Settings

from plays.models import Upload, UploadChunk
from tests.integration.cast import CSV, Cast, signed_in
from tests.integration.test_services_uploads import ACCEPTED, REFUSED

AS_SCRIPT = {"accept": "application/json"}


def send(cast: Cast, content: bytes, filename: str = "leads.csv", **form: str) -> HttpResponse:
    file = SimpleUploadedFile(filename, content)
    return signed_in(cast.alice).post("/uploads/new/", {"file": file, **form})


def newest() -> Upload:
    upload = Upload.objects.order_by("-created_at").first()
    assert upload is not None
    return upload


async def read(answer: Any) -> bytes:
    return b"".join([part async for part in answer.streaming_content])


def page(cast: Cast, upload: Upload) -> str:
    answer = signed_in(cast.alice).get(f"/uploads/{upload.pk}/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_file_that_was_taken_leads_to_its_page(cast: Cast) -> None:
    answer = send(cast, CSV, "more.csv")
    assert answer.headers["Location"] == f"/uploads/{newest().pk}/"
    shown = page(cast, newest())
    for part in (
        "more.csv",
        "2 records, 3 columns",
        "UTF-8",
        "Comma between cells",
        "acme.example",
    ):
        assert part in shown


def test_a_script_is_told_where_to_go(cast: Cast) -> None:
    file = SimpleUploadedFile("more.csv", CSV)
    answer = signed_in(cast.alice).post("/uploads/new/", {"file": file}, headers=AS_SCRIPT)
    assert answer.json() == {"location": f"/uploads/{newest().pk}/"}


def test_a_file_for_a_run_leads_back_to_its_form(cast: Cast) -> None:
    back = f"/plays/{cast.revision.play_id}/run/?other=1"
    answer = send(cast, CSV, next=back, input="leads")
    assert answer.headers["Location"] == f"{back}&leads={newest().pk}"


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_a_form_leads_to_no_other_site(cast: Cast, back: str) -> None:
    answer = send(cast, CSV, next=back)
    assert answer.headers["Location"] == f"/uploads/{newest().pk}/"


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED)
def test_a_bad_file_is_answered_with_one_sentence_and_nothing_is_stored(
    cast: Cast, content: bytes
) -> None:
    before = (Upload.objects.count(), UploadChunk.objects.count())
    file = SimpleUploadedFile("bad.csv", content)
    answer = signed_in(cast.alice).post("/uploads/new/", {"file": file}, headers=AS_SCRIPT)
    assert answer.status_code == 422
    sentence = answer.json()["error"]
    assert sentence.startswith("bad.csv: ")
    assert "\n" not in sentence
    assert (Upload.objects.count(), UploadChunk.objects.count()) == before


def test_a_bad_file_has_a_page_where_no_script_asks(cast: Cast) -> None:
    answer = send(cast, b"", "empty.csv")
    assert answer.status_code == 422
    assert "empty.csv: The file is empty" in answer.content.decode()


@pytest.mark.parametrize(("content", "first"), ACCEPTED.values(), ids=ACCEPTED)
def test_an_unusual_file_is_shown_as_it_was_read(
    cast: Cast, content: bytes, first: list[str]
) -> None:
    assert send(cast, content).status_code == 302
    shown = page(cast, newest())
    assert all(cell in shown for cell in first)


def test_rejected_lines_are_listed_with_their_reasons(cast: Cast) -> None:
    send(cast, b"a,b\n1,2\n1,2,3\n4,5\n")
    shown = page(cast, newest())
    assert "4 lines in the file: 1 header, 2 records, 1 rejected." in shown
    assert "Line 3" in shown


def test_a_file_above_the_limit_is_refused_and_the_limit_named(
    cast: Cast, settings: Settings
) -> None:
    settings.DEEPLINE_UPLOAD_LIMIT_MB = 1
    answer = send(cast, b"a,b\n" + b"1,2\n" * 300_000)
    assert answer.status_code == 413
    assert "larger than 1 MB" in answer.content.decode()
    assert Upload.objects.count() == 1


def test_the_limit_is_shown_before_anything_is_sent(cast: Cast, settings: Settings) -> None:
    settings.DEEPLINE_UPLOAD_LIMIT_MB = 7
    shown = signed_in(cast.alice).get("/uploads/").content.decode()
    assert "Up to 7 MB" in shown
    assert 'data-limit-mb="7"' in shown


def test_sending_no_file_is_told(cast: Cast) -> None:
    answer = signed_in(cast.alice).post("/uploads/new/")
    assert answer.status_code == 400
    assert "Choose a file first." in answer.content.decode()


def test_a_file_can_be_read_in_another_way(cast: Cast) -> None:
    send(cast, "name;town\nAda;K\u00f6ln\n".encode("cp1250"), "towns.csv")
    first = newest()
    form = {"encoding": "iso-8859-15", "delimiter": ";", "first_line": "record"}
    answer = signed_in(cast.alice).post(f"/uploads/{first.pk}/reading/", form)
    assert answer.status_code == 302
    again = newest()
    assert again.dialect["encoding"] == "iso-8859-15"
    assert again.record_count == 2
    assert not Upload.objects.filter(pk=first.pk).exists()


@pytest.mark.parametrize("form", [{"encoding": "klingon"}, {"delimiter": "ab"}])
def test_a_way_of_reading_that_is_not_offered_is_refused(cast: Cast, form: dict[str, str]) -> None:
    answer = signed_in(cast.alice).post(f"/uploads/{cast.upload.pk}/reading/", form)
    assert answer.status_code == 422
    assert Upload.objects.filter(pk=cast.upload.pk).exists()


def test_a_way_of_reading_that_gives_no_table_changes_nothing(cast: Cast) -> None:
    form = {"encoding": "utf-16"}
    answer = signed_in(cast.alice).post(f"/uploads/{cast.upload.pk}/reading/", form)
    assert answer.status_code == 422
    assert "leads.csv gives no table" in answer.content.decode()
    assert Upload.objects.filter(pk=cast.upload.pk).exists()


def test_cells_and_headers_are_escaped(cast: Cast) -> None:
    send(cast, b"<b>name</b>,x\n<script>alert(1)</script>,2\n", "<i>.csv")
    shown = page(cast, newest())
    assert "<script>alert" not in shown
    assert "<b>name" not in shown
    assert "<i>" not in shown


def test_a_download_is_the_file_to_the_byte_and_streams(cast: Cast) -> None:
    answer = signed_in(cast.bob).get(f"/uploads/{cast.upload.pk}/file/")
    assert answer.is_async
    assert async_to_sync(read)(answer) == CSV
    assert answer.headers["Content-Length"] == str(len(CSV))
    assert answer.headers["Content-Disposition"] == 'attachment; filename="leads.csv"'


def test_the_list_is_paged(cast: Cast) -> None:
    Upload.objects.bulk_create(
        Upload(
            id=uuid.uuid4(),
            workspace=cast.workspace,
            filename=f"file-{number}.csv",
            size=1,
            sha256="",
            dialect=cast.upload.dialect,
            columns=cast.upload.columns,
            record_count=1,
            report=cast.upload.report,
        )
        for number in range(60)
    )
    client = signed_in(cast.bob)
    first = client.get("/uploads/").content.decode()
    assert "1 to 50 of 61 uploads" in first
    assert 'href="?page=2"' in first
    assert "51 to 61 of 61" in client.get("/uploads/?page=2").content.decode()
    assert "51 to 61 of 61" in client.get("/uploads/?page=99").content.decode()
