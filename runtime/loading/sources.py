"""What was uploaded, told apart and read as text: a module, a bundle or a definition.

Nothing here knows what a play is; a source that cannot be read as text raises PlayInvalid.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from runtime.loading.bundles import read_bundle
from runtime.loading.problems import refusal

Format = Literal["module", "bundle", "definition"]

FORMATS: Mapping[str, Format] = {
    ".py": "module",
    ".zip": "bundle",
    ".json": "definition",
    ".yaml": "definition",
    ".yml": "definition",
}
MAX_TEXT_BYTES = 1_000_000
"""The longest module or definition: what a parser reads in about a second."""

BUNDLE_MAIN = "play.py"
ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Source:
    """A play's files. ``main`` is the path of the play itself; ``files`` holds it and, in a bundle,
    everything beside it."""

    format: Format
    main: str
    files: Mapping[str, bytes]

    def text(self, path: str) -> str:
        """Give a file as text. Raises PlayInvalid with the line where it is none."""
        return read_text(self.files[path], path, told=path != self.main)


def read_source(filename: str, content: bytes) -> Source:
    """Tell the format by name and content, and unpack a bundle. Raises PlayInvalid."""
    return source_as(format_of(filename, content), filename, content)


def source_as(form: Format, filename: str, content: bytes) -> Source:
    """Read a source whose format is known. Raises PlayInvalid."""
    if form == "bundle":
        return Source(form, BUNDLE_MAIN, read_bundle(content, BUNDLE_MAIN))
    return Source(form, base_name(filename), {base_name(filename): content})


def format_of(filename: str, content: bytes) -> Format:
    """Tell the format. Raises PlayInvalid where the name and the content do not go together."""
    suffix = PurePosixPath(base_name(filename)).suffix.lower()
    is_zip = content.startswith(ZIP_SIGNATURES)
    found = FORMATS.get(suffix)
    if found is None:
        raise refusal(
            f"the file {base_name(filename)!r} is no play: upload a module (.py), a bundle (.zip) or a"
            " definition (.json, .yaml)"
        )
    if is_zip and found != "bundle":
        raise refusal(f"the file is a zip archive that is called {suffix}: rename it to .zip")
    if found == "bundle" and not is_zip:
        raise refusal(
            "the file is called .zip but is no zip archive: pack play.py and its helper modules anew"
        )
    return found


def read_text(content: bytes, path: str, *, told: bool = False) -> str:
    """Give UTF-8 text without a byte order mark; ``told``: name the file in the sentence."""
    place = f"in {path}: " if told else ""
    if len(content) > MAX_TEXT_BYTES:
        raise refusal(
            f"{place}the file has {len(content):,} bytes, and at most {MAX_TEXT_BYTES:,} are read:"
            " move large tables into an upload"
        )
    if content.startswith(UTF16_MARKS):
        raise refusal(f"{place}the file is UTF-16 text: save it as UTF-8", 1)
    if (nul := content.find(b"\x00")) >= 0:
        raise refusal(
            f"{place}the file holds a NUL byte, which no text does: save it as plain UTF-8 text",
            _line_of(content, nul),
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal(
            f"{place}the byte 0x{content[error.start]:02x} is not UTF-8 text: save the file as UTF-8",
            _line_of(content, error.start),
        ) from None


def _line_of(content: bytes, offset: int) -> int:
    return content.count(b"\n", 0, offset) + 1


def base_name(filename: str) -> str:
    """Give a file's name without folders."""
    return PurePosixPath(filename.replace("\\", "/")).name or "play"
