"""Whatever is uploaded: the check gives sentences and never fails, and formatting never changes a digest."""

from __future__ import annotations

import ast
import json
import types
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.identity import safe_name
from runtime.loading import code_digest
from runtime.loading.documents import read_document
from runtime.loading.importing import import_play
from runtime.loading.sources import source_as
from tests.unit.runtime.loading_cases import checked, in_play, zipped

SAMPLES = sorted((Path(__file__).parents[3] / "examples" / "plays").iterdir())
MODULES = [path for path in SAMPLES if path.suffix == ".py"]
NAMES = st.text(alphabet="ab_ A-é", min_size=1, max_size=4)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(), st.sampled_from(["p.py", "p.zip", "p.json", "p.yaml"]))
def test_any_bytes_are_answered(content: bytes, filename: str) -> None:
    found = checked(content, filename)
    assert found.problems or found.name


@given(st.data())
def test_a_sample_with_any_change_is_answered(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(SAMPLES))
    content = path.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    length = data.draw(st.integers(0, 40))
    changed = content[:start] + data.draw(st.binary(max_size=10)) + content[start + length :]
    for problem in checked(changed, path.name).problems:
        assert 0 <= problem.line <= changed.count(b"\n") + changed.count(b"\r") + 1
        assert problem.message


@given(st.data())
@settings(max_examples=200)
def test_a_broken_archive_is_answered(data: st.DataObject) -> None:
    content = bytearray(zipped({"play.py": in_play("return 1"), "helpers.py": "x = 1\n" * 50}))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    checked(bytes(content), "p.zip")


@given(st.lists(NAMES, min_size=1, max_size=6))
def test_a_repeated_step_name_is_always_told(names: list[str]) -> None:
    steps = "".join(f".step({name!r}, 1)" for name in names)
    found = checked(in_play(f"return await ctx.map('t', []){steps}.run()")).problems
    named = [name for name in names if name.strip()]
    assert bool([each for each in found if "used twice" in each.message]) == (
        len(set(named)) < len(named)
    )
    assert bool([each for each in found if "blank" in each.message]) == (len(named) < len(names))


@given(
    st.lists(
        NAMES.filter(lambda name: any(letter in "abA" for letter in name)), min_size=1, max_size=4
    )
)
def test_tables_are_compared_as_they_are_stored(names: list[str]) -> None:
    maps = "\n".join(f"await ctx.map({name!r}, []).step('a', 1).run()" for name in names)
    found = checked(in_play(maps)).problems
    stored = [safe_name(name) for name in names]
    repeated = [index for index, name in enumerate(stored) if name in stored[:index]]
    assert [each.line for each in found] == [6 + index for index in repeated]


@given(JSON)
def test_json_is_read_as_it_is_and_every_part_has_a_line(value: Any) -> None:
    text = json.dumps(value, indent=1)
    document = read_document(text, "p.json")
    assert document.value == value
    assert all(_at(value, path) for path in document.lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in document.lines.values())


def _at(value: Any, path: tuple[str | int, ...]) -> bool:
    for part in path:
        value = value[part]
    return True


PLAIN_TEXT = st.text(
    st.characters(blacklist_categories=["Cc", "Cs", "Co", "Cn"], blacklist_characters="\ufeff")
)
PLAIN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN_JSON)
@example("0E0")
@example("-1.5e3")
def test_yaml_that_another_program_wrote_is_read_as_it_is(value: Any) -> None:
    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=False)
    assert read_document(text, "p.yaml").value == value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_sample_that_is_written_anew_has_the_same_digests(path: Path) -> None:
    text = path.read_text()
    one, other = (_functions(each) for each in (text, ast.unparse(ast.parse(text))))
    assert one == other
    assert "" not in one.values()


def _functions(text: str) -> dict[str, str]:
    module = import_play(source_as("module", "sample.py", text.encode()), "sample.py")
    found = {
        name: value for name, value in vars(module).items() if isinstance(value, types.FunctionType)
    }
    return {name: code_digest(value) for name, value in found.items()}
