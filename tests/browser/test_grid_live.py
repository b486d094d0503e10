"""The run page of stored runs: large ones, changing ones, several windows."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import BrowserContext, expect

from plays.live import ahint
from plays.models import Workspace
from tests.browser.run_window import RunWindow, make_member, sign_in
from tests.fake_runs import FakeRun, make_run
from tests.product import LiveProduct

EMAIL = {"email": {"status": "completed"}}

OpenRun = Callable[[FakeRun], RunWindow]


@pytest.fixture
def web(start_product: Callable[..., LiveProduct]) -> LiveProduct:
    return start_product(only=("web",))


@pytest.fixture
def workspace(web: LiveProduct) -> Workspace:
    return Workspace.objects.create(name="Acme")


@pytest.fixture
def open_run(context: BrowserContext, web: LiveProduct, workspace: Workspace) -> OpenRun:
    """Open a run in another window of Alice's."""
    sign_in(context, make_member("alice", workspace), web.web_url)

    def open_window(fake: FakeRun) -> RunWindow:
        return RunWindow(context.new_page(), f"{web.web_url}/runs/{fake.run.pk}/").open()

    return open_window


def told(fake: FakeRun, sequence: int) -> None:
    """Hint as a worker does; in a thread, because Playwright's loop occupies this one."""
    with ThreadPoolExecutor(1) as worker:
        worker.submit(asyncio.run, ahint(fake.run.pk, sequence)).result()


def test_changes_arrive_without_any_request(open_run: OpenRun, workspace: Workspace) -> None:
    fake = make_run(workspace)
    fake.add_map(1_000)
    window = open_run(fake)
    expect(window.cell(1, "first_name")).to_contain_text("first_name 1")
    before = len(window.requests)

    told(fake, fake.cell(0, "email", "queued", provider="sandbox_a"))
    window.expect_cell(1, "email", "queued", "Queued for sandbox_a")
    told(fake, fake.cell(0, "email", "running", provider="sandbox_a"))
    window.expect_cell(1, "email", "running", "Asking sandbox_a")
    told(fake, fake.cell(0, "email", "completed", "ada@acme.example", provider="sandbox_a"))
    window.expect_cell(1, "email", "completed", "ada@acme.example")
    told(fake, fake.cell(2, "email", "missed", None))
    window.expect_cell(3, "email", "missed", "Not found")
    told(fake, fake.write([(0, {"status": "completed"})]))
    expect(window.part("rows-done")).to_have_text("1")
    told(fake, fake.log("sandbox_a answered"))
    expect(window.part("log-last")).to_have_text("sandbox_a answered")
    told(fake, fake.set(status="paused", stop_reason="limit", stop_message="The limit is used up."))
    expect(window.part("status")).to_have_text("Paused")
    expect(window.part("note")).to_contain_text("The limit is used up.")

    assert [request.url for request in window.requests[before:]] == []


def test_what_changed_out_of_sight_is_right_when_it_comes_back(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace)
    fake.add_map(1_000)
    window = open_run(fake)
    expect(window.cell(1, "first_name")).to_contain_text("first_name 1")
    window.jump(900)
    expect(window.cell(900, "first_name")).to_contain_text("first_name 900")
    told(fake, fake.cell(0, "email", "completed", "ada@acme.example"))
    told(fake, fake.cell(899, "email", "missed", None))
    window.expect_cell(900, "email", "missed", "Not found")
    before = len(window.requests)

    window.jump(1)

    window.expect_cell(1, "email", "completed", "ada@acme.example")
    assert window.requests[before:] == []


def test_two_windows_show_the_same(open_run: OpenRun, workspace: Workspace) -> None:
    fake = make_run(workspace)
    fake.add_map(200)
    one, other = open_run(fake), open_run(fake)
    for position in range(20):
        state = ("completed", "missed", "failed", "running")[position % 4]
        value = f"person{position}@acme.example" if state == "completed" else None
        told(fake, fake.cell(position, "email", state, value))
    told(fake, fake.write([(19, {"status": "running"})]))

    for window in (one, other):
        expect(window.cell(20, "#row").locator(".row-running")).to_be_visible()
    assert one.texts("email")[:20] == other.texts("email")[:20]
    assert one.texts("email")[0] == "person0@acme.example"


