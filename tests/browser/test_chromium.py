"""The browser of the tests is a real one."""

from __future__ import annotations

from playwright.sync_api import Page


def test_chromium_lays_out_and_runs_scripts(page: Page) -> None:
    page.set_content("<p id=mark>before</p>")
    page.evaluate("document.getElementById('mark').textContent = [1, 2].map(n => n * 2).join()")
    mark = page.locator("#mark")
    assert mark.inner_text() == "2,4"
    box = mark.bounding_box()
    assert box is not None
    assert box["height"] > 0
