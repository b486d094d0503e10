"""Plays with one mistake each, and the line on which it can be seen (0: the whole file)."""

from __future__ import annotations

from tests.integration.cast import PLAY


def _line(text: str, part: str) -> int:
    return text[: text.rindex(part)].count("\n") + 1


SYNTAX = PLAY.replace("async def find_emails(", "async def find_emails((")
NO_PLAY = "import math\n"
TWO_PLAYS = PLAY + '\n\n@play("find_more")\nasync def find_more(ctx, input):\n    return 1\n'
UNKNOWN_TOOL = PLAY.replace(
    "    return await (",
    '    await ctx.tool(id="x", tool="no_such_tool", input={})\n    return await (',
)
NESTED_MAP = PLAY.replace(
    'lambda row: row["domain"].lower()', 'lambda row, ctx: ctx.map("inner", []).run()'
)
DUPLICATE_STEP = PLAY.replace('"_site", lambda', '"email", lambda').replace(
    'row["_site"]', 'row["domain"]'
)

WRONG = {
    "syntax error": (SYNTAX, _line(SYNTAX, "async def")),
    "no play": (NO_PLAY, 0),
    "two plays": (TWO_PLAYS, _line(TWO_PLAYS, "async def")),
    "unknown tool": (UNKNOWN_TOOL, _line(UNKNOWN_TOOL, "no_such_tool")),
    "nested map": (NESTED_MAP, _line(NESTED_MAP, "inner")),
    "duplicate step": (DUPLICATE_STEP, _line(DUPLICATE_STEP, '.step("email"')),
}
