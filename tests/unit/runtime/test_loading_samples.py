"""The sample plays: their pipelines in full, and what they give on the engine with the sandbox's rules."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from plays.tools import catalogue
from plays.tools.sandbox import rules
from runtime.engine import Engine, RunForm, RunOutcome
from runtime.events import RunStatus
from runtime.loading import check, code_digest, load
from runtime.memory import MemoryPorts
from runtime.memory.gateway import hit, miss
from runtime.ports import MemberOutcome

EXAMPLES = Path(__file__).parents[3] / "examples"
SAMPLES = sorted((EXAMPLES / "plays").iterdir())

Row = dict[str, Any]


def sandbox(tool: str) -> Callable[[Any], MemberOutcome]:
    """Give a tool that answers as the sandbox does."""

    def answer(given: Any) -> MemberOutcome:
        result = rules.outcome(tool, given)
        return hit(result) if result is not None else miss()

    return answer


def records(name: str) -> list[dict[str, str]]:
    """Read a sample file."""
    with (EXAMPLES / "data" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def no_matter(digest: str) -> None:
    """Take no notice of a step's digest."""


async def run(
    sample: str,
    upload: str,
    given: Mapping[str, Any],
    note: Callable[[str], None] = no_matter,
) -> tuple[RunOutcome, list[Row]]:
    """Run a sample over a sample file; give the outcome and the rows of its last map.

    ``note`` is told the digest of every step.
    """
    path = EXAMPLES / "plays" / sample
    form = "definition" if path.suffix == ".yaml" else "module"
    play = load(form, path.name, path.read_bytes())
    specs = [spec for tool in catalogue().ids() if (spec := catalogue().spec(tool))]
    ports = MemoryPorts(
        uploads={"upload:1": records(upload)},
        tools=specs,
        scripts={spec.id: sandbox(spec.id) for spec in specs},
    )
    run_form = RunForm(ports.run.id, play.name, {})

    def digest_of(resolver: object) -> str:
        digest = code_digest(resolver)
        note(digest)
        return digest

    engine = Engine(play, ports, run_form, digest_of=digest_of, load=lambda told: (play, digest_of))
    outcome = await engine.run(given)
    last = max(ports.store.frames)
    return outcome, [
        {**row.input, **row.values} for _, row in sorted(ports.store.frames[last].rows.items())
    ]


def test_there_are_three_sample_plays_and_a_definition() -> None:
    assert [path.name for path in SAMPLES if path.suffix in (".py", ".yaml")] == [
        "company_facts.yaml",
        "company_segments.py",
        "email_waterfall.py",
        "people_search.py",
    ]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_has_no_problems_and_says_what_it_is(path: Path) -> None:
    found = check(path.name, path.read_bytes(), known_tools=catalogue().ids())
    assert found.problems == []
    assert found.name == path.stem
    assert found.description
    assert found.input_schema is not None
    read = {each["name"] for each in found.pipeline["inputs"]}
    assert read == set(found.input_schema["properties"])


def test_the_pipelines_of_the_samples_are_those_of_their_texts() -> None:
    told = {
        path.name: check(path.name, path.read_bytes(), known_tools=catalogue().ids()).pipeline
        for path in SAMPLES
    }
    assert told == json.loads(Path(__file__).with_name("loading_pipelines.json").read_text())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
async def test_every_step_of_a_sample_can_be_reused(path: Path) -> None:
    upload = "leads_25.csv" if path.stem == "email_waterfall" else "companies_25.csv"
    digests: list[str] = []
    for _ in range(2):
        given = {"leads": "upload:1", "companies": "upload:1"}
        await run(path.name, upload, given, digests.append)
    half = len(digests) // 2
    assert digests[:half] == digests[half:]
    assert len(set(digests)) == half
    assert all(digests)


async def test_the_email_sample_finds_and_verifies() -> None:
    outcome, rows = await run("email_waterfall.py", "leads_25.csv", {"leads": "upload:1"})
    assert outcome.status is RunStatus.COMPLETED
    assert len(rows) == 25
    for row in rows:
        given = {
            "first_name": row["first_name"],
            "last_name": row["last_name"],
            "domain": row["domain"].strip().lower().removeprefix("www."),
        }
        found = [rules.outcome(f"sandbox_{letter}_email_finder", given) for letter in "abc"]
        email = next((each["email"] for each in found if each), None)
        assert row["email"] == email
        verdict = email and rules.outcome("sandbox_email_verifier", {"email": email})["verdict"]
        assert row["verdict"] == (verdict or "no email")
    assert outcome.result["dataset"]["columns"] == [
        *("first_name", "last_name", "domain", "company", "linkedin_url"),
        *("email", "verdict"),
    ]


async def test_the_segments_sample_chains_two_maps() -> None:
    given = {"companies": "upload:1", "enterprise_from": 10_000}
    outcome, rows = await run("company_segments.py", "companies_25.csv", given)
    assert outcome.status is RunStatus.COMPLETED
    for row in rows:
        found = rules.outcome("sandbox_company_enrichment", {"domain": row["domain"]})
        assert row["segment"] == (_segment(found["company"]) if found else "unknown")
    assert {row["segment"] == "unknown" for row in rows} == {True, False}


def _segment(company: Row) -> str:
    sizes = {10: "small business", 100: "mid-market", 1_000: "mid-market", 10_000: "enterprise"}
    return f"{sizes[company['employees']]} / {company['industry'].lower()}"


async def test_the_people_sample_fans_out() -> None:
    given = {"companies": "upload:1", "title": "Head of Data", "people_per_company": 2}
    outcome, rows = await run("people_search.py", "companies_25.csv", given)
    assert outcome.status is RunStatus.COMPLETED
    expected = []
    for company in records("companies_25.csv"):
        asked = {"domain": company["domain"], "title": "Head of Data", "limit": 2}
        found = rules.outcome("sandbox_people_search", asked)
        expected += [(company["domain"], person) for person in (found or {"people": []})["people"]]
    assert len(rows) == len(expected) > 25
    for row, (domain, person) in zip(rows, expected, strict=True):
        mobile = rules.outcome("sandbox_mobile_finder", {"linkedin_url": person["linkedin_url"]})
        assert row["domain"] == domain
        assert row["name"] == f"{person['first_name']} {person['last_name']}"
        assert row["mobile"] == (mobile and mobile["mobile"])


async def test_the_people_sample_can_leave_out_mobiles() -> None:
    given = {"companies": "upload:1", "mobiles": False}
    _, rows = await run("people_search.py", "companies_25.csv", given)
    assert {row["mobile"] for row in rows} == {None}


async def test_the_definition_sample_runs_without_code() -> None:
    outcome, rows = await run("company_facts.yaml", "companies_25.csv", {"companies": "upload:1"})
    assert outcome.status is RunStatus.COMPLETED
    for row in rows:
        found = rules.outcome("sandbox_company_enrichment", {"domain": row["domain"]})
        company = found and found["company"]
        assert row["company"] == company
        assert row["employees"] == (company and company["employees"])
        is_large = bool(company) and company["employees"] >= 1_000
        assert row["segment"] == (
            f"enterprise / {company['industry'].lower()}" if is_large else "other"
        )
