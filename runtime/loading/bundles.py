"""Unpacks a bundle in memory, and refuses an archive that could do harm. Writes no file.

An archive's own words about itself are checked first and believed last: the sizes it declares, then
what really comes out. Names are kept as they are; one that could lead anywhere else is refused.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import PurePosixPath

from runtime.errors import PlayInvalid
from runtime.loading.problems import refusal

MAX_FILES = 200
MAX_BYTES = 5_000_000
"""Both of the archive as it comes and of what is in it, unpacked."""

READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
IS_ENCRYPTED = 0x1
PACKERS_LITTER = re.compile(
    r"^__MACOSX/|(^|/)(\.DS_Store|Thumbs\.db|desktop\.ini)$|(^|/)__pycache__/"
)
"""What desktop systems and Python put into archives without being asked."""

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    UnicodeDecodeError,
    ValueError,
)
"""What ``zipfile`` raises on archives that are broken or made to break it."""


def read_bundle(content: bytes, main: str) -> dict[str, bytes]:
    """Give the files of a bundle by path. Raises PlayInvalid for anything that is not a plain bundle."""
    if len(content) > MAX_BYTES:
        raise refusal(f"the bundle has {len(content):,} bytes, and at most {MAX_BYTES:,} are read")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = _unpack(archive)
    except PlayInvalid:
        raise
    except BROKEN as error:
        raise refusal(f"the zip archive cannot be read ({error}): pack it anew") from None
    return _with_main(files, main)


def _unpack(archive: zipfile.ZipFile) -> dict[str, bytes]:
    for entry in archive.infolist():
        _check_entry(entry)
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_FILES:
        raise refusal(
            f"the bundle holds {len(entries):,} files, and at most {MAX_FILES} may be in it"
        )
    _check_total(sum(entry.file_size for entry in entries))
    files: dict[str, bytes] = {}
    left = MAX_BYTES
    for entry in entries:
        if entry.filename in files:
            raise refusal(f"the bundle holds {entry.filename!r} twice: pack it anew")
        with archive.open(entry) as opened:
            files[entry.filename] = opened.read(left + 1)
        left -= len(files[entry.filename])
        _check_total(MAX_BYTES - left)
    return {path: body for path, body in files.items() if not PACKERS_LITTER.search(path)}


def _check_entry(entry: zipfile.ZipInfo) -> None:
    if not is_inside(entry.orig_filename.removesuffix("/")):
        raise refusal(
            f"the bundle holds the path {entry.orig_filename!r}, which leads out of it:"
            " pack plain names only"
        )
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refusal(
            f"{entry.filename!r} in the bundle is a link or device: pack plain files only"
        )
    if entry.flag_bits & IS_ENCRYPTED:
        raise refusal(f"{entry.filename!r} in the bundle is encrypted: pack it without a password")
    if entry.compress_type not in READ_METHODS:
        raise refusal(
            f"{entry.filename!r} in the bundle is packed in an unusual way: use plain zip"
        )


def is_inside(path: str) -> bool:
    """Whether a path of an archive stays inside it on every system."""
    if not path or "\\" in path or "\x00" in path or ":" in path:
        return False
    parts = path.split("/")
    return not path.startswith("/") and not {"", ".", ".."} & set(parts)


def _check_total(size: int) -> None:
    if size > MAX_BYTES:
        raise refusal(f"the bundle unpacks to more than {MAX_BYTES:,} bytes: leave data files out")


def _with_main(files: dict[str, bytes], main: str) -> dict[str, bytes]:
    if main in files:
        return files
    elsewhere = sorted(path for path in files if PurePosixPath(path).name == main)
    if elsewhere:
        raise refusal(
            f"the bundle has its {main} at {elsewhere[0]!r}: pack the files themselves, not their folder"
        )
    raise refusal(
        f"the bundle has no {main} at its root{_instead(files)}: name the play's file {main}"
    )


def _instead(files: Iterable[str]) -> str:
    found = sorted(path for path in files if path.endswith(".py"))
    return f" (it holds {', '.join(found[:3])})" if found else ""
