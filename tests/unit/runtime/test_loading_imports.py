"""Loading a play for a run: its modules come from memory, in a package of their own."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from typing import Any

import pytest

from runtime.errors import PlayInvalid
from runtime.loading import load
from runtime.program import Play
from tests.unit.runtime.loading_cases import in_play, zipped


def loaded(source: str, filename: str = "p.py") -> Play:
    """Load a module."""
    return load("module", filename, source.encode())


def unpacked(files: Mapping[str, str], filename: str = "bundle.zip") -> Play:
    """Load a bundle."""
    return load("bundle", filename, zipped(files))


async def result(play: Play, given: Any = None) -> Any:
    """Give what a play returns without a context."""
    return await play.function(None, given)


def refusal(source: str, filename: str = "p.py") -> list[tuple[int, str]]:
    """Give the problems with which a module is refused."""
    with pytest.raises(PlayInvalid) as caught:
        loaded(source, filename)
    return [(each.line, each.message) for each in caught.value.problems]


async def test_a_module_gives_its_play() -> None:
    play = loaded(
        in_play("return input + 1").replace('"p"', '"p", description="d", input_schema={}')
    )
    assert (play.name, play.description, play.input_schema) == ("p", "d", {})
    assert await result(play, 1) == 2


async def test_every_load_has_a_namespace_of_its_own() -> None:
    source = "SEEN = []\n" + in_play("SEEN.append(input)\nreturn SEEN")
    one, other = loaded(source), loaded(source)
    assert await result(one, 1) == [1]
    assert await result(other, 2) == [2]


async def test_helpers_are_imported_as_siblings() -> None:
    play = unpacked(
        {
            "play.py": "import helpers\nimport lib.names as names\nimport lib.deep.er\n"
            "from lib.names import FIRST\nfrom . import helpers as same\n"
            + in_play("return [helpers.f(FIRST), names.FIRST, lib.deep.er.Z, same is helpers]"),
            "helpers.py": "from lib import names\ndef f(x):\n    from lib.deep import er\n"
            "    return x + names.FIRST + er.Z\n",
            "lib/__init__.py": "from .names import FIRST\n",
            "lib/names.py": "FIRST = 1\n",
            "lib/deep/er.py": "from ..names import FIRST\nZ = FIRST * 10\n",
        }
    )
    assert await result(play) == [12, 1, 10, True]


async def test_two_bundles_do_not_see_each_others_helpers() -> None:
    def files(word: str) -> dict[str, str]:
        main = in_play("from helpers import WORD as late\nreturn [helpers.WORD, late]")
        return {"play.py": f"import helpers\n{main}", "helpers.py": f"WORD = {word!r}"}

    one, other = unpacked(files("one")), unpacked(files("other"))
    assert await result(one) == ["one", "one"]
    assert await result(other) == ["other", "other"]
    assert "helpers" not in sys.modules


async def test_a_helper_may_have_the_name_of_a_module_of_the_standard_library() -> None:
    play = unpacked(
        {"play.py": "import json\n" + in_play("return json.WORD"), "json.py": "WORD = 'mine'"}
    )
    import json

    assert await result(play) == "mine"
    assert json.loads("1") == 1


async def test_helpers_that_import_each_other_are_imported() -> None:
    play = unpacked(
        {
            "play.py": "import a\n" + in_play("return a.both()"),
            "a.py": "import b\nONE = 1\ndef both():\n    return [ONE, b.two()]\n",
            "b.py": "import a\ndef two():\n    return a.ONE + 1\n",
        }
    )
    assert await result(play) == [1, 2]


async def test_dataclasses_and_annotations_work_in_plays() -> None:
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Lead:\n    name: str\n    tags: list[str]\n"
    )
    body = "return Lead(input, []).name"
    play = loaded(source + in_play(body))
    assert await result(play, "Ada") == "Ada"


async def test_tracebacks_show_the_authors_lines() -> None:
    play = unpacked(
        {
            "play.py": "import helpers\n" + in_play("return helpers.divide(input)"),
            "helpers.py": "def divide(x):\n    return 1 / x  # here\n",
        },
        "shown.zip",
    )
    with pytest.raises(ZeroDivisionError) as caught:
        await result(play, 0)
    told = "".join(traceback.format_exception(caught.value))
    assert 'File "shown.zip/play.py", line 7, in p' in told
    assert 'File "shown.zip/helpers.py", line 2, in divide' in told
    assert "return 1 / x  # here" in told


async def test_tracebacks_tell_plays_of_one_file_name_apart() -> None:
    one = loaded(in_play("return 1 / input  # one"))
    other = loaded(in_play("return 1 / input  # other"))
    for play, comment in ((one, "# one"), (other, "# other")):
        with pytest.raises(ZeroDivisionError) as caught:
            await result(play, 0)
        assert comment in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "import json\n\ndef f():\n    return 1 / 0\n\nf()\n",
            (4, "the play fails while it is imported: ZeroDivisionError: division by zero"),
        ),
        (
            "x = 1\nassert x == 2\n",
            (2, "the play fails while it is imported: AssertionError"),
        ),
        (
            "import nothing_like_it\n",
            (
                1,
                (
                    "the play fails while it is imported: ModuleNotFoundError:"
                    " No module named 'nothing_like_it'"
                ),
            ),
        ),
        ("import sys\nsys.exit(3)\n", (2, "the play fails while it is imported: SystemExit: 3")),
        ("def f(:\n", (1, "Python cannot read this: invalid syntax")),
        (
            "x = 1\n",
            (0, 'the file holds no play, and needs exactly one async function under @play("name")'),
        ),
        (
            "from runtime import play\n@play('p')\ndef p(ctx, input): ...\n",
            (0, "the play 'p' is no async function: write 'async def'"),
        ),
        (
            "from runtime import waterfall\n\nwaterfall(id='w', output='x', steps=[])\n",
            (
                3,
                (
                    "the play fails while it is imported: PlayError: the waterfall 'w' has no steps:"
                    " give tool_step(...) or code_step(...)"
                ),
            ),
        ),
    ],
)
def test_what_fails_at_import_is_told_with_the_authors_line(
    source: str, expected: tuple[int, str]
) -> None:
    assert refusal(source) == [expected]


def test_what_fails_in_a_helper_names_its_file() -> None:
    with pytest.raises(PlayInvalid) as caught:
        unpacked({"play.py": "import helpers\n", "helpers.py": "\n1 / 0\n"})
    (problem,) = caught.value.problems
    assert problem.line == 2
    assert problem.message.startswith(
        "in helpers.py: the play fails while it is imported: ZeroDivision"
    )


def test_a_file_with_two_plays_gives_none() -> None:
    play = "@play('{0}')\nasync def {0}(ctx, input): ...\n"
    source = "from runtime import play\n" + play.format("a") + play.format("b")
    assert refusal(source) == [
        (0, 'the file holds 2 plays, and needs exactly one async function under @play("name")')
    ]


async def test_a_play_may_go_by_two_names() -> None:
    assert await result(loaded(in_play("return 1") + "same = p\n")) == 1


def test_plays_leave_nothing_but_their_package_behind() -> None:
    before = set(sys.modules)
    loaded(in_play("return 'nothing but its package'"))
    left = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert len(left) == 1
    assert left.pop().startswith("play_")
