"""Source text as lines of highlighted HTML, so that a page can link and annotate each line.

The text is shown as uploaded: never run, undecodable bytes replaced, everything escaped. The
classes are Pygments' short names, which ``source.css`` colours; there are no styles in the page
itself.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

from runtime.errors import Problem

FILE_LIMIT = 512 * 1024
"""Bytes of one file that are shown."""
FILES_LIMIT = 50
"""Files of a bundle that are shown."""
MAIN = "play.py"
"""The play's own file in a bundle."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line: its number from 1, its id, its HTML, and what is wrong with it."""

    number: int
    anchor: str
    html: SafeString
    problems: list[str]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a play."""

    name: str
    lines: list[SourceLine]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class PlacedProblem:
    """One thing that is wrong: its file ("" for the play's own), line, link and sentence."""

    file: str
    line: int
    anchor: str
    message: str


def line_anchor(file: str, line: int) -> str:
    """Give the id of a line on a page; ``file`` is "" for the play's own."""
    return f"{re.sub('[^A-Za-z0-9]+', '-', file)}-L{line}" if file else f"L{line}"


def placed(filename: str, source: bytes, problems: Iterable[Problem]) -> list[PlacedProblem]:
    """Find the file of each problem: those of a bundle's helper modules name it first."""
    is_bundle = filename.lower().endswith(".zip")
    names = [name for name, _ in _members(source) if name != MAIN] if is_bundle else []
    return [_placed(problem, names) for problem in problems]


def source_files(
    filename: str, source: bytes, problems: Sequence[PlacedProblem] = ()
) -> list[SourceFile]:
    """Give the files of a play, the main one first; ``problems`` are told at their lines."""
    if not filename.lower().endswith(".zip"):
        return [_file("", filename, source, problems)]
    files = sorted(_members(source), key=lambda member: (member[0] != MAIN, member[0]))
    return [_file("" if name == MAIN else name, name, content, problems) for name, content in files]


def source_text(filename: str, source: bytes) -> str:
    """Give a play's text as one, for comparing: a bundle's files follow one another by name."""
    if not filename.lower().endswith(".zip"):
        return source.decode("utf-8", errors="replace")
    parts = (
        f"# {name}\n{content.decode('utf-8', errors='replace')}"
        for name, content in sorted(_members(source))
    )
    return "\n".join(parts)


def _placed(problem: Problem, names: Iterable[str]) -> PlacedProblem:
    for name in names:
        message = problem.message.removeprefix(f"in {name}: ")
        if message != problem.message:
            return PlacedProblem(name, problem.line, line_anchor(name, problem.line), message)
    return PlacedProblem("", problem.line, line_anchor("", problem.line), problem.message)


def _file(file: str, name: str, content: bytes, problems: Iterable[PlacedProblem]) -> SourceFile:
    text = content[:FILE_LIMIT].decode("utf-8-sig", errors="replace")
    told: dict[int, list[str]] = {}
    for problem in problems:
        if problem.file == file:
            told.setdefault(problem.line, []).append(problem.message)
    lines = [
        SourceLine(number, line_anchor(file, number), html, told.get(number, []))
        for number, html in enumerate(_coloured(name, text), start=1)
    ]
    return SourceFile(name, lines, len(content) > FILE_LIMIT)


def _coloured(name: str, text: str) -> list[SafeString]:
    """Highlight, one piece of HTML per line; the formatter closes its tags at each line's end."""
    html = highlight(text, _lexer(name), HtmlFormatter(nowrap=True))
    lines = html.removesuffix("\n").split("\n")
    return [mark_safe(line) for line in lines]  # noqa: S308  (Pygments escapes the text)


def _lexer(name: str) -> Lexer:
    try:
        return get_lexer_for_filename(name, stripnl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False)


def _members(bundle: bytes) -> Iterator[tuple[str, bytes]]:
    """Give the files of a bundle, each read up to the limit; a broken bundle gives what it can."""
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            for member in archive.infolist()[:FILES_LIMIT]:
                if not member.is_dir():
                    with archive.open(member) as file:
                        yield member.filename, file.read(FILE_LIMIT + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError):
        return
