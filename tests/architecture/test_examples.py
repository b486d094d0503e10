"""The sample files: made by their script, unique where plays need it, and nobody's real data."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from deepline_site.home import PROJECT

EXAMPLES = PROJECT / "examples"
SIZES = (25, 1_000, 10_000)
# Endings at which the sandbox provider misbehaves on purpose.
MISBEHAVING = tuple(
    f"{word}.test"
    for word in (
        *("rate-limited", "flaky", "down", "rejected", "unauthorized"),
        *("no-credits", "slow", "garbage", "short-batch", "shuffled"),
    )
)


def rows(name: str) -> list[dict[str, str]]:
    with (EXAMPLES / "data" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_the_script_makes_the_committed_files_whatever_the_hash_seed(tmp_path: Path) -> None:
    script = tmp_path / "make_data.py"
    script.write_text((EXAMPLES / "make_data.py").read_text())
    subprocess.run([sys.executable, script], check=True, env={"PYTHONHASHSEED": "7"})
    made = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    assert made == {path.name: path.read_bytes() for path in (EXAMPLES / "data").iterdir()}


@pytest.mark.parametrize("size", SIZES)
def test_leads_are_many_different_people(size: int) -> None:
    found = rows(f"leads_{size}.csv")
    assert len({(row["first_name"], row["last_name"], row["domain"]) for row in found}) == size
    assert len({row["linkedin_url"] for row in found}) == size
    assert len(found) == size


@pytest.mark.parametrize("size", SIZES)
def test_companies_have_a_domain_each(size: int) -> None:
    assert len({row["domain"] for row in rows(f"companies_{size}.csv")}) == size


def test_names_are_as_various_as_real_ones() -> None:
    names = {row["last_name"] for row in rows("leads_1000.csv")}
    assert any("'" in name for name in names)
    assert any("-" in name for name in names)
    assert any(" " in name for name in names)
    assert any(not name.isascii() for name in names)


@pytest.mark.parametrize("size", SIZES)
def test_domains_belong_to_nobody_and_behave(size: int) -> None:
    for name in (f"leads_{size}.csv", f"companies_{size}.csv"):
        for row in rows(name):
            assert row["domain"].endswith((".example", ".test"))
            assert not any(value.endswith(MISBEHAVING) for value in row.values())
