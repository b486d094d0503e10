"""Which encoding a file is taken to be in."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest

from plays.uploads import Inspection, Scan, inspect, read_records
from plays.uploads.encodings import _NARROW

GERMAN = "name,ort\nJürgen,Köln\nGroß,Düsseldorf\n"


def report_of(content: bytes, **options: object) -> Inspection:
    return inspect(io.BytesIO(content), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "written", "found"),
    [
        ("name,city\nAnna,Berlin\n", "ascii", "utf-8"),
        (GERMAN, "utf-8", "utf-8"),
        (GERMAN, "utf-16", "utf-16-le"),
        (GERMAN, "utf-16-le", "utf-16-le"),
        (GERMAN, "utf-16-be", "utf-16-be"),
        (GERMAN, "cp1252", "windows-1252"),
        ("name,x\nMüller,1\n", "cp1252", "windows-1252"),
        ("a,b\n5 €,“x”\n", "cp1252", "windows-1252"),
        ("nom,ville\nRené,Besançon\nÉloïse,Orléans\n", "latin-1", "windows-1252"),
        (GERMAN * 9 + "\x81,\x8d\n", "latin-1", "iso-8859-1"),
        ("имя,дни\nЮлий,Клин\nЛидия,Тбилиси\n" * 5, "cp1251", "windows-1251"),
        ("imię,miasto\nŁukasz,Łódź\nGrażyna,Wrocław\n" * 5, "cp1250", "windows-1250"),
        ("名前,都市\n山田太郎,東京都\n" * 5, "shift_jis", "shift_jis"),
        ("名前,都市\n山田太郎,東京都\n", "shift_jis", "shift_jis"),
        ("姓名,城市\n王小明,北京市\n李华,上海市\n", "gb18030", "gb18030"),
        ("名前,都市\n山田太郎,東京都\n", "utf-16-le", "utf-16-le"),
        ("名前,都市\n山田太郎,東京都\n", "utf-16-be", "utf-16-be"),
    ],
)
def test_the_encoding_is_found_and_the_text_is_right(text: str, written: str, found: str) -> None:
    report = report_of(text.encode(written))
    assert report.dialect.encoding == found
    assert list(report.preview[0].values()) == text.splitlines()[1].split(",")


def test_a_guess_is_told() -> None:
    [warning] = report_of(GERMAN.encode("cp1252")).warnings
    assert warning == (
        "The file is not UTF-8 and was read as windows-1252;"
        " choose another encoding if letters look wrong."
    )


def test_what_was_asked_for_is_no_guess() -> None:
    report = report_of(GERMAN.encode("cp1252"), encoding="cp1252")
    assert (report.dialect.encoding, report.warnings) == ("windows-1252", ())


def test_utf16_asked_for_takes_the_byte_order_that_is_evident() -> None:
    report = report_of(GERMAN.encode("utf-16-be"), encoding="utf-16")
    assert report.dialect.encoding == "utf-16-be"


def test_megabytes_of_ascii_leave_the_choice_open() -> None:
    plain = b"name,n\n" + b"Anna,1\n" * 200_000
    for encoding, found in [("utf-8", "utf-8"), ("cp1252", "windows-1252")]:
        scan = Scan(io.BytesIO(plain + "Jürgen,2\n".encode(encoding)))
        chunks = list(scan)
        dialect, columns = scan.inspection.dialect, scan.inspection.columns
        assert dialect.encoding == found
        [last] = read_records(chunks[-1:], dialect, columns, offset=200_000)
        assert last == {"name": "Jürgen", "n": "2"}


def test_a_character_may_be_cut_by_the_end_of_the_sample_or_of_a_block() -> None:
    for shift in range(4):
        content = b"name\n" + b"x" * shift + "é😀".encode() * 100_000 + b"\n"
        assert report_of(content).dialect.encoding == "utf-8"


@pytest.mark.parametrize("encoding", sorted(_NARROW))
def test_encodings_cut_into_lines_as_bytes_keep_ascii_to_itself(encoding: str) -> None:
    assert bytes(range(128)).decode(encoding) == "".join(map(chr, range(128)))
    for lead in range(128, 256):
        for line_end in b"\n\r":
            with suppress(UnicodeDecodeError):
                assert bytes([lead, line_end]).decode(encoding)[1:] == chr(line_end)
