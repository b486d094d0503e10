"""Everything that can be seen to be wrong with a play's text: each with its line, in one sentence.

The cases stand in ``loading_problems.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.runtime.loading_cases import HEAD, checked, in_play, in_step, problems

FORMS: dict[str, Callable[[str], str]] = {"module": str, "play": in_play, "step": in_step}
CASE = re.compile(r"^=== ([^\n]+) \((\w+)\)\n(.*?)---\n(.*?)(?=\n===|\Z)", re.MULTILINE | re.DOTALL)
CASES = CASE.findall(Path(__file__).with_name("loading_problems.txt").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_mistake_is_told_with_its_line_and_how_to_mend_it(
    case: tuple[str, str, str, str],
) -> None:
    _, form, text, expected = case
    found = problems(FORMS[form](text))
    assert [f"{line}: {sentence}" for line, sentence in found] == expected.strip().splitlines()


def test_the_cases_are_all_read() -> None:
    text = Path(__file__).with_name("loading_problems.txt").read_text()
    assert len(CASES) == text.count("\n=== ") > 100


GOOD = {
    "names that are computed": """
        builder = ctx.map(input["table"], [], key=input["key"])
        for name in input["names"]:
            builder = builder.step(name, lambda row: 1)
        return await builder.run()
    """,
    "one step in either arm of a condition": """
        builder = ctx.map("t", [])
        if input["x"]:
            builder.step("a", 1)
        elif input["y"]:
            builder.step("a", 2)
        else:
            builder.step("a", 3)
        return await builder.run()
    """,
    "one table before and after an early return": """
        if input["quick"]:
            return await ctx.map("t", []).step("a", 1).run()
        return await ctx.map("t", []).step("a", 2).run()
    """,
    "one table in a match": """
        match input["x"]:
            case "a":
                return await ctx.map("t", []).step("a", 1).run()
            case _:
                return await ctx.map("t", []).step("a", 2).run()
    """,
    "one table in a condition of one line": """
        return await (
            ctx.map("t", []).step("a", 1).run()
            if input["x"]
            else ctx.map("t", []).step("b", 1).run()
        )
    """,
    "optional modules": """
        try:
            import ujson as json
        except ImportError:
            import json
        return json.dumps(1)
    """,
    "options that are unpacked": """
        options = {"key": "x"}
        return await ctx.map("t", [], **options).step("a", *input["more"]).run(**input)
    """,
    "a fetch that says how to repeat it": """
        headers = {"Idempotency-Key": input["order"]}
        await ctx.fetch("k", "https://x.test", method="POST", headers=headers)
        await ctx.fetch("l", "https://x.test", method=input["method"])
        return await ctx.fetch("m", "https://x.test", method="PUT", headers={**headers})
    """,
    "no key and no staleness": """
        builder = ctx.map("t", [], key=None, stale_after_seconds=None)
        return await builder.step("a", 1, stale_after_seconds=None).run(description=None)
    """,
    "calls that are awaited together": """
        import asyncio
        one, two = await asyncio.gather(
            ctx.map("t", []).step("a", 1).run(), ctx.map("u", []).step("a", 1).run()
        )
        task = asyncio.create_task(ctx.sleep(1))
        await task
        return one
    """,
    "functions that call each other": """
        def even(n):
            return n == 0 or odd(n - 1)

        def odd(n):
            return n != 0 and even(n - 1)

        return await ctx.map("t", []).step("a", lambda row: even(row["n"])).run()
    """,
}


@pytest.mark.parametrize("name", GOOD)
def test_nothing_is_refused_that_may_be_right(name: str) -> None:
    lines = [line.removeprefix("        ") for line in GOOD[name].strip("\n").splitlines()]
    assert problems(in_play("\n".join(lines).rstrip())) == []


def test_problems_come_in_the_order_of_their_lines() -> None:
    source = in_play("ctx.sleep(1)\nctx.waterfal()\n").replace(
        "from runtime", "import nope\nfrom runtime"
    )
    found = checked(source).problems
    assert [problem.line for problem in found] == [1, 7, 8]


def test_a_helper_that_is_called_twice_is_told_once() -> None:
    source = in_play(
        "def ask(row):\n"
        "    return ctx.tool(id='x', tool='nope', input={})\n"
        "return await ctx.map('t', []).step('a', ask).step('b', ask).run()"
    )
    assert [line for line, _ in problems(source)] == [7]


def test_a_play_of_several_hundred_steps_is_read() -> None:
    steps = "".join(f"\n    .step('s{number}', lambda row: {number})" for number in range(300))
    found = checked(in_play(f"return await (ctx.map('t', []){steps}.run())"))
    assert found.problems == []
    assert len(found.pipeline["maps"][0]["steps"]) == 300


def test_functions_that_call_one_another_in_ever_more_ways_are_given_up() -> None:
    helpers = "".join(
        f"def f{n}(a, b):\n    f{n + 1}(a, {{}})\n    return f{n + 1}([a], b)\n" for n in range(60)
    )
    found = problems(HEAD.replace("\n\n\n@", f"\n{helpers}\n@") + "    return f0(1, 2)\n")
    assert found == [
        (0, "the functions of the play call one another in too many ways to be followed")
    ]


def test_expressions_that_python_cannot_hold_are_a_sentence() -> None:
    assert problems(f"x = {'-' * 50_000}1\n") == [
        (0, "the source is nested too deeply for Python to read: split its longest expression")
    ]


def test_literals_that_multiply_by_naming_each_other_are_not_put_together() -> None:
    names = "".join(f"A{n + 1} = [{', '.join([f'A{n}'] * 9)}]\n" for n in range(20))
    source = (
        f"from runtime import play\nA0 = 'lol'\n{names}\n@play('p', input_schema={{'x': A20}})\n"
    )
    ((line, sentence),) = problems(f"{source}async def p(ctx, input): ...\n")
    assert line == 24
    assert sentence.startswith("input_schema is written out as a dict of literals")
