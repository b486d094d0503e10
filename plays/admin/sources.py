"""The text of a revision as a highlighted page: a file, or the files of a bundle.

A text is shown as it was uploaded, never run and never trusted: undecodable bytes are replaced, a bundle's
files are read up to a size, and everything is escaped by the highlighter.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

FILE_LIMIT = 256 * 1024
"""Bytes of one file that are shown."""

FILES_LIMIT = 50
"""Files of a bundle that are shown."""


def highlighted(filename: str, source: bytes, *, is_bundle: bool) -> SafeString:
    """Return the source as HTML with line numbers."""
    files = _files(source) if is_bundle else iter([(filename, source[: FILE_LIMIT + 1])])
    return format_html_join("", "{}", ((_section(name, content),) for name, content in files))


def _section(name: str, content: bytes) -> SafeString:
    is_cut = len(content) > FILE_LIMIT
    text = content[:FILE_LIMIT].decode("utf-8", errors="replace")
    note = f", its first {FILE_LIMIT // 1024} kB" if is_cut else ""
    return format_html('<h4 class="plays-file">{}{}</h4>{}', name, note, _coloured(name, text))


def _coloured(name: str, text: str) -> SafeString:
    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        lexer = TextLexer()
    formatter = HtmlFormatter(cssclass="plays-source", linenos="inline", wrapcode=True)
    return mark_safe(highlight(text, lexer, formatter))  # noqa: S308  (Pygments escapes the text)


def _files(bundle: bytes) -> Iterator[tuple[str, bytes]]:
    """Give the first files of a bundle, each cut just above the limit; a broken one gives what it can."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(bundle))
        for member in archive.infolist()[:FILES_LIMIT]:
            if not member.is_dir():
                with archive.open(member) as file:
                    yield member.filename, file.read(FILE_LIMIT + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        yield "This bundle cannot be read further", str(error).encode()
