"""The pages of plays: the list, the picture, publishing, problems beside their lines, revisions."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from plays.models import MapFrame, Play, Revision, Workspace
from plays.services.runs import run_start
from tests.integration.cast import PLAY, Cast, signed_in
from tests.integration.wrong_plays import WRONG


def publish(cast: Cast, text: str | bytes, filename: str = "find_emails.py") -> HttpResponse:
    content = text if isinstance(text, bytes) else text.encode()
    file = SimpleUploadedFile(filename, content)
    return signed_in(cast.alice).post("/plays/publish/", {"file": file})


def page(cast: Cast, address: str = "") -> str:
    answer = signed_in(cast.alice).get(f"/plays/{cast.revision.play_id}/{address}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_publishing_leads_to_the_play_and_says_what_is_live(cast: Cast) -> None:
    client = signed_in(cast.alice)
    text = PLAY.replace("Find e-mails", "Find them").encode()
    file = SimpleUploadedFile("find_emails.py", text)
    answer = client.post("/plays/publish/", {"file": file}, follow=True)
    assert answer.redirect_chain == [(f"/plays/{cast.revision.play_id}/", 302)]
    assert "Revision 2 of find_emails is live." in answer.content.decode()


@pytest.mark.parametrize(("text", "line"), WRONG.values(), ids=WRONG)
def test_a_wrong_play_is_shown_with_its_problems_and_nothing_is_stored(
    cast: Cast, text: str, line: int
) -> None:
    before = (Play.objects.count(), Revision.objects.count())
    answer = publish(cast, text, "wrong.py")
    assert answer.status_code == 422
    shown = answer.content.decode()
    assert "wrong.py was not published" in shown
    assert (f'href="#L{line}"' if line else "The whole file") in shown
    assert (Play.objects.count(), Revision.objects.count()) == before


def test_a_problem_stands_under_its_line(cast: Cast) -> None:
    text, line = WRONG["duplicate step"]
    shown = publish(cast, text).content.decode()
    row = shown.split(f'<tr id="L{line}"')[1].split("</tr>")[0]
    assert 'class="has-problem"' in row
    assert 'class="line-problem"' in row


def test_a_problem_in_a_helper_of_a_bundle_names_the_helper(cast: Cast) -> None:
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("play.py", PLAY.replace("from runtime", "import helper\nfrom runtime"))
        archive.writestr("helper.py", "def broken(:\n")
    shown = publish(cast, bundle.getvalue(), "bundle.zip").content.decode()
    assert "helper.py, line 1" in shown
    assert 'href="#helper-py-L1"' in shown


def test_a_file_that_is_no_play_at_all_is_refused(cast: Cast) -> None:
    answer = publish(cast, b"\x89PNG\r\n\x1a\n\x00\x01", "picture.png")
    assert answer.status_code == 422
    assert Revision.objects.count() == 1


def test_a_play_above_the_limit_is_refused_with_the_limit(cast: Cast) -> None:
    answer = publish(cast, b"#" * (5 * 1024 * 1024 + 1))
    assert answer.status_code == 413
    assert "a play may have 5 MB" in answer.content.decode()


def test_publishing_without_a_file_is_told(cast: Cast) -> None:
    answer = signed_in(cast.alice).post("/plays/publish/")
    assert answer.status_code == 400
    assert "Choose a file first." in answer.content.decode()


def test_the_picture_names_inputs_fields_and_tools_in_order(cast: Cast) -> None:
    shown = page(cast).split('class="pipeline"')[1].split("</section>")[0]
    parts = ["leads", "CSV file", "_site", "not in outputs", "email", "sandbox_a", "sandbox_b"]
    positions = [shown.index(part) for part in parts]
    assert positions == sorted(positions)
    assert "first_name + last_name + domain" in shown


def test_each_field_of_the_picture_leads_to_its_line(cast: Cast) -> None:
    shown = page(cast)
    line = PLAY[: PLAY.index('.step("email"')].count("\n") + 1
    assert f'href="#L{line}">email</a>' in shown
    assert f'id="L{line}"' in shown


def test_source_is_escaped(cast: Cast) -> None:
    publish(cast, PLAY.replace("Work e-mail for every lead", "<script>alert(1)</script>"))
    shown = page(cast)
    assert "<script>alert(1)" not in shown
    assert "&lt;script&gt;" in shown


def test_no_page_holds_a_style_or_a_script_of_its_own(cast: Cast) -> None:
    shown = page(cast)
    assert "style=" not in shown
    assert "<style" not in shown
    assert "<script>" not in shown


def test_a_revision_shows_what_it_changed(cast: Cast) -> None:
    publish(cast, PLAY.replace("Find e-mails", "Find them"))
    shown = page(cast, "revisions/2/").split('id="changes"')[1].split("</section>")[0]
    assert "Find e-mails" in shown.split('class="is-removed"')[1].split("</tr>")[0]
    assert "Find them" in shown.split('class="is-added"')[1].split("</tr>")[0]


def test_the_first_revision_has_nothing_before_it(cast: Cast) -> None:
    assert "This is the first revision." in page(cast, "revisions/1/")


def test_a_revision_is_set_live_from_its_page(cast: Cast) -> None:
    publish(cast, PLAY.replace("Find e-mails", "Find them"))
    assert "Roll back to this revision" in page(cast, "revisions/1/")
    answer = signed_in(cast.alice).post(f"/plays/{cast.revision.play_id}/revisions/1/live/")
    assert answer.status_code == 302
    assert Play.objects.get(pk=cast.revision.play_id).live == cast.revision


def test_a_revisions_file_is_given_as_it_was_uploaded(cast: Cast) -> None:
    address = f"/plays/{cast.revision.play_id}/revisions/1/source/"
    answer = signed_in(cast.bob).get(address)
    assert answer.content == PLAY.encode()
    assert answer.headers["Content-Disposition"] == 'attachment; filename="find_emails.py"'


def test_the_list_tells_the_last_run_and_its_fill_rate(cast: Cast) -> None:
    run = run_start(cast.revision, cast.alice, cast.leads)
    MapFrame.objects.create(
        run=run,
        path="leads",
        table="find_emails_leads",
        title="leads",
        columns=["domain"],
        fields=[{"name": "_site"}, {"name": "email"}],
        total=4,
        totals={"_site": {"completed": 4}, "email": {"completed": 1, "cached": 2, "missed": 1}},
        row_totals={"completed": 4},
    )
    shown = signed_in(cast.bob).get("/").content.decode()
    assert "Queued" in shown
    assert "75 %" in shown


def test_an_empty_workspace_offers_the_samples(cast: Cast) -> None:
    client = signed_in(cast.charlie)
    assert "Load the samples" in client.get("/").content.decode()
    client.post("/samples/")
    elsewhere = Workspace.objects.get(name="Elsewhere")
    assert elsewhere.plays.count() == 4
    assert "Load the samples" not in client.get("/").content.decode()
