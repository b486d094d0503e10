"""Which encoding a file is in: asked for, marked, evident, or guessed.

The order of evidence: a byte order mark; what the person asked for; the pattern of UTF-16; UTF-8,
which other encodings hardly ever are by accident; and last a guess among the older encodings, in
which Windows-1252 wins unless the bytes speak clearly for another one.

A file may be plain ASCII for its first hundred megabytes, so the choice stays open until the first
bytes that are no ASCII: until then every candidate gives the same text.
"""

from __future__ import annotations

import codecs

from charset_normalizer import CharsetMatch, from_bytes

from plays.uploads.shapes import UploadError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

WIDE = frozenset({"utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})
"""Encodings in which a line end is not one byte."""

_WESTERN = "windows-1252"
_WESTERN_CODECS = frozenset({"cp1252", "latin_1"})
_GUESSES = {
    "cp1252": _WESTERN,
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1253": "windows-1253",
    "shift_jis": "shift_jis",
    "gb18030": "gb18030",
    "big5": "big5",
    "euc_kr": "euc_kr",
    "euc_jp": "euc_jp",
}
_LEAST_COHERENCE = 0.1
_SOME_CHAOS = 0.1
_GREAT_CHAOS = 0.5

_NARROW = frozenset(
    {
        *("utf-8", "ascii", "cp437", "cp850", "cp852", "cp866", "koi8-r", "koi8-u", "mac-roman"),
        *("shift_jis", "cp932", "euc_jp", "gb2312", "gbk", "gb18030", "big5", "euc_kr", "cp949"),
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
    }
)
"""Encodings in which the bytes of ASCII stand for themselves and a line end is never part of
another character, so that a file can be cut into lines before it is decoded."""


class Encoding:
    """The encoding of one file, and how sure it is.

    ``name`` holds for all bytes seen so far. It changes at most once, in :meth:`settle`, and only
    while everything before was ASCII. ``is_guess`` tells that nothing but statistics speaks for it,
    ``overruled`` what was asked for where the byte order mark says otherwise.
    """

    def __init__(self, name: str, *, is_settled: bool = True, overruled: str | None = None) -> None:
        self.name = name
        self.overruled = overruled
        self.is_guess = False
        self._is_settled = is_settled

    def settle(self, lines: bytes) -> str:
        """Look at the next whole lines, decide where they force it, and give the name."""
        if not self._is_settled and not lines.isascii():
            self._is_settled = True
            if not _is_utf8(lines):
                self.name, self.is_guess = _guess(lines), True
        return self.name

    @property
    def is_wide(self) -> bool:
        """Whether a line end takes more than one byte."""
        return self.name in WIDE


def find_encoding(sample: bytes, asked: str | None) -> Encoding:
    """Choose from the beginning of a file; UploadError where ``asked`` names no known encoding."""
    wanted = _known_name(asked) if asked else None
    marked = next((name for mark, name in _MARKS if sample.startswith(mark)), None)
    if marked:
        is_other = wanted is not None and not marked.startswith(wanted)
        return Encoding(marked, overruled=asked if is_other else None)
    if wanted == "utf-16":
        return Encoding(_evident_utf16(sample) or "utf-16-le")
    if wanted:
        return Encoding(wanted)
    evident = _evident_utf16(sample)
    return Encoding(evident) if evident else Encoding("utf-8", is_settled=False)


def _known_name(asked: str) -> str:
    try:
        name = codecs.lookup(asked).name.replace("utf-8-sig", "utf-8")
    except (LookupError, ValueError):
        name = ""
    if name in _NARROW or name in WIDE or name == "utf-16":
        return name.replace("cp125", "windows-125").replace("iso8859", "iso-8859")
    raise UploadError(
        f"No encoding is called {asked!r} here; known are utf-8, utf-16, windows-1250 to"
        " windows-1258, iso-8859-1 to iso-8859-16, shift_jis, gb18030, big5, euc_jp, euc_kr, koi8-r"
        " and mac-roman."
    )


def _evident_utf16(sample: bytes) -> str | None:
    """Tell UTF-16 without a mark: half of its bytes are zero, and always the same half.

    That is so for Latin letters. Other scripts show it by what is neither UTF-8 nor free of zero
    bytes, but makes whole lines of text as UTF-16.
    """
    half = len(sample) // 2
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if odd * 2 > half and even * 10 <= half:
        return "utf-16-le"
    if even * 2 > half and odd * 10 <= half:
        return "utf-16-be"
    if b"\0" in sample and not _is_utf8(sample):
        whole = sample[: half * 2 - 2]  # its last character may be cut
        names = ("utf-16-le", "utf-16-be")
        return next((name for name in names if _makes_lines(whole, name)), None)
    return None


def _makes_lines(sample: bytes, name: str) -> bool:
    try:
        text = sample.decode(name)
    except UnicodeDecodeError:
        return False
    return "\0" not in text and text.count("\n") * 2 > sample.count(b"\n")


def _is_utf8(lines: bytes) -> bool:
    """Tell UTF-8, also with a few broken bytes in it: those are an error, not another encoding."""
    text = lines.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    ascii_count = len(lines) - sum(lines.count(byte) for byte in set(lines) if byte > 127)
    return broken == 0 or len(text) - ascii_count - broken > broken


def _guess(lines: bytes) -> str:
    """Guess an older encoding. Short texts give poor statistics, so the western ones come first.

    They give way to an encoding in which the text makes words, where they make some chaos of it, and
    to the one that makes least chaos, where theirs is great.
    """
    matches = list(from_bytes(lines, cp_isolation=["latin_1", *_GUESSES], threshold=1.0))
    western = min((match.chaos for match in matches if _is_western(match)), default=1.0)
    others = [match for match in matches if not _is_western(match) and match.chaos < western]
    clear = [match for match in others if match.coherence >= _LEAST_COHERENCE]
    if western > _SOME_CHAOS and clear:
        return _GUESSES[clear[0].encoding]
    if western > _GREAT_CHAOS and others:
        return _GUESSES[others[0].encoding]
    return _WESTERN if _is_decodable(lines, _WESTERN) else "iso-8859-1"


def _is_western(match: CharsetMatch) -> bool:
    """Tell whether one of the two gives this text too; equal texts make one match."""
    return not _WESTERN_CODECS.isdisjoint(match.could_be_from_charset)


def _is_decodable(lines: bytes, name: str) -> bool:
    try:
        lines.decode(name)
    except UnicodeDecodeError:
        return False
    return True
