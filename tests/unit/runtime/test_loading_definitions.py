"""Structured definitions: how they are read, what is refused, and what they do on the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from runtime.errors import PlayError, PlayInvalid
from runtime.loading import code_digest, definition_schema, load
from runtime.loading.compiling import resolver_of
from runtime.loading.documents import read_document
from runtime.loading.forms import read_form
from runtime.memory.gateway import failed, hit, miss
from runtime.program import Play
from tests.unit.runtime.loading_cases import in_definition, problems

CASE = re.compile(r"^=== ([^\n]+)\n(.*?)\n---\n(.*?)(?=\n===|\Z)", re.MULTILINE | re.DOTALL)
CASES = CASE.findall(Path(__file__).with_name("loading_definitions.txt").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_mistake_is_told_with_its_line(case: tuple[str, str, str]) -> None:
    _, text, expected = case
    found = [f"{line}: {sentence}" for line, sentence in problems(text, "p.yaml")]
    assert found == expected.strip().splitlines()


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_same_is_told_of_json(case: tuple[str, str, str]) -> None:
    text = case[1]
    found = problems(json.dumps(yaml.safe_load(text), indent=1), "p.json")
    told = [sentence for _, sentence in problems(text, "p.yaml")]
    assert sorted(sentence for _, sentence in found) == sorted(told)


def test_the_cases_are_all_read() -> None:
    text = Path(__file__).with_name("loading_definitions.txt").read_text()
    assert len(CASES) == text.count("\n=== ") > 50


def test_the_published_schema_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(definition_schema())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (1, "the definition has to be a mapping")),
        ("hello", (1, "the definition has to be a mapping")),
        (
            "maps:\n\t- x",
            (2, "this is no YAML: found character that cannot start any token"),
        ),
        ("a: 1\n---\nb: 1\n", (2, "the file holds several documents: a definition is one")),
        ("a: 1\na: 2\n", (2, "the key 'a' stands here twice: leave one of them")),
        ("? [a]\n: 1\n", (1, "a key is plain text, not a list or a mapping")),
        (
            "a: !!int '1'\n",
            (1, "the tag tag:yaml.org,2002:int cannot stand in a definition: leave it out"),
        ),
        (
            "a: !!python/object/apply:os.system [x]\n",
            (
                1,
                (
                    "the tag tag:yaml.org,2002:python/object/apply:os.system cannot stand in a"
                    " definition: leave it out"
                ),
            ),
        ),
        ("a: &x [*x]\n", (1, "the alias *x stands for nothing that is complete here")),
        ("a: *x\n", (1, "the alias *x stands for nothing that is complete here")),
        ("*x : 1\n", (1, "the alias *x stands for nothing that is complete here")),
        ("a: 1.0e+999\n", (1, "1.0e+999 is too large a number")),
        (
            "a: \x01\n",
            (
                0,
                "this is no YAML: unacceptable character #x0001: control characters are not allowed",
            ),
        ),
        ("[" * 41 + "]" * 41, (1, "the definition is nested more than 40 levels deep")),
        ("- x\n" * 20_001, (20_001, "the definition holds more than 20,000 values")),
    ],
)
def test_yaml_that_cannot_be_read_is_one_sentence(text: str, expected: tuple[int, str]) -> None:
    assert problems(text, "p.yaml") == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (1, "this is no JSON: Expecting value")),
        ('{"a": 1,\n "b" 2}', (2, "this is no JSON: Expecting ':' delimiter")),
        ('{"a": 1,\n "a": 2}', (2, "the key 'a' stands here twice: leave one of them")),
        ('{"a": NaN}', (0, "the definition cannot be read: NaN is no number of JSON")),
        ('{"a": 1e999}', (0, "the definition cannot be read: 1e999 is too large a number")),
        (
            '{"a": ' + "1" * 5_000 + "}",
            (0, "the definition cannot be read: 11111111111111111111 is too large a number"),
        ),
        ("[" * 41 + "]" * 41, (1, "the definition is nested more than 40 levels deep")),
        (
            "[" * 90_000 + "]" * 90_000,
            (0, "the definition cannot be read: it is nested too deeply"),
        ),
    ],
)
def test_json_that_cannot_be_read_is_one_sentence(text: str, expected: tuple[int, str]) -> None:
    assert problems(text, "p.json") == [expected]


def test_aliases_count_as_often_as_they_are_used() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9)]
    assert problems("\n".join(lines), "p.yaml") == [
        (5, "the definition holds more than 20,000 values")
    ]


def test_plain_yaml_means_what_json_would() -> None:
    text = (
        "a: no\nb: 2024-01-01\nc: 012\nd: 1.50\ne: ~\nf:\ng: True\nh: '1'\n"
        "i: &x [1]\nj: *x\nk: -3\nl: 1_0\n"
    )
    assert read_document(text, "p.yaml").value == {
        "a": "no",
        "b": "2024-01-01",
        "c": "012",
        "d": 1.5,
        "e": None,
        "f": None,
        "g": True,
        "h": "1",
        "i": [1],
        "j": [1],
        "k": -3,
        "l": "1_0",
    }


def test_lines_are_known_in_both_forms() -> None:
    text = '{\n"a": [\n1,\n{"b\\"": {},\n"c": "x,:{"}\n],\n"d": null}'
    lines = {
        (): 1,
        ("a",): 2,
        ("a", 0): 3,
        ("a", 1): 4,
        ("a", 1, 'b"'): 4,
        ("a", 1, "c"): 5,
        ("d",): 7,
    }
    assert read_document(text, "p.json").lines == lines
    assert read_document(text, "p.yaml").lines == lines


World = type[Any]
MakeTool = Callable[..., Any]


def play_of(steps: str, **more: str) -> Play:
    """Make the play of a definition with one map."""
    return load("definition", "p.yaml", in_definition(steps, **more).encode())


async def values(
    world: World,
    play: Play,
    rows: list[dict[str, str]],
    tools: Mapping[Any, Any] | None = None,
    given: Mapping[str, Any] | None = None,
) -> tuple[Any, list[dict[str, Any]]]:
    """Run a play; give its world and the values of its first map's rows."""
    made = world(tools or {}, rows=rows)
    outcome = await made.run(play, {"f": "upload:1", **(given or {})})
    assert outcome.error is None
    return made, [row.values for row in made.rows()]


