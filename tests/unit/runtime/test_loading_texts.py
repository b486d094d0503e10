"""Telling uploads apart, and reading them as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.loading import check
from tests.unit.runtime.loading_cases import TOOLS, checked, in_play, problems, zipped

PLAY = in_play("return 1")


@pytest.mark.parametrize(
    ("filename", "content", "form"),
    [
        ("p.py", PLAY.encode(), "module"),
        ("My Play.PY", PLAY.encode(), "module"),
        ("C:\\plays\\p.py", PLAY.encode(), "module"),
        ("p.zip", zipped({"play.py": PLAY}), "bundle"),
        ("p.json", b'{"name": "p"}', "definition"),
        ("p.yaml", b"name: p", "definition"),
        ("p.yml", b"name: p", "definition"),
    ],
)
def test_the_name_tells_the_format(filename: str, content: bytes, form: str) -> None:
    assert checked(content, filename).format == form


@pytest.mark.parametrize("filename", ["p.txt", "play", "leads.csv", "p.py.bak", ""])
def test_other_files_are_no_plays(filename: str) -> None:
    ((line, sentence),) = problems(PLAY, filename)
    assert line == 0
    assert sentence.endswith(
        "is no play: upload a module (.py), a bundle (.zip) or a definition (.json, .yaml)"
    )


def test_a_name_and_a_content_that_do_not_go_together_are_refused() -> None:
    archive = zipped({"play.py": PLAY})
    assert problems(archive, "p.py") == [
        (0, "the file is a zip archive that is called .py: rename it to .zip")
    ]
    assert problems(archive, "p.yaml") == [
        (0, "the file is a zip archive that is called .yaml: rename it to .zip")
    ]
    assert problems(PLAY, "p.zip") == [
        (
            0,
            "the file is called .zip but is no zip archive: pack play.py and its helper modules anew",
        )
    ]


@pytest.mark.parametrize("filename", ["p.py", "p.yaml", "p.json"])
def test_text_that_is_not_utf_8_is_told_with_its_line(filename: str) -> None:
    assert problems(b"x = 1\n\ny = 'caf\xe9'\n", filename) == [
        (3, "the byte 0xe9 is not UTF-8 text: save the file as UTF-8")
    ]


@pytest.mark.parametrize("filename", ["p.py", "p.yaml", "p.json"])
def test_nul_bytes_are_told_with_their_line(filename: str) -> None:
    assert problems(b"x = 1\ny = '\0'\n", filename) == [
        (2, "the file holds a NUL byte, which no text does: save it as plain UTF-8 text")
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_refused(encoding: str) -> None:
    ((line, sentence),) = problems(PLAY.encode(encoding))
    assert line == 1
    assert "save it as" in sentence


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert problems(PLAY.encode("utf-8-sig")) == []


def test_lines_may_end_as_they_do_on_windows() -> None:
    source = in_play("ctx.sleep(1)").replace("\n", "\r\n")
    assert problems(source) == [(6, "ctx.sleep() is never awaited: write 'await' before it")]


def test_an_encoding_that_the_text_declares_is_not_believed() -> None:
    assert problems("# -*- coding: latin-1 -*-\n" + PLAY.replace('"p"', '"pé"')) == []


def test_a_text_of_more_than_a_megabyte_is_refused() -> None:
    assert problems(PLAY + "#" * 1_000_000) == [
        (
            0,
            (
                f"the file has {len(PLAY) + 1_000_000:,} bytes, and at most 1,000,000 are read:"
                " move large tables into an upload"
            ),
        )
    ]


def test_what_could_be_read_of_a_wrong_play_is_given_too() -> None:
    found = check("p.py", in_play("ctx.sleep(1)").encode(), known_tools=TOOLS)
    assert found.name == "p"
    assert [call["kind"] for call in found.pipeline["calls"]] == ["sleep"]


def test_a_source_that_cannot_be_read_has_an_empty_pipeline() -> None:
    found = check("p.py", b"def", known_tools=TOOLS)
    assert found.pipeline == {
        "name": "",
        "description": "",
        "line": 0,
        "inputs": [],
        "maps": [],
        "calls": [],
    }


def test_checking_runs_nothing_of_the_authors_code(tmp_path: Path) -> None:
    # rule 13.13
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')\nraise SystemExit\n"
    assert (
        problems(f"from runtime import play\n{trap}@play('p')\nasync def p(ctx, input): ...\n")
        == []
    )
    assert list(tmp_path.iterdir()) == []
