"""Recognising what is no CSV at all, so that the refusal can say what the file looks like.

It looks at the beginning only. What it does not know goes on to be read as CSV.
"""

from __future__ import annotations

import re

from plays.uploads.shapes import UploadError

_ADVICE = "save the table as CSV and upload that."

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook or Office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x7fELF", "a program"),
)
_ZIP = b"PK\x03\x04"

_TEXT_FORMATS = (
    (re.compile(r"\s*<(!doctype\s+html|html|head|body|table)\b", re.IGNORECASE), "an HTML page"),
    (re.compile(r"\s*<\?xml\b", re.IGNORECASE), "an XML document"),
    (re.compile(r'\s*(\{\s*["}]|\[\s*[\[{"\]])'), "JSON"),
)

_CONTROLS = re.compile(r"[\x01-\x08\x0b\x0e-\x1f]")
_FEWEST_CONTROLS = 8
_CONTROL_SHARE = 0.05
_NUL_SHARE = 0.3


def refuse_other_formats(sample: bytes, text: str, *, is_sure_of_text: bool) -> None:
    """Raise UploadError where the beginning, as bytes or decoded, is that of another format.

    ``is_sure_of_text``: the bytes are valid in an encoding that binary content is hardly ever
    valid in, so control characters speak for odd text only.
    """
    name = _format_name(sample, text)
    if name is None and _is_binary(text, is_sure_of_text):
        name = "binary content"
    if name:
        raise UploadError(f"This is no CSV file: it looks like {name}; {_ADVICE}")


def _format_name(sample: bytes, text: str) -> str | None:
    if sample.startswith(_ZIP):
        is_workbook = b"[Content_Types].xml" in sample or b"xl/" in sample
        return "an Excel workbook (.xlsx)" if is_workbook else "a ZIP archive"
    for signature, name in _SIGNATURES:
        if sample.startswith(signature):
            return name
    for pattern, name in _TEXT_FORMATS:
        if pattern.match(text.removeprefix("\ufeff")):
            return name
    return None


def _is_binary(text: str, is_sure_of_text: bool) -> bool:
    """Tell binary content by its control characters; a stray NUL or two are no sign of it."""
    nuls = text.count("\0")
    if nuls > _NUL_SHARE * len(text):
        return True
    controls = 0 if is_sure_of_text else len(_CONTROLS.findall(text))
    return controls >= _FEWEST_CONTROLS and controls + nuls > _CONTROL_SHARE * len(text)
