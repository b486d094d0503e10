"""Sources for the tests of loading: plays in one line, bundles, and the tools that they may name."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from runtime.loading import Checked, check

TOOLS = (
    "sandbox_a_email_finder",
    "sandbox_b_email_finder",
    "sandbox_c_email_finder",
    "sandbox_company_enrichment",
    "sandbox_email_verifier",
    "sandbox_mobile_finder",
    "sandbox_people_search",
    "test_company_search",
    "test_rate_limit",
    "test_transient_500",
)

HEAD = (
    "from runtime import code_step, play, steps, tool_step, waterfall, when\n"
    "\n"
    "\n"
    '@play("p")\n'
    "async def p(ctx, input):\n"
)
"""Five lines: what is put into a play begins at line 6."""


def in_play(body: str) -> str:
    """Give a module whose play has this body."""
    lines = body.strip("\n").splitlines()
    return HEAD + "".join(f"    {line}\n" if line else "\n" for line in lines)


def in_step(resolver: str) -> str:
    """Give a module whose play has one map with one step; the resolver stands in line 6."""
    return in_play(f"return await ctx.map('t', []).step('a', {resolver}).run()")


def in_definition(steps: str, *, rows: str = 'csv: "{{input.f}}"', more: str = "") -> str:
    """Give a definition with one map; its rows stand in line 4, its steps from line 6 on."""
    lines = "".join(f"      {line}\n" for line in steps.strip("\n").splitlines())
    return f"name: p\nmaps:\n  - table: t\n    {rows}\n    steps:\n{lines}{more}"


def checked(source: str | bytes, filename: str = "p.py") -> Checked:
    """Check a source against the tools above."""
    content = source.encode() if isinstance(source, str) else source
    return check(filename, content, known_tools=TOOLS)


def problems(source: str | bytes, filename: str = "p.py") -> list[tuple[int, str]]:
    """Give the problems of a source as (line, sentence)."""
    return [(each.line, each.message) for each in checked(source, filename).problems]


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Pack files into an archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()
