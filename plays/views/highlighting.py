"""Source text as lines of highlighted HTML, so that a page can link and annotate each line.

The text is shown as uploaded: never run, undecodable bytes replaced, everything escaped. The
classes are Pygments' short names, which ``source.css`` colours; there are no styles in the page
itself.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
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


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line: its number from 1, its HTML, and what is wrong with it."""

    number: int
    html: SafeString
    problems: list[str]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a play. Line anchors exist in the main file only: ``is_main``."""

    name: str
    lines: list[SourceLine]
    is_main: bool
    is_cut: bool


def source_files(
    filename: str, source: bytes, problems: Iterable[Problem] = ()
) -> list[SourceFile]:
    """Give the files of a play, the main one first; ``problems`` are told at its lines."""
    if not filename.lower().endswith(".zip"):
        return [_file(filename, source, is_main=True, problems=problems)]
    files = sorted(_members(source), key=lambda member: (member[0] != "play.py", member[0]))
    return [
        _file(name, content, is_main=name == "play.py", problems=problems)
        for name, content in files
    ]


def source_text(filename: str, source: bytes) -> str:
    """Give a play's text as one, for comparing: a bundle's files follow one another by name."""
    if not filename.lower().endswith(".zip"):
        return source.decode("utf-8", errors="replace")
    parts = (
        f"# {name}\n{content.decode('utf-8', errors='replace')}"
        for name, content in sorted(_members(source))
    )
    return "\n".join(parts)


def _file(name: str, content: bytes, *, is_main: bool, problems: Iterable[Problem]) -> SourceFile:
    text = content[:FILE_LIMIT].decode("utf-8-sig", errors="replace")
    told: dict[int, list[str]] = {}
    for problem in problems if is_main else ():
        told.setdefault(problem.line, []).append(problem.message)
    lines = [
        SourceLine(number, html, told.get(number, []))
        for number, html in enumerate(_coloured(name, text), start=1)
    ]
    return SourceFile(name, lines, is_main, len(content) > FILE_LIMIT)


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
