"""The text of a revision as it stands on its page in the administration."""

from __future__ import annotations

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from plays.highlighting import FILE_LIMIT, SourceFile, source_files


def highlighted(filename: str, source: bytes) -> SafeString:
    """Give the source as HTML with line numbers; the files of a bundle follow one another."""
    files = source_files(filename, source)
    if not files:
        return format_html("<p>{}</p>", "This bundle cannot be read.")
    return format_html_join("", "{}", ((_section(file),) for file in files))


def _section(file: SourceFile) -> SafeString:
    note = f", its first {FILE_LIMIT // 1024} kB" if file.is_cut else ""
    lines = format_html_join(
        "\n",
        '<span class="linenos">{}</span>{}',
        ((f"{line.number:>4}", line.html) for line in file.lines),
    )
    return format_html(
        '<h4 class="plays-file">{}{}</h4><div class="plays-source"><pre>{}</pre></div>',
        file.name,
        note,
        lines,
    )
