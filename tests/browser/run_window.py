"""A window that shows a run, for browser tests: signing in, looking at cells, counting requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import BrowserContext, Locator, Page, Request, expect

from plays.models import Membership, Role, Workspace


def make_member(name: str, workspace: Workspace, role: Role = Role.ADMIN) -> User:
    """Make a person who is a member of this workspace alone."""
    person = User.objects.create_user(name, password="made-up-password")
    Membership.objects.create(workspace=workspace, user=person, role=role)
    return person


def sign_in(context: BrowserContext, person: User, web_url: str) -> None:
    """Give the browser a session of this person, as the sign-in page would."""
    client = Client()
    client.force_login(person)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": web_url}])


@dataclass
class RunWindow:
    """One window with the page of a run."""

    page: Page
    url: str
    requests: list[Request] = field(default_factory=list)

    def open(self, place: str = "") -> RunWindow:
        """Open the page, and wait until its first rows are there and the socket is live."""
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.goto(self.url + place)
        expect(self.part("badge")).to_have_class("badge badge-live")
        return self

    def part(self, name: str) -> Locator:
        return self.page.locator(f'[data-run-part="{name}"]')

    def cell(self, number: int, column: str) -> Locator:
        """The cell of a row as people count, from 1."""
        return self.page.locator(f'.ag-row[row-id="{number - 1}"] [col-id="{column}"]')

    def expect_cell(self, number: int, column: str, state: str, text: str) -> None:
        cell = self.cell(number, column)
        expect(cell.locator(f".cell-{state}")).to_be_visible()
        expect(cell.locator(".cell-text")).to_have_text(text)

    def jump(self, number: int) -> None:
        self.part("jump").fill(str(number))
        self.part("jump").press("Enter")

    def texts(self, column: str) -> list[str]:
        """What the rows in the DOM show in a column, from top to bottom."""
        cells: list[list[Any]] = self.page.locator(f'.ag-row [col-id="{column}"]').evaluate_all(
            "cells => cells.map(c => [Number(c.closest('.ag-row').getAttribute('row-index')),"
            " c.querySelector('.cell-text').textContent])"
        )
        return [text for _, text in sorted(cells)]

    def rows_in_dom(self) -> int:
        return self.page.locator(".ag-row").count()

    def scroll_top(self) -> float:
        top: float = self.page.locator(".ag-body-viewport, .ag-grid-viewport").first.evaluate(
            "viewport => viewport.scrollTop"
        )
        return top