async def test_templates_conditions_and_nested_steps_run_on_the_engine(world: World) -> None:
    play = play_of(
        """
- {name: _site, value: "{{row.domain | strip | lower}}"}
- {name: text, value: "https://{{row._site}}/?n={{row.n}}"}
- {name: constant, value: {a: [1, true, null]}}
- name: size
  when: {value: "{{row.n}}", at_least: "{{input.least}}"}
  value: large
  otherwise: small
- name: nested
  steps:
    - {name: x, value: "{{row.n}}"}
    - {name: _y, value: "{{row.x}}{{row.size}}"}
  returns: {whole: "{{row._y}}", domain: "{{row.domain}}"}
- name: plain
  steps:
    - {name: x, value: 1}
    - {name: _y, value: 2}
"""
    )
    rows = [{"domain": " A.Example ", "n": "10"}, {"domain": "b.test", "n": "9"}]
    made, found = await values(world, play, rows, given={"least": 10})
    assert found == [
        {
            "_site": "a.example",
            "text": "https://a.example/?n=10",
            "constant": {"a": [1, True, None]},
            "size": "large",
            "nested": {"whole": "10large", "domain": " A.Example "},
            "plain": {"x": 1},
        },
        {
            "_site": "b.test",
            "text": "https://b.test/?n=9",
            "constant": {"a": [1, True, None]},
            "size": "small",
            "nested": {"whole": "9small", "domain": "b.test"},
            "plain": {"x": 1},
        },
    ]
    assert made.statuses("size") == ["completed", "skipped"]


