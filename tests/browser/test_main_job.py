"""The main job, from an empty database: sign in, upload a play and a file, watch the grid fill.

What must come out is computed here from the sandbox's specification and nothing else of ours.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, Page, Request, expect

from deepline_site.home import PROJECT
from tests.browser.run_window import RunWindow
from tests.product import LiveProduct, StartProduct

PLAY = PROJECT / "examples" / "plays" / "email_waterfall.py"
LEADS = PROJECT / "examples" / "data" / "leads_1000.csv"
PASSWORD = "made-up-password"
MINUTE = 60_000

# Notes each state that a cell of the column "email" is ever drawn in.
WATCH = """
window.seenStates = new Set();
new MutationObserver(() => {
    for (const cell of document.querySelectorAll('.ag-cell[col-id="email"] .cell')) {
        for (const name of cell.classList) window.seenStates.add(name);
    }
}).observe(document, { childList: true, subtree: true, attributes: true });
"""

Found = tuple[str, str]
"""What a row must come to: its e-mail ("" where nobody has one) and its verdict."""


@pytest.fixture
def product(start_product: StartProduct, allow_orm_beside_browser: None) -> LiveProduct:
    product = start_product(SANDBOX_LATENCY_MS="700")
    User.objects.create_superuser("admin", password=PASSWORD)
    return product


@pytest.mark.timeout(300)
def test_a_play_and_a_file_become_a_filled_grid(
    product: LiveProduct, context: BrowserContext, tmp_path: Path
) -> None:
    page = context.new_page()
    page.add_init_script(WATCH)
    sign_in_by_hand(page, product.web_url)
    upload_play(page)
    start_run(page)

    window = RunWindow(page, page.url)
    requests = requests_after_first_rows(window)
    expect(window.part("status")).to_have_text("Completed", timeout=2 * MINUTE)

    assert [request.url for request in requests] == []
    seen = set(page.evaluate("[...window.seenStates]"))
    assert {"cell-queued", "cell-running", "cell-completed", "cell-missed"} <= seen
    expect(window.part("rows-done")).to_have_text("1,000")
    expected = expected_output()
    assert dict(rows_in_grid(window)) == expected

    downloaded = download(page, tmp_path / "downloaded.csv")
    assert values_of(downloaded) == expected
    assert run_from_command_line(product, tmp_path / "output.csv") == downloaded.read_bytes()


def sign_in_by_hand(page: Page, web_url: str) -> None:
    page.goto(web_url)
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="Plays")).to_be_visible()


def upload_play(page: Page) -> None:
    page.locator("[data-drop] input[type=file]").first.set_input_files(PLAY)
    expect(page.get_by_role("heading", name="email_waterfall", level=1)).to_be_visible()


def start_run(page: Page) -> None:
    page.get_by_role("link", name="Run", exact=True).first.click()
    page.locator("input[type=file]").first.set_input_files(LEADS)
    expect(page.get_by_text("leads_1000.csv").first).to_be_visible()
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/runs/*-*/")


def requests_after_first_rows(window: RunWindow) -> list[Request]:
    """Wait for the first rows; give a list that from then on fills with the page's requests.

    The window then rests near the end, on rows whose turn comes late enough to be seen waiting.
    """
    expect(window.cell(1, "first_name").locator(".cell-text")).not_to_be_empty(timeout=MINUTE)
    window.jump(960)
    expect(window.cell(965, "first_name").locator(".cell-text")).not_to_be_empty()
    requests: list[Request] = []
    window.page.on("request", lambda request: requests.append(request))
    return requests


def rows_in_grid(window: RunWindow) -> Iterator[tuple[int, Found]]:
    """Read every row's e-mail and verdict as the grid shows them, from the first to the last."""
    for number in range(5, 1_001, 10):
        window.jump(number)
        for neighbour in (number - 4, number + 5):
            expect(window.cell(neighbour, "email").locator(".cell-text")).not_to_be_empty()
        expect(window.page.locator(UNFINISHED)).to_have_count(0)
        yield from ((row, (email, verdict)) for row, email, verdict in window.page.evaluate(SHOWN))


UNFINISHED = ", ".join(
    f'.ag-row [col-id="{column}"] {cell}'
    for column in ("email", "verdict")
    for cell in (".cell-queued", ".cell-running", '.cell[class="cell"]')
)
SHOWN = """
[...document.querySelectorAll(".ag-row")].flatMap((row) => {
    const value = (column) => {
        const cell = row.querySelector(`[col-id="${column}"] .cell`);
        if (!cell || cell.className === "cell") return null;
        return cell.matches(".cell-missed") ? "" : cell.querySelector(".cell-text").textContent;
    };
    const [email, verdict] = [value("email"), value("verdict")];
    return email === null ? [] : [[Number(row.getAttribute("row-id")), email, verdict]];
})
"""


def download(page: Page, place: Path) -> Path:
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV", exact=True).click()
    started.value.save_as(place)
    return place


def values_of(table: Path) -> dict[int, Found]:
    with table.open(newline="", encoding="utf-8") as file:
        return {n: (row["email"], row["verdict"]) for n, row in enumerate(csv.DictReader(file))}


def run_from_command_line(product: LiveProduct, output: Path) -> bytes:
    command = [sys.executable, "manage.py", "runplay", str(PLAY)]
    command += ["--csv", str(LEADS), "--output", str(output), "--json"]
    told = {**os.environ, **product.environment}
    done = subprocess.run(command, cwd=PROJECT, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["rows"] == 1_000
    return output.read_bytes()


# The sandbox, from its specification ------------------------------------------------------------

FINDERS = {"sandbox_a_email_finder": 55, "sandbox_b_email_finder": 35, "sandbox_c_email_finder": 25}
VERDICTS = ("valid", "valid", "valid", "catch_all", "invalid")
KEPT = set("abcdefghijklmnopqrstuvwxyz0123456789.-")


def expected_output() -> dict[int, Found]:
    with LEADS.open(newline="", encoding="utf-8") as file:
        leads = list(csv.DictReader(file))
    assert len(leads) == 1_000
    return {number: expected_of(lead) for number, lead in enumerate(leads)}


def expected_of(lead: dict[str, str]) -> Found:
    asked = {
        "first_name": lead["first_name"],
        "last_name": lead["last_name"],
        "domain": lead["domain"].strip().lower().removeprefix("www."),
    }
    if not any(number(tool, asked) % 100 < rate for tool, rate in FINDERS.items()):
        return "", "no email"
    first, last, domain = (kept(asked[name]) for name in ("first_name", "last_name", "domain"))
    email = f"{first}.{last}@{domain}"
    return email, VERDICTS[number("sandbox_email_verifier", {"email": email}) % 5]


def number(tool: str, asked: dict[str, str]) -> int:
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return int(hashlib.sha256(f"{tool}|{canonical}".encode()).hexdigest()[:8], 16)


def kept(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter in KEPT)
