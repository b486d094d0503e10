"""Settings: what pages may load, the files that they load, and mistakes told in a sentence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.checks import run_checks

from deepline_site.programs import MANAGE


def test_no_page_may_run_inline_script_or_load_from_elsewhere() -> None:
    allowed = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert allowed["script-src"] == ["'self'"]
    sources = {str(source) for directive in allowed.values() for source in directive}
    assert not [source for source in sources if "http" in source or source == "*"]
    assert not [source for source in sources if "unsafe" in source]


def test_the_front_end_packages_are_served_and_only_their_needed_files() -> None:
    for path in settings.VENDOR_FILES:
        assert finders.find(path), f"{path} is missing: run `make setup`"
    assert not finders.find("vendor/ag-grid/package.json")


def test_the_system_checks_find_nothing() -> None:
    assert run_checks() == []


def test_mistakes_in_the_environment_are_told_all_at_once() -> None:
    told = manage("check", PORT="0", DEEPLINE_LEASE_SECONDS="soon", PLAY_ISOLATION="some")
    assert told.returncode != 0
    assert "(plays.E001) PORT must be a whole number from 1 to 65535, not '0'." in told.stderr
    assert "DEEPLINE_LEASE_SECONDS must be a number of at least 1.0, not 'soon'." in told.stderr
    assert "PLAY_ISOLATION must be one of auto, strict, off, not 'some'." in told.stderr
    assert "Traceback" not in told.stderr


def test_a_home_that_cannot_be_one_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = manage("check", DEEPLINE_HOME=str(tmp_path / "file"))
    assert told.returncode != 0
    assert told.stderr == f"DEEPLINE_HOME: {tmp_path / 'file'} cannot be used: File exists.\n"


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MANAGE, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