# case G7
def test_updates_move_neither_scroll_nor_focus_nor_the_open_panel(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace)
    fake.add_map(1_000)
    window = open_run(fake)
    window.jump(500)
    window.cell(500, "domain").click()
    window.page.keyboard.press("Enter")
    expect(window.part("panel-title")).to_have_text("domain")
    expect(window.part("panel-body")).to_contain_text("domain 500")
    top = window.scroll_top()

    for position in range(480, 520):
        fake.cell(position, "email", "completed", f"person{position}@acme.example")
    told(fake, fake.write([(499, {"status": "completed"})]))
    window.expect_cell(500, "email", "completed", "person499@acme.example")

    assert window.scroll_top() == top
    expect(window.part("panel-title")).to_have_text("domain")
    expect(window.cell(500, "domain")).to_be_focused()


# case W3
def test_after_a_lost_connection_the_page_catches_up_by_itself(
    open_run: OpenRun, workspace: Workspace, web: LiveProduct
) -> None:
    fake = make_run(workspace)
    fake.add_map(100)
    window = open_run(fake)
    expect(window.cell(1, "first_name")).to_contain_text("first_name 1")
    web.web.kill()
    expect(window.part("badge")).to_have_text("Reconnecting")
    fake.cell(0, "email", "completed", "ada@acme.example")
    fake.log("said while nobody listened")
    fake.write([(0, {"status": "completed"})])
    before = len(window.requests)

    web.start(web.web.program)

    window.expect_cell(1, "email", "completed", "ada@acme.example")
    expect(window.part("badge")).to_have_text("Live")
    expect(window.part("rows-done")).to_have_text("1")
    expect(window.part("log-last")).to_have_text("said while nobody listened")
    assert [one.url for one in window.requests[before:] if "/api/" in one.url] == []


def test_a_map_that_opens_later_is_shown_when_it_opens(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace, status="queued", started_at=None)
    window = open_run(fake)
    expect(window.part("empty")).to_contain_text("Waiting for a worker")
    told(fake, fake.set(status="running"))
    expect(window.part("empty")).to_contain_text("has not opened a table yet")

    fake.add_map(30)
    told(fake, fake.touch({}))
    expect(window.cell(9, "first_name")).to_contain_text("first_name 9")
    fake.add_map(5, table="companies", columns=["domain"])
    told(fake, fake.touch({}))
    window.page.get_by_role("tab", name="companies").click()
    expect(window.cell(5, "domain")).to_contain_text("domain 5")
    told(
        fake,
        fake.write([(4, {"values": {"email": "x@acme.example"}, "cells": EMAIL})], fake.frames[1]),
    )

    window.expect_cell(5, "email", "completed", "x@acme.example")
    frame = re.compile(rf"frame={fake.frames[1].pk}$")
    expect(window.part("download")).to_have_attribute("href", frame)


def test_the_last_of_100000_rows_is_shown_within_a_second(
    open_run: OpenRun, workspace: Workspace
) -> None:
    fake = make_run(workspace, status="completed")
    fake.add_map(100_000)
    window = open_run(fake)
    expect(window.cell(1, "domain")).to_contain_text("domain 1")
    window.part("jump").fill("100000")

    started = time.monotonic()
    window.part("jump").press("Enter")
    expect(window.cell(100_000, "domain")).to_contain_text("domain 100000")
    took = time.monotonic() - started

    assert took < 1.0
    assert window.rows_in_dom() < 200
    rows = window.page.locator("[aria-rowcount]").first
    assert rows.get_attribute("aria-rowcount") == "100001"
    # A pixel of scrolling is a pixel of rows, however many there are.
    assert rows.evaluate("grid => grid.scrollHeight") > 3_400_000
