"""What a person does on the run page: keyboard, panel, filters, columns, actions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from plays.models import Role, Workspace
from tests.browser.run_window import RunWindow, make_member, sign_in
from tests.fake_runs import FakeRun, make_run, refused_call
from tests.product import LiveProduct

OpenRun = Callable[[FakeRun], RunWindow]
BIG = 12345678901234567890


@pytest.fixture
def web(start_product: Callable[..., LiveProduct]) -> LiveProduct:
    return start_product(only=("web",))


@pytest.fixture
def workspace(web: LiveProduct) -> Workspace:
    return Workspace.objects.create(name="Acme")


@pytest.fixture
def open_run(context: BrowserContext, web: LiveProduct, workspace: Workspace) -> OpenRun:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(context, make_member("alice", workspace), web.web_url)

    def open_window(fake: FakeRun, place: str = "") -> RunWindow:
        window = RunWindow(context.new_page(), f"{web.web_url}/runs/{fake.run.pk}/")
        return window.open(place)

    return open_window


def completed_run(workspace: Workspace, values: dict[int, dict[str, object]]) -> FakeRun:
    fake = make_run(workspace, status="completed")
    fake.add_map(100)
    changes = []
    for position, named in values.items():
        cells = {name: {"status": "completed", "provider": "sandbox_a"} for name in named}
        changes.append((position, {"status": "completed", "values": named, "cells": cells}))
    fake.write(changes)
    return fake


# cases V18, J5
def test_copying_gives_the_exact_value(open_run: OpenRun, workspace: Workspace) -> None:
    long = "Long. " * 100
    fake = completed_run(workspace, {0: {"email": BIG, "verdict": long}})
    window = open_run(fake)
    expect(window.cell(1, "email").locator(".cell-text")).to_have_text(str(BIG))

    for column, value in (("email", str(BIG)), ("verdict", long)):
        window.cell(1, column).click()
        window.page.keyboard.press("Control+c")
        expect(window.page.get_by_text(f"{column} copied")).to_be_visible()
        assert window.page.evaluate("navigator.clipboard.readText()") == value


# case G3
def test_a_cell_of_five_megabytes_is_a_preview_until_it_is_opened(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = completed_run(workspace, {0: {"email": "x" * 5_000_000}})
    window = open_run(fake)
    assert len(window.cell(1, "email").locator(".cell-text").inner_text()) == 200

    window.cell(1, "email").dblclick()
    window.part("panel").get_by_text("Show all 5,000 thousand characters").click()

    assert len(window.page.locator(".panel-text").inner_text()) == 5_000_000


# case G1
def test_of_200_columns_only_those_in_sight_are_drawn(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace, status="completed")
    columns = [f"column_{number}" for number in range(200)]
    row = "(SELECT jsonb_object_agg('column_' || c, n) FROM generate_series(0, 199) AS c)"
    fake.add_map(1_000, columns=columns, row=row)
    window = open_run(fake)
    expect(window.cell(1, "column_0")).to_have_text("0")
    assert window.page.locator(".ag-cell").count() < 1_000
    assert window.page.locator("[aria-colcount]").first.get_attribute("aria-colcount") == "204"


# case G4
def test_search_filters_and_sorting_are_the_servers(
    open_run: OpenRun, workspace: Workspace
) -> None:
    people = {n: {"email": f"person{n}@acme.example"} for n in range(30)}
    fake = completed_run(workspace, people)
    window = open_run(fake)
    window.part("search").fill("PERSON2")
    expect(window.part("found")).to_have_text("11 of 100 rows fit")

    head = window.page.locator('.ag-header-cell[col-id="email"] .head')
    head.click()
    expect(window.page.locator('.ag-row[row-index="0"]')).to_contain_text("person20@")
    head.click()
    expect(window.page.locator('.ag-row[row-index="0"]')).to_contain_text("person2@")
    window.part("clear").click()
    expect(window.part("found")).to_have_text("")
    expect(window.page.locator('.ag-row[row-index="0"]')).to_contain_text("person0")

    window.page.get_by_role("button", name="70 pending").click()
    expect(window.part("found")).to_have_text("70 of 100 rows fit")
    expect(window.page.locator('.ag-row[row-index="0"]')).to_contain_text("first_name 31")


def test_a_column_is_filtered_by_the_states_of_its_cells(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = completed_run(workspace, {n: {"email": "a@acme.example"} for n in range(3)})
    fake.cell(7, "email", "missed", None)
    window = open_run(fake)
    window.page.locator('.ag-header-cell[col-id="email"]').hover()
    window.page.locator('.ag-header-cell[col-id="email"] .ag-header-cell-filter-button').click()
    window.page.get_by_label("not found1").check()
    window.page.get_by_role("button", name="Apply").click()

    expect(window.part("found")).to_have_text("1 of 100 rows fit")
    expect(window.cell(8, "email")).to_be_visible()


def test_the_keyboard_reaches_cells_and_their_panel(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = completed_run(workspace, {1: {"email": "ada@acme.example"}})
    window = open_run(fake)
    window.cell(1, "domain").click()
    window.page.keyboard.press("ArrowDown")
    window.page.keyboard.press("ArrowRight")
    window.page.keyboard.press("Enter")
    expect(window.part("panel-title")).to_have_text("email")
    expect(window.part("panel-body")).to_contain_text("ada@acme.example")
    assert window.page.url.endswith("row=2&column=email")

    window.page.keyboard.press("ArrowLeft")
    expect(window.part("panel-title")).to_have_text("domain")
    window.page.keyboard.press("Escape")
    expect(window.part("panel")).to_be_hidden()
    expect(window.cell(2, "domain")).to_be_focused()


def test_an_address_leads_to_its_row(open_run: OpenRun, workspace: Workspace) -> None:
    fake = completed_run(workspace, {79: {"email": "ada@acme.example"}})
    window = open_run(fake, "#row=80&column=email")
    expect(window.part("panel-title")).to_have_text("email")
    expect(window.cell(80, "email")).to_be_visible()


def test_columns_stay_as_a_person_arranged_them(open_run: OpenRun, workspace: Workspace) -> None:
    fake = completed_run(workspace, {0: {"email": "ada@acme.example"}})
    window = open_run(fake)
    window.part("columns-menu").locator("summary").click()
    window.page.get_by_label("last_name", exact=True).uncheck()
    window.page.get_by_label("Pin verdict").select_option("left")
    expect(window.cell(1, "last_name")).to_have_count(0)

    window.page.reload()

    pinned = window.page.locator(".ag-header-cell-last-left-pinned")
    expect(pinned).to_have_attribute("col-id", "verdict")
    expect(window.cell(1, "last_name")).to_have_count(0)


def test_a_run_is_cancelled_from_its_page(open_run: OpenRun, workspace: Workspace) -> None:
    fake = make_run(workspace, status="queued", started_at=None)
    window = open_run(fake)
    before = len(window.requests)
    window.page.locator("summary", has_text="Cancel").click()
    window.page.get_by_role("button", name="Cancel this run").click()

    expect(window.part("status")).to_have_text("Cancelled")
    expect(window.part("note")).to_contain_text("Cancelled by a person.")
    expect(window.page.locator("summary", has_text="Cancel")).to_be_hidden()
    assert [one.method for one in window.requests[before:]] == ["POST"]


def test_a_viewer_sees_a_run_and_nothing_to_press(
    context: BrowserContext, web: LiveProduct, workspace: Workspace
) -> None:
    fake = make_run(workspace, status="queued")
    sign_in(context, make_member("vera", workspace, Role.VIEWER), web.web_url)
    window = RunWindow(context.new_page(), f"{web.web_url}/runs/{fake.run.pk}/").open()
    expect(window.page.get_by_role("button", name="Pause")).to_have_count(0)


def test_a_stranger_finds_no_page(
    context: BrowserContext, web: LiveProduct, workspace: Workspace
) -> None:
    fake = make_run(workspace)
    elsewhere = Workspace.objects.create(name="Elsewhere")
    sign_in(context, make_member("charlie", elsewhere), web.web_url)
    answer = context.new_page().goto(f"{web.web_url}/runs/{fake.run.pk}/")
    assert answer is not None
    assert answer.status == 404


def test_the_trace_opens_step_by_step_with_the_keyboard(
    open_run: OpenRun, workspace: Workspace
) -> None:
    # rule 14.2
    fake = completed_run(workspace, {0: {"email": "a@b.example"}})
    window = open_run(fake)
    window.part("trace-toggle").click()
    expect(window.part("trace-empty")).to_contain_text("Nothing yet")

    result = {"row": 7, "status": "completed", "value": "<b>x</b>", "provider": "a", "error": ""}
    fake.trace("m", told={"kind": "map", "title": "Leads", "items": 100, "status": "completed"},
               counts={"completed": 98, "failed": 2})  # fmt: skip
    fake.trace("w", "m", told={"kind": "waterfall", "id": "email_finder"},
               counts={"completed": 60, "missed": 40}, results=[result])  # fmt: skip
    fake.trace("p", "w", told={"kind": "part", "id": "sandbox_a", "tool": "sandbox_a_email_finder"},
               counts={"completed": 60, "missed": 40})  # fmt: skip
    fake.touch({})
    window.page.reload()
    window.part("trace-toggle").focus()
    window.page.keyboard.press("Enter")
    step = window.part("trace-body").get_by_text("Leads", exact=True)
    expect(step).to_be_visible()
    expect(window.part("trace-body").get_by_text("98 completed")).to_be_visible()
    expect(window.part("trace-body").get_by_text("email_finder", exact=True)).to_have_count(0)
    for key in ("m", "w"):
        window.page.locator(f'details[data-key="{key}"] > summary').focus()
        window.page.keyboard.press("Enter")
    expect(window.part("trace-body").get_by_text("sandbox_a_email_finder")).to_be_visible()
    expect(window.part("trace-body").locator(".trace-value")).to_have_text("<b>x</b>")
    expect(window.part("trace-body").get_by_text("The first 1 of 100")).to_be_visible()


def test_a_run_that_a_provider_stopped_offers_to_go_on_without_it(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace, status="paused", stop_reason="provider", stop_message="it is locked")
    fake.add_map(10)
    refused_call(fake)
    window = open_run(fake)
    window.page.get_by_role("button", name="Resume without sandbox_a").click()
    expect(window.part("status")).to_have_text("Queued")
    expect(window.part("left-out")).to_have_text("Without sandbox_a")
    expect(window.page.get_by_role("button", name="Resume without")).to_have_count(0)


NONE = "\N{EN DASH}"

PACE = """async () => {
    const page = document.querySelector("script[type=module]").src;
    const { Pace } = await import(new URL("pace.js", page));
    let now = 0;
    performance.now = () => now;
    const pace = new Pace();
    const speeds = [];
    const add = (at, done, isRunning) => {
        now = at * 1000;
        pace.add(1, done, 1000, isRunning);
        speeds.push(pace.speed());
    };
    add(0, 0, true);
    add(10, 100, true);
    add(20, 200, false);
    add(3600, 200, true);
    add(3610, 300, true);
    add(3700, 400, true);
    return speeds;
}"""


def test_the_speed_is_that_of_the_last_minute_and_a_pause_does_not_lower_it(
    open_run: OpenRun, workspace: Workspace
) -> None:
    window = open_run(completed_run(workspace, {}))
    assert window.page.evaluate(PACE) == [
        NONE, "10 rows/s", NONE, NONE, "10 rows/s", "1 rows/s"
    ]  # fmt: skip


def test_chosen_rows_are_asked_again_also_those_that_are_out_of_sight(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace, status="completed")
    fake.add_map(20_000)
    window = open_run(fake)
    window.page.locator('.ag-row[row-id="2"] .ag-selection-checkbox input').click()
    window.jump(18_001)
    window.page.locator('.ag-row[row-id="18000"] .ag-selection-checkbox input').click()
    window.page.keyboard.press("ArrowDown")
    window.page.keyboard.press("Space")
    retry = window.page.get_by_role("button", name="Retry 3 rows")
    expect(retry).to_be_visible()
    expect(window.part("panel")).to_be_hidden()

    retry.click()

    window.page.wait_for_url(lambda url: str(fake.run.pk) not in url)
    assert fake.run.retries.get().selection == {"rows": [2, 18_000, 18_001], "fields": None}


def test_rows_of_a_run_that_goes_on_cannot_be_chosen(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace)
    fake.add_map(10)
    window = open_run(fake)
    expect(window.cell(1, "domain")).to_be_visible()
    expect(window.page.locator(".ag-selection-checkbox")).to_have_count(0)
    fake.set(status="completed")
    fake.touch({})
    window.page.reload()
    expect(window.page.locator(".ag-selection-checkbox").first).to_be_visible()
