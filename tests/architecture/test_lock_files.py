"""The lock files: exact, with digests, and usable with any registry."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from deepline_site.home import PROJECT

REQUIREMENTS = (PROJECT / "requirements.lock").read_text()
BENCHMARKS = (PROJECT / "benchmarks" / "requirements.lock").read_text()
PACKAGES = json.loads((PROJECT / "package-lock.json").read_text())["packages"]


def test_lock_files_name_no_host() -> None:
    for text in (REQUIREMENTS, BENCHMARKS, json.dumps(PACKAGES)):
        found = re.findall(r"https?://[^\s\"']+|--(?:extra-)?index-url.*|registry\.\S+", text)
        assert found == [], "remove `resolved` and `funding` addresses from the lock file"


@pytest.mark.parametrize("text", [REQUIREMENTS, BENCHMARKS], ids=["product", "benchmarks"])
def test_every_python_package_is_pinned_with_digests(text: str) -> None:
    entries = re.split(r"\n(?=\S)", text.strip())
    pinned = [entry for entry in entries if not entry.startswith("#")]
    assert pinned
    assert all(re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", entry) for entry in pinned)
    assert all("--hash=sha256:" in entry for entry in pinned)


def test_every_declared_python_package_is_locked() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    locked = {_plain(name) for name in re.findall(r"^([\w.-]+)", REQUIREMENTS, re.MULTILINE)}
    assert {_plain(re.split(r"[^\w.-]", entry)[0]) for entry in declared} <= locked


def test_every_front_end_package_is_pinned_with_a_digest() -> None:
    installed = {name: entry for name, entry in PACKAGES.items() if name}
    assert installed
    assert all("integrity" in entry for entry in installed.values())
    wanted = PACKAGES[""]["dependencies"] | PACKAGES[""]["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
