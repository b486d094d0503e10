"""Settings: what pages may load, and files that they load."""

from __future__ import annotations

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.checks import run_checks


def test_no_page_may_run_inline_script_or_load_from_elsewhere() -> None:
    allowed = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert allowed["script-src"] == ["'self'"]
    sources = {str(source) for directive in allowed.values() for source in directive}
    assert not [source for source in sources if "http" in source or source == "*"]


def test_the_front_end_packages_are_served_and_only_their_needed_files() -> None:
    for path in settings.VENDOR_FILES:
        assert finders.find(path), f"{path} is missing: run `make setup`"
    assert not finders.find("vendor/ag-grid/package.json")


def test_the_system_checks_find_nothing() -> None:
    assert run_checks() == []