async def test_tools_and_waterfalls_run_on_the_engine(world: World, make_tool: MakeTool) -> None:
    play = play_of(
        """
- name: email
  waterfall: email_finder
  providers: [one, two]
  input: {domain: "{{row.domain}}", country: "{{row.country}}"}
- name: other
  waterfall:
    id: finder
    output: email
    steps:
      - {id: a, tool: one_email_finder, input: {domain: "{{row.missing}}"}}
      - {id: b, tool: two_email_finder, input: {domain: "{{row.domain}}", fixed: 1}}
- name: verdict
  when: "{{row.email}}"
  tool: verifier
  input: {email: "{{row.email}}"}
  get: details.verdict
- name: unasked
  tool: verifier
  input: {email: "{{row.missing}}", fixed: 1}
"""
    )
    asked: list[Any] = []

    def two(given: Any) -> Any:
        asked.append(given)
        return hit({"email": f"x@{given['domain']}"}) if given["domain"] == "a.test" else miss()

    tools = {
        make_tool("one_email_finder"): lambda given: miss(),
        make_tool("two_email_finder"): two,
        make_tool("verifier", output="verdict"): lambda given: hit(
            {"details": {"verdict": "valid"}}
        ),
    }
    rows = [{"domain": "a.test", "country": ""}, {"domain": "b.test", "country": "nl"}]
    made, found = await values(world, play, rows, tools)
    assert found == [
        {
            "email": "x@a.test",
            "other": "x@a.test",
            "finder.b": "x@a.test",
            "verdict": "valid",
            "unasked": None,
        },
        {"email": None, "other": None, "finder.b": None, "verdict": None, "unasked": None},
    ]
    assert made.statuses("email") == ["completed", "missed"]
    assert made.statuses("verdict") == ["completed", "skipped"]
    assert {"domain": "b.test", "country": "nl"} in asked
    assert {"domain": "a.test"} in asked
    assert {"domain": "a.test", "fixed": 1} in asked
    assert made.ports.gateway.sent["verifier"] == 1


async def test_a_failed_tool_fails_its_cell_as_it_does_in_code(
    world: World, make_tool: MakeTool
) -> None:
    play = play_of("- {name: a, tool: broken, input: {x: '{{row.x}}'}}")
    tools = {make_tool("broken"): lambda given: failed("the provider is down")}
    made = world(tools, rows=[{"x": "1"}])
    await made.run(play, {"f": "upload:1"})
    assert made.statuses("a") == ["failed"]


async def test_maps_chain_and_the_asked_one_is_returned(world: World) -> None:
    more = """  - table: u
    map: t
    key: x
    on_row_error: fail
    description: The second
    steps:
      - {name: b, value: "{{row.a}}!"}
  - table: v
    list: [{x: "{{input.word}}"}, {x: 2}]
    steps:
      - {name: c, value: "{{row.x}}"}
returns: u
"""
    play = play_of("- {name: a, value: '{{row.x}}'}", more=more)
    made = world({}, rows=[{"x": "1"}, {"x": "2"}])
    outcome = await made.run(play, {"f": "upload:1", "word": "w"})
    assert outcome.result["dataset"]["columns"] == ["x", "a", "b"]
    assert made.values("b", 1) == ["1!", "2!"]
    assert made.values("c", 2) == ["w", 2]


async def test_an_input_that_is_missing_is_a_sentence() -> None:
    play = play_of("- {name: a, value: 1}")
    with pytest.raises(
        PlayError, match="the map 't' of the play 'p' has no rows: give the input f"
    ):
        await play.function(None, {})
    with pytest.raises(PlayError, match="the play 'p' needs a mapping as its input"):
        await play.function(None, None)


def test_a_definition_that_does_not_fit_the_schema_is_not_loaded() -> None:
    with pytest.raises(PlayInvalid, match="line 6: the step 'a'"):
        play_of("- {name: a}")
    with pytest.raises(PlayInvalid, match="there is no filter 'x'"):
        play_of("- {name: a, value: '{{row.a | x}}'}")


def digests(steps: str, given: Mapping[str, Any]) -> list[str]:
    """Give the digests of a definition's steps for a run's input."""
    form = read_form(read_document(in_definition(steps), "p.yaml").value)
    return [code_digest(resolver_of(step, given)) for step in form.maps[0].steps]


def test_the_digest_of_a_step_is_that_of_its_text_and_of_what_it_reads_of_the_input() -> None:
    steps = """
- {name: a, value: "{{row.x}} {{input.word}}"}
- {name: b, tool: t, input: {x: "{{row.x}}"}, stale_after_seconds: 3}
- {name: c, when: {value: "{{row.x}}", above: 1}, steps: [{name: d, value: "{{input.word}}"}]}
- {name: e, value: 1}
"""
    before = digests(steps, {"word": "w", "f": "upload:1"})
    assert "" not in before
    assert len(set(before)) == 4
    assert digests(steps + "# more\n", {"word": "w", "f": "upload:2"}) == before
    assert digests(steps.replace("seconds: 3", "seconds: 4"), {"word": "w"}) == before
    a, b, c, e = digests(steps, {"word": "other"})
    assert a != before[0]
    assert c != before[2]
    assert [b, e] == [before[1], before[3]]
    assert digests(steps.replace("above: 1", "above: 2"), {"word": "w"})[2] != before[2]
