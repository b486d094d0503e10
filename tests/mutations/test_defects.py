"""The tests of the rules fail where an old defect is back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.defects import DEFECTS, Defect

ROOT = Path(__file__).parents[2]
CONFIGURATION = "[pytest]\nasyncio_mode = auto\naddopts = --import-mode=importlib\n"
SOUND = "sound"
PASSED, FAILED = 0, 1

pytestmark = pytest.mark.timeout(600)  # the first test runs them all


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The exit code of each defect's test, with the defect and without it."""
    root = tmp_path_factory.mktemp("trees")
    (root / "pytest.ini").write_text(CONFIGURATION)
    shutil.copytree(ROOT / "tests" / "unit" / "runtime", root / "tests" / "unit" / "runtime")
    trees = {}
    for number, defect in enumerate(DEFECTS):
        if _write_tree(root / str(number), defect):
            trees[str(number)] = [defect.test]
    shutil.copytree(ROOT / "runtime", root / SOUND / "runtime")
    trees[SOUND] = sorted({defect.test for defect in DEFECTS})
    (root / "trees.json").write_text(json.dumps(trees))
    return _run(root)


def _write_tree(tree: Path, defect: Defect) -> bool:
    """Copy the engine with the defect; False: the place that it changes is not there as it was."""
    shutil.copytree(ROOT / "runtime", tree / "runtime", ignore=shutil.ignore_patterns("*.pyc"))
    path = tree / "runtime" / defect.file
    text = path.read_text()
    path.write_text(text.replace(defect.old, defect.new))
    return text.count(defect.old) == 1


def _run(root: Path) -> dict[str, int]:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": ""}
    told = subprocess.run(
        [sys.executable, ROOT / "tests" / "mutations" / "runner.py", root],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    codes: dict[str, int] = json.loads(told.stdout)
    return codes


@pytest.mark.parametrize("number", range(len(DEFECTS)), ids=[defect.name for defect in DEFECTS])
def test_a_rules_test_fails_where_its_defect_is_back(results: dict[str, int], number: int) -> None:
    file = DEFECTS[number].file
    assert str(number) in results, f"runtime/{file} has changed: say anew how the defect comes back"
    assert results[str(number)] == FAILED


def test_the_same_tests_pass_where_no_defect_is_back(results: dict[str, int]) -> None:
    assert results[SOUND] == PASSED
