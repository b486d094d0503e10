"""The home: where state lies, who can read it, and what survives a second look."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deepline_site.home import PROJECT, Home, Product

TELL_SECRET = """
import pathlib, sys
from deepline_site.home import Home
print(Home(pathlib.Path(sys.argv[1])).secret("s"))
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_naming_a_home_writes_nothing(home: Home) -> None:
    assert home.uploads == home.path / "uploads"
    assert not home.path.exists()


def test_without_a_setting_the_home_lies_beside_manage_py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPLINE_HOME", "  ")
    assert Home.from_environment().path == PROJECT / ".deepline"
    assert (PROJECT / "manage.py").exists()


def test_a_relative_setting_counts_from_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPLINE_HOME", "here")
    assert Home.from_environment().path == tmp_path / "here"


def test_nobody_else_can_list_or_read_a_home(home: Home) -> None:
    home.secret("secret_key")
    home.server("postgres")
    assert mode(home.path) & 0o066 == 0
    inside = [path for path in home.path.rglob("*") if path.parent == home.path]
    assert inside
    assert all(mode(path) & 0o077 == 0 for path in inside)


def test_a_home_that_was_opened_is_closed_again(home: Home) -> None:
    home.prepare()
    home.path.chmod(0o777)
    home.prepare()
    assert mode(home.path) & 0o066 == 0


def test_secrets_ports_and_passwords_are_chosen_once(home: Home) -> None:
    first = (home.secret("secret_key"), home.server("postgres"), home.server("valkey"))
    again = Home(home.path)
    assert (again.secret("secret_key"), again.server("postgres"), again.server("valkey")) == first
    assert len({home.secret("secret_key"), first[1].password, first[2].password}) == 3


def test_a_moved_server_keeps_its_password(home: Home) -> None:
    before = home.server("valkey")
    moved = home.move_server("valkey")
    assert moved.password == before.password
    assert home.server("valkey") == moved


def test_processes_that_begin_together_agree_on_one_secret(home: Home) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TELL_SECRET, str(home.path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )
        for _ in range(4)
    ]
    secrets = {process.communicate()[0] for process in processes}
    assert len(secrets) == 1
    assert sorted(path.name for path in home.path.iterdir()) == ["run", "s", "uploads"]


def test_a_lock_is_held_by_one_and_shared_by_several(home: Home) -> None:
    with home.lock("one"):
        assert home.is_locked("one")
        with pytest.raises(BlockingIOError), home.lock("one", wait=False):
            pass
    assert not home.is_locked("one")
    with home.lock("many", shared=True), home.lock("many", shared=True, wait=False):
        assert home.is_locked("many")


def test_the_addresses_of_a_product_are_told_only_while_it_runs(home: Home) -> None:
    product = Product("http://127.0.0.1:8000", "http://127.0.0.1:8001")
    home.prepare()
    home.write_product(product)
    assert home.product() is None
    with home.lock("serve"):
        assert home.product() == product


def test_addresses_hold_the_password_in_a_form_that_parses(home: Home) -> None:
    server = home.server("postgres")
    assert home.database_url() == (
        f"postgresql://deepline:{server.password}@127.0.0.1:{server.port}/deepline"
    )
    assert home.database_url("other").endswith("/other")
