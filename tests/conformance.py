"""Every rule of ``docs/rules.md`` with the tests that name it, run: ``python -m tests.conformance``.

A test names its rules in a comment of its own, ``# rule 8.12, 9.13``. Prints a line for each rule and test,
and fails where a rule has no test, where a test of a rule does not pass, or where a test names a rule that
there is not.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RULE = re.compile(r"^- \*\*(\d+\.\d+)\*\* ", re.MULTILINE)
NAMED = re.compile(r"# rule (\d+\.\d+(?:, \d+\.\d+)*)")

Tests = dict[str, list[str]]
"""The ids of the tests that name a rule, by rule."""


def main() -> int:
    """Run the tests of all rules; give 0 where each rule has some and all of them passed."""
    rules = RULE.findall((ROOT / "docs" / "rules.md").read_text())
    tests = named_tests(ROOT / "tests")
    results = _Results()
    asked = sorted({test for named in tests.values() for test in named})
    pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", *asked], plugins=[results])
    bad = list(_told(rules, tests, results.by_test))
    unknown = sorted(set(tests) - set(rules))
    for rule in unknown:
        print(f"{rule:<6} is no rule, and is named by {', '.join(tests[rule])}")
    good = len(rules) - len(set(bad))
    print(f"{good} of {len(rules)} rules have tests and pass")
    return 1 if bad or unknown else 0


def _told(rules: list[str], tests: Tests, by_test: dict[str, str]) -> Iterator[str]:
    """Print the table; give the rules that are not well."""
    for rule in rules:
        if rule not in tests:
            print(f"{rule:<6} no test")
            yield rule
        for test in tests.get(rule, []):
            result = by_test.get(test, "not run")
            print(f"{rule:<6} {result:<8} {test}")
            if result != "passed":
                yield rule


def named_tests(root: Path) -> Tests:
    """Find the tests below ``root`` that name rules."""
    tests: Tests = defaultdict(list)
    for path in sorted(root.rglob("test_*.py")):
        text = path.read_text()
        functions = _functions(text)
        for line, rule in _comments(text):
            for name, first, last in functions:
                if first <= line <= last:
                    tests[rule].append(f"{path.relative_to(ROOT)}::{name}")
    return tests


def _functions(text: str) -> list[tuple[str, int, int]]:
    """Give name, first line (with decorators) and last line of each test function of a module."""
    return [
        (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or 0)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]  # fmt: skip


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and (found := NAMED.match(token.string)):
            for rule in found[1].split(", "):
                yield token.start[0], rule


class _Results:
    """A pytest plugin: how each test function ended, the worst of its parameters' results."""

    def __init__(self) -> None:
        self.by_test: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid.split("[")[0]
        counts = report.when == "call" or report.outcome != "passed"
        if counts and self.by_test.get(test) != "failed":
            self.by_test[test] = report.outcome


if __name__ == "__main__":
    sys.exit(main())
