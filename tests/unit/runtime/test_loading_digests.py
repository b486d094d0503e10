"""Digests of steps: the same for the same code, another where anything could give another value."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.loading import code_digest
from runtime.loading.importing import import_play
from runtime.loading.sources import source_as
from runtime.program import code_step, steps, tool_step, waterfall, when
from tests.unit.runtime.loading_cases import zipped


def digests(source: str) -> dict[str, str]:
    """Load a module, and give the digest of each of its top-level names that is one letter long."""
    text = textwrap.dedent(source)
    module = import_play(source_as("module", "m.py", text.encode()), "m.py")
    return {name: code_digest(value) for name, value in vars(module).items() if len(name) == 1}


def bundled(files: Mapping[str, str]) -> str:
    """Load a bundle, and give the digest of ``f`` in its play."""
    module = import_play(source_as("bundle", "b.zip", zipped(files)), "b.zip")
    return code_digest(module.f)


def digest_of(source: str) -> str:
    """Give the digest of ``f`` in a module."""
    return digests(source)["f"]


PLAIN = """
LIMIT = 3

def clean(text):
    return text.strip() * LIMIT

f = lambda row: clean(row["a"])
"""

SAME = {
    "comments and blank lines": PLAIN.replace("LIMIT = 3", "# three\n\n\nLIMIT = 3  # times"),
    "formatting": PLAIN.replace(
        'lambda row: clean(row["a"])', "(lambda row : clean( row ['a'] ) )"
    ),
    "docstrings": PLAIN.replace("(text):", '(text):\n    """Clean a text."""'),
    "type hints": PLAIN.replace("(text):", "(text: str) -> str:"),
    "something else": PLAIN + "\ndef other():\n    return 1\n",
    "the order of definitions": PLAIN.replace("LIMIT = 3", "") + "LIMIT = 3\n",
    "how a constant is computed": PLAIN.replace("LIMIT = 3", "LIMIT = 1 + 2"),
    "an import of the standard library": "import json\n" + PLAIN,
}
OTHER = {
    "the function itself": PLAIN.replace('row["a"]', 'row["b"]'),
    "a helper": PLAIN.replace("strip", "lstrip"),
    "a constant of a helper": PLAIN.replace("LIMIT = 3", "LIMIT = 4"),
    "the type of a constant": PLAIN.replace("LIMIT = 3", "LIMIT = 3.0"),
    "a decorator": PLAIN.replace("def clean", "from functools import cache\n@cache\ndef clean"),
    "a default": PLAIN.replace("(text)", "(text, more=1)"),
    "sync or async": PLAIN.replace("def clean", "async def clean"),
    "what a name is bound to": PLAIN.replace("f =", "clean = str.upper\nf ="),
}


@pytest.mark.parametrize("name", SAME)
def test_a_digest_does_not_change_with(name: str) -> None:
    assert digest_of(SAME[name]) == digest_of(PLAIN) != ""


@pytest.mark.parametrize("name", OTHER)
def test_a_digest_changes_with(name: str) -> None:
    assert digest_of(OTHER[name]) not in ("", digest_of(PLAIN))


def test_a_digest_does_not_depend_on_the_file_or_the_load() -> None:
    content = PLAIN.encode()
    one = import_play(source_as("module", "one.py", content), "one.py")
    other = import_play(source_as("module", "other.py", b"import re\n" + content), "other.py")
    assert code_digest(one.f) == code_digest(other.f) != ""


def test_helpers_of_a_bundle_count_wherever_they_lie() -> None:
    files = {
        "play.py": "import helpers\nf = lambda row: helpers.clean(row)\n",
        "helpers.py": "from deeper import g\ndef clean(row): return g(row)\n",
        "deeper.py": "import json\nWORD = 'x'\ndef g(row): return WORD\n",
        "unused.py": "x = 1\n",
    }
    before = bundled(files)
    assert before != ""
    assert bundled({**files, "unused.py": "x = 2\n"}) == before
    assert bundled({**files, "deeper.py": "# word\n" + files["deeper.py"]}) == before
    changed = files["deeper.py"].replace("'x'", "'y'")
    assert bundled({**files, "deeper.py": changed}) not in ("", before)


def test_a_name_that_is_imported_counts_as_what_it_is() -> None:
    files = {
        "play.py": "from helpers import g as h, WORD\nf = lambda row: h(row) + WORD\n",
        "helpers.py": "WORD = 'a'\ndef g(row): return 'x'\ndef other(): return 1\n",
    }
    before = bundled(files)
    same = files["helpers.py"].replace("return 1", "return 2")
    assert bundled({**files, "helpers.py": same}) == before != ""
    for old, new in (("'a'", "'b'"), ("'x'", "'y'")):
        other = files["helpers.py"].replace(old, new)
        assert bundled({**files, "helpers.py": other}) not in ("", before)


@pytest.mark.parametrize(
    "play",
    [
        "def f(row):\n    from helpers import g\n    return g(row)\n",
        "import lib.names\nf = lambda row: lib.names.X\n",
    ],
    ids=["import inside a function", "module of a package by its package"],
)
def test_which_module_is_meant_may_be_undetermined(play: str) -> None:
    files = {"play.py": play, "helpers.py": "def g(row): return 1", "lib/names.py": "X = 1"}
    assert bundled(files) == ""


def test_lambdas_of_one_line_are_told_apart() -> None:
    found = digests(
        "a, b, c = lambda row: 1, lambda row: 2, lambda row: (lambda: 1)()\nd = lambda row: 1\n"
    )
    assert "" not in found.values()
    assert found["a"] == found["d"]
    assert len({found["a"], found["b"], found["c"]}) == 3


def test_a_lambda_in_a_lambda_is_not_the_outer_one() -> None:
    found = digests("a = lambda: lambda: lambda: 1\nb = a()\nc = b()\n")
    assert "" not in found.values()
    assert len(set(found.values())) == 3


def test_a_lambda_of_several_lines_is_found() -> None:
    source = """
    a, b = (
        lambda row:
            row["x"],
        lambda row: row["y"],
    )
    c = lambda row: row["x"]
    """
    found = digests(source)
    assert found["a"] == found["c"] != found["b"]
    assert found["b"] != ""


def test_captured_values_count() -> None:
    source = """
    def make(limit, more=()):
        return lambda row, bound=limit: row["x"] > limit + len(more)

    a, b, c = make(1), make(1), make(2)
    d, e = make(1, [1, {"k": None}]), make(1, [1, {"k": 0}])
    """
    found = digests(source)
    assert found["a"] == found["b"] != ""
    assert len({found[name] for name in "acde"}) == 4


def test_of_a_captured_input_only_what_is_read_counts() -> None:
    source = """
    def make(input):
        return lambda row: row["x"] > input["limit"] + input.get("more", 0)

    def whole(input):
        return lambda row: (input["limit"], input)

    a = make({"limit": 1, "leads": "upload:1"})
    b = make({"limit": 1, "leads": "upload:2"})
    c = make({"limit": 2, "leads": "upload:1"})
    d = make({"limit": 1, "leads": "upload:1", "more": 1})
    e = whole({"limit": 1, "leads": "upload:1"})
    g = whole({"limit": 1, "leads": "upload:2"})
    """
    found = digests(source)
    assert found["a"] == found["b"] != ""
    assert len({found[name] for name in "acdeg"}) == 5


def test_a_captured_object_is_undetermined() -> None:
    source = """
    class Counter:
        n = 0

    def make(value):
        return lambda row: value

    a = make(Counter())
    b = make(open)
    c = make({1: object()})
    d = make([Counter])
    """
    found = digests(source)
    assert (found["a"], found["c"]) == ("", "")
    assert "" not in (found["b"], found["d"])


def test_a_value_that_is_no_json_counts_as_what_makes_it() -> None:
    source = """
    import re
    from decimal import Decimal
    from enum import Enum

    class Rules:
        def __init__(self, word):
            self.word = word

    class Size(Enum):
        SMALL = 1

    WORD = "x"
    RULES = Rules(WORD)
    RULES.more = 1
    KNOWN = {"a", "b"}
    PATTERN = re.compile("[a-z]")
    PRICE = Decimal("1.5")
    f = lambda row: (RULES, KNOWN, PATTERN, PRICE, Size.SMALL, row)
    """
    before = digest_of(source)
    assert before != ""
    assert digest_of(source) == before
    for old, new in (
        ('WORD = "x"', 'WORD = "y"'),
        ("self.word = word", "self.word = None"),
        ("RULES.more = 1", "RULES.more = 2"),
        ('"b"}', '"c"}'),
        ("[a-z]", "[A-Z]"),
        ("1.5", "2.5"),
        ("SMALL = 1", "SMALL = 2"),
    ):
        assert digest_of(source.replace(old, new)) not in ("", before), old


def test_a_value_that_is_made_in_several_places_is_undetermined() -> None:
    source = """
    class Rules: ...

    RULES = Rules()

    def change():
        global RULES
        RULES = None

    f = lambda row: RULES
    """
    assert digest_of(source) == ""


def test_functions_that_call_each_other_have_a_digest() -> None:
    source = """
    def even(n): return n == 0 or odd(n - 1)
    def odd(n): return n != 0 and even(n - 1)
    f = lambda row: even(row["n"])
    """
    assert digest_of(source) == digest_of(source) != ""
    assert digest_of(source.replace("n != 0", "n > 0")) != digest_of(source)


def test_what_was_told_of_a_value_that_is_no_json_is_told_again() -> None:
    source = """
    class Thing: ...
    def g(): return 1
    MIXED = [g, Thing()]
    f = lambda row: (MIXED, g())
    """
    assert digest_of(source.replace("return 1", "return 2")) not in ("", digest_of(source))


def test_methods_partials_and_built_ins_have_digests() -> None:
    source = """
    import functools

    class Names:
        @classmethod
        def of(cls, row): return cls.__name__
        @staticmethod
        def at(row): return 1

    TABLE = {"a": 1}
    def add(n, row): return n
    a, b, c = Names.of, Names.at, TABLE.get
    d, e = functools.partial(add, 1), functools.partial(add, 2)
    g, h = str.lower, len
    i = functools.lru_cache(add)
    j = functools.wraps(add)(lambda *given: add(*given))
    """
    found = digests(source)
    assert "" not in found.values()
    assert len(set(found.values())) == len(found)


def test_programs_are_told_by_their_parts() -> None:
    source = """
    from runtime import code_step, steps, tool_step, waterfall, when

    def make(limit, tool, name):
        return when(
            lambda row: row["x"] > limit,
            run=steps().step(name, lambda row: 1, stale_after_seconds=limit).returns(lambda row: row),
            otherwise=tool,
        )

    def spec(tool, least):
        return waterfall(
            id="w", output="email", min_results=least,
            steps=[tool_step("a", tool, lambda given: given), code_step("b", lambda given, ctx: 1)],
        )

    a, b, c, d = make(1, "t", "n"), make(2, "t", "n"), make(1, "u", "n"), make(1, "t", "m")
    e, g, h = spec("t", 1), spec("u", 1), spec("t", 2)
    i = make(1, "t", "n")
    """
    found = digests(source)
    assert "" not in found.values()
    assert found["a"] == found["i"]
    assert len({found[name] for name in "abcdegh"}) == 7


def test_how_long_a_nested_value_lasts_is_no_part_of_it() -> None:
    one = steps().step("x", 1, stale_after_seconds=1)
    other = steps().step("x", 1, stale_after_seconds=None)
    assert code_digest(one) == code_digest(other) != ""


def test_code_without_a_source_is_undetermined() -> None:
    made = eval("lambda row: 1")
    assert code_digest(made) == ""
    assert code_digest(when(made, run=1)) == ""
    assert code_digest(steps().step("x", made)) == ""
    spec = waterfall(id="w", output="x", steps=[code_step("a", made), tool_step("b", "t")])
    assert code_digest(spec) == ""


def test_functions_of_this_file_have_digests_too() -> None:
    assert code_digest(lambda row: row["x"]) not in ("", code_digest(lambda row: row["y"]))
    assert code_digest(functools.partial(digest_of, "x")) != ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON, JSON)
def test_constants_are_told_apart_as_json_is(one: Any, other: Any) -> None:
    same = repr(one) == repr(other)
    assert (code_digest(one) == code_digest(other)) or not same
    if code_digest(one) == code_digest(other):
        assert one == other


@given(st.dictionaries(st.text(min_size=1), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert code_digest(value) == code_digest(dict(reversed(value.items())))


def test_lists_that_share_parts_without_end_are_undetermined() -> None:
    value: list[Any] = [1]
    for _ in range(40):
        value = [value, value]
    assert code_digest(value) == ""
    value.append(value)
    assert code_digest(value) == ""
