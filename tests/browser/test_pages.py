"""What pages do in a real browser: dropping and uploading files, filtering, fitting narrow windows."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, FilePayload, Page, Route, expect

from plays.models import Revision, Run, Upload
from plays.services.runs import run_start
from tests.browser.run_window import sign_in
from tests.integration.cast import CSV, PLAY, Cast, build_cast
from tests.product import StartProduct

DROP = """([zone, name, text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name));
    for (const kind of ["dragenter", "dragover", "drop"]) {
        zone.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true }));
    }
}"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def cast(start_product: StartProduct, allow_orm_beside_browser: None) -> Cast:
    return build_cast()


@pytest.fixture
def page(cast: Cast, start_product: StartProduct, context: BrowserContext) -> Page:
    """A window in which Alice is signed in; addresses are relative to the web server."""
    web = start_product(only=("web",), DEEPLINE_UPLOAD_LIMIT_MB="1")
    sign_in(context, cast.alice, web.web_url)
    page = context.new_page()
    page.goto(web.web_url)
    return page


def go(page: Page, address: str) -> None:
    origin = "/".join(page.url.split("/")[:3])
    page.goto(origin + address)


def csv(content: bytes, name: str = "more.csv") -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": content}


def drop(page: Page, name: str, text: str) -> None:
    zone = page.locator("[data-drop]").element_handle()
    page.evaluate(DROP, [zone, name, text])


def test_a_play_that_is_dropped_is_published(page: Page, cast: Cast) -> None:
    drop(page, "find_emails.py", PLAY.replace("Find e-mails", "Find them"))
    expect(page.get_by_text("Revision 2 of find_emails is live.")).to_be_visible()
    assert Revision.objects.count() == 2


def test_a_wrong_play_leads_from_its_problem_to_the_line(page: Page, cast: Cast) -> None:
    drop(page, "wrong.py", PLAY.replace('"_site", lambda', '"email", lambda'))
    expect(page.get_by_role("heading", name="wrong.py was not published")).to_be_visible()
    link = page.locator(".problems a").first
    number = link.inner_text().removeprefix("Line ")
    link.click()
    expect(page.locator(f"tr#L{number}:target .line-problem").first).to_be_in_viewport()


def test_a_file_for_a_run_is_uploaded_and_shown_on_the_same_form(page: Page, cast: Cast) -> None:
    go(page, f"/plays/{cast.revision.play_id}/run/")
    page.locator("input[type=file]").set_input_files(csv(CSV))
    expect(page.get_by_role("link", name="more.csv")).to_be_visible()
    expect(page.get_by_role("cell", name="acme.example")).to_be_visible()
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/runs/**")
    assert Run.objects.get().input == {"leads": Upload.objects.get(filename="more.csv").ref}


def test_a_file_that_is_here_already_can_be_chosen(page: Page, cast: Cast) -> None:
    go(page, f"/plays/{cast.revision.play_id}/run/")
    page.get_by_label("Or a file that is here already").select_option(str(cast.upload.pk))
    expect(page.get_by_role("cell", name="acme.example")).to_be_visible()


def test_a_double_click_on_start_makes_one_run(page: Page, cast: Cast) -> None:
    go(page, f"/plays/{cast.revision.play_id}/run/?leads={cast.upload.pk}")
    page.get_by_role("button", name="Start the run").dblclick()
    page.wait_for_url("**/runs/**")
    assert Run.objects.count() == 1


def test_a_refused_file_is_told_where_it_was_dropped(page: Page, cast: Cast) -> None:
    go(page, "/uploads/")
    drop(page, "empty.csv", "name,domain\n")
    expect(page.locator(".drop .errors")).to_contain_text("empty.csv: The file holds a header")
    assert Upload.objects.count() == 1


def test_a_file_above_the_limit_is_not_sent(page: Page, cast: Cast) -> None:
    go(page, "/uploads/")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.locator("input[type=file]").set_input_files(csv(b"a,b\n" * 300_000, "big.csv"))
    expect(page.locator(".drop .errors")).to_have_text("big.csv has 1.1 MB; the limit is 1 MB.")
    assert "POST" not in sent


def test_an_upload_can_be_cancelled_while_it_goes_on(page: Page, cast: Cast) -> None:
    go(page, "/uploads/")
    held: list[Route] = []
    page.route("**/uploads/new/", lambda route: held.append(route))
    page.locator("input[type=file]").set_input_files(csv(CSV))
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".drop .errors")).to_have_text(
        "The upload was cancelled; nothing was stored."
    )
    expect(page.locator(".progress")).to_be_hidden()
    assert Upload.objects.count() == 1


def test_filtering_runs_changes_the_list_and_the_address_alone(page: Page, cast: Cast) -> None:
    run = run_start(cast.revision, cast.alice, cast.leads)
    go(page, "/runs/")
    page.evaluate("window.isSamePage = true")
    page.get_by_label("Status").select_option("failed")
    expect(page.get_by_role("heading", name="No run fits")).to_be_visible()
    page.get_by_label("Status").select_option("queued")
    expect(page.locator(f'a[href="/runs/{run.pk}/"]')).to_be_visible()
    assert page.url.endswith("/runs/?status=queued&play=")
    assert page.evaluate("window.isSamePage")


def test_pages_fit_a_narrow_window_and_a_large_zoom(page: Page, cast: Cast) -> None:
    run_start(cast.revision, cast.alice, cast.leads)
    play = f"/plays/{cast.revision.play_id}/"
    addresses = [
        "/",
        play,
        f"{play}revisions/1/",
        f"{play}run/?leads={cast.upload.pk}",
        "/runs/",
        "/uploads/",
        f"/uploads/{cast.upload.pk}/",
    ]
    for width in (320, 640):
        page.set_viewport_size({"width": width, "height": 700})
        for address in addresses:
            go(page, address)
            assert page.evaluate(OVERFLOW) == 0, f"{address} at {width} pixels"


def test_the_keyboard_reaches_the_content_first(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
