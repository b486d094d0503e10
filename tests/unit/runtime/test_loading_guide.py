"""The author's guide: every example in it is a play without problems, and runs to its end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plays.tools import catalogue
from plays.tools.sandbox import rules
from runtime.engine import Engine, RunForm
from runtime.events import RunStatus
from runtime.loading import check, code_digest, load
from runtime.memory import MemoryPorts, hit, miss

GUIDE = Path(__file__).parents[3] / "docs" / "writing-plays.md"
BLOCK = re.compile(r"^```(python|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = BLOCK.findall(GUIDE.read_text())
FORMS = {"python": ("module", "example.py"), "yaml": ("definition", "example.yaml")}

LEADS = [
    {"first_name": "Ada", "last_name": "Stone", "domain": "one.example", "company": "One"},
    {"first_name": "Alan", "last_name": "Woods", "domain": "Two.test", "company": ""},
    {"first_name": "Grace", "last_name": "Hills", "domain": "three.test", "company": "Three"},
]
COMPANIES = [
    {"domain": "one.example", "country": "nl"},
    {"domain": "Two.test", "country": " "},
    {"domain": "a-long-name.example", "country": "fr"},
]
PAGE = {"status": 200, "status_text": "OK", "headers": {}, "body_text": "{}"}


def sandbox(tool: str) -> Callable[[Any], Any]:
    """Give a tool that answers as the sandbox does, and a web where every page is empty."""

    def answer(given: Any) -> Any:
        if tool == "http_fetch":
            return hit(PAGE | {"url": given["url"]})
        result = rules.outcome(tool, given)
        return hit(result) if result is not None else miss()

    return answer


def test_the_guide_has_examples_of_both_kinds() -> None:
    assert {language for language, _ in EXAMPLES} == set(FORMS)
    assert len(EXAMPLES) >= 10


A_WEEK = 7 * 86_400.0


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[1].split("\n")[0])
def test_an_example_has_no_problems(example: tuple[str, str]) -> None:
    _, filename = FORMS[example[0]]
    found = check(filename, example[1].encode(), known_tools=catalogue().ids())
    assert found.problems == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[1].split("\n")[0])
async def test_an_example_runs_to_its_end(example: tuple[str, str]) -> None:
    form, filename = FORMS[example[0]]
    play = load(form, filename, example[1].encode())
    specs = [spec for tool in catalogue().ids() if (spec := catalogue().spec(tool))]
    ports = MemoryPorts(
        uploads={"upload:1": LEADS, "upload:2": COMPANIES},
        tools=specs,
        scripts={spec.id: sandbox(spec.id) for spec in specs},
    )
    run_form = RunForm(ports.run.id, play.name, {})
    while True:
        engine = Engine(
            play, ports, run_form, digest_of=code_digest, load=lambda told: (play, code_digest)
        )
        outcome = await engine.run({"leads": "upload:1", "companies": "upload:2"})
        if outcome.status is not RunStatus.WAITING:
            break
        await ports.clock.sleep(A_WEEK)
        ports = ports.next()
    assert (outcome.status, outcome.error) == (RunStatus.COMPLETED, None)
    cells = [
        cell["status"]
        for frame in ports.store.frames.values()
        for row in frame.rows.values()
        for cell in row.cells.values()
    ]
    assert cells
    assert set(cells) <= {"completed", "missed", "skipped"}
