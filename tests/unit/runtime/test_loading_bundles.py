"""Bundles: what may be in them, what is refused, and how their modules are checked together."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile

import pytest

from runtime.loading.bundles import MAX_BYTES, is_inside
from tests.unit.runtime.loading_cases import checked, in_play, problems, zipped

PLAY = in_play("return 1")


def sentences(content: bytes) -> list[str]:
    """Give the sentences about a bundle, without lines."""
    return [sentence for _, sentence in problems(content, "bundle.zip")]


def test_a_play_and_its_helpers_make_a_bundle() -> None:
    main = "from lib.names import FIRST\nimport helpers\n" + in_play("return helpers.f(FIRST)")
    content = zipped(
        {"play.py": main, "helpers.py": "def f(x): return x", "lib/names.py": "FIRST = 1"}
    )
    found = checked(content, "bundle.zip")
    assert (found.format, found.name, found.problems) == ("bundle", "p", [])


@pytest.mark.parametrize(
    "path", ["../x.py", "a/../../x.py", "/etc/x.py", "C:x.py", "a\\b.py", "a//b.py", "./x.py"]
)
def test_a_path_that_leads_out_of_the_bundle_is_refused(path: str) -> None:
    assert sentences(zipped({"play.py": PLAY, path: ""})) == [
        f"the bundle holds the path {path!r}, which leads out of it: pack plain names only"
    ]


@pytest.mark.parametrize("path", ["play.py", "a/b/c.py", "..a.py", "a..b/c"])
def test_a_plain_path_is_inside(path: str) -> None:
    assert is_inside(path)


def test_a_path_with_a_nul_byte_is_refused() -> None:
    content = zipped({"play.py": PLAY, "nulX.py": ""}).replace(b"nulX", b"nul\0")
    assert sentences(content) == [
        "the bundle holds the path 'nul\\x00.py', which leads out of it: pack plain names only"
    ]


@pytest.mark.parametrize("mode", [0o120777, 0o010644, 0o020644], ids=["link", "pipe", "device"])
def test_a_link_or_device_is_refused(mode: int) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("play.py", PLAY)
        entry = zipfile.ZipInfo("link.py")
        entry.external_attr = mode << 16
        archive.writestr(entry, "/etc/passwd")
    assert sentences(packed.getvalue()) == [
        "'link.py' in the bundle is a link or device: pack plain files only"
    ]


def test_more_than_two_hundred_files_are_refused() -> None:
    content = zipped({"play.py": PLAY} | {f"f{number}.py": "" for number in range(200)})
    assert sentences(content) == ["the bundle holds 201 files, and at most 200 may be in it"]


def test_what_unpacks_to_more_than_the_limit_is_refused() -> None:
    content = zipped({"play.py": PLAY, "zeros.txt": bytes(MAX_BYTES)})
    assert len(content) < 10_000
    assert sentences(content) == [
        "the bundle unpacks to more than 5,000,000 bytes: leave data files out"
    ]


def test_an_archive_that_lies_about_its_sizes_is_refused() -> None:
    content = bytearray(zipped({"play.py": PLAY, "zeros.txt": bytes(50_000_000)}))
    struct.pack_into("<I", content, content.rindex(b"PK\x01\x02") + 24, 10)
    struct.pack_into("<I", content, content.rindex(b"PK\x03\x04") + 22, 10)
    (sentence,) = sentences(bytes(content))
    assert sentence.startswith("the zip archive cannot be read (Bad CRC-32")


def test_a_large_archive_is_refused_unread() -> None:
    content = zipped({"play.py": PLAY}) + bytes(MAX_BYTES)
    assert sentences(content) == [
        f"the bundle has {len(content):,} bytes, and at most 5,000,000 are read"
    ]


def test_a_name_that_is_there_twice_is_refused() -> None:
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("play.py", PLAY)
        archive.writestr("play.py", PLAY)
    assert sentences(packed.getvalue()) == ["the bundle holds 'play.py' twice: pack it anew"]


def test_encrypted_files_are_refused() -> None:
    content = bytearray(zipped({"play.py": PLAY}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    assert sentences(bytes(content)) == [
        "'play.py' in the bundle is encrypted: pack it without a password"
    ]


def test_unusual_compression_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("play.py", PLAY)
    assert sentences(packed.getvalue()) == [
        "'play.py' in the bundle is packed in an unusual way: use plain zip"
    ]


@pytest.mark.parametrize("cut", [10, 40, 80])
def test_an_archive_that_breaks_off_is_refused(cut: int) -> None:
    assert sentences(zipped({"play.py": PLAY})[:cut]) == [
        "the zip archive cannot be read (File is not a zip file): pack it anew"
    ]


def test_the_play_has_to_be_at_the_root() -> None:
    assert sentences(zipped({"mine/play.py": PLAY})) == [
        "the bundle has its play.py at 'mine/play.py': pack the files themselves, not their folder"
    ]
    assert sentences(zipped({"main.py": PLAY})) == [
        "the bundle has no play.py at its root (it holds main.py): name the play's file play.py"
    ]
    assert sentences(zipped({})) == [
        "the bundle has no play.py at its root: name the play's file play.py"
    ]


def test_what_desktops_put_into_archives_is_left_out() -> None:
    litter = {
        "__MACOSX/._play.py": b"\0\x01",
        ".DS_Store": b"\0",
        "__pycache__/play.cpython-311.pyc": b"\0",
    }
    assert sentences(zipped({"play.py": PLAY, **litter})) == []


def test_folders_are_no_files() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("play.py", PLAY)
        archive.mkdir("lib")
    assert sentences(packed.getvalue()) == []


def test_problems_of_a_helper_name_its_file() -> None:
    content = zipped({"play.py": PLAY, "lib/helpers.py": "\ndef f(:\n"})
    assert problems(content, "bundle.zip") == [
        (2, "in lib/helpers.py: Python cannot read this: invalid syntax")
    ]


def test_imports_between_the_files_are_checked() -> None:
    content = zipped(
        {
            "play.py": "import lib.nothing\nfrom helpers import g\n" + PLAY,
            "helpers.py": "from .lib import names\nfrom lib import other\nimport pandas\ndef f(): ...\n",
            "lib/names.py": "FIRST = 1\n",
        }
    )
    assert problems(content, "bundle.zip") == [
        (1, "the bundle has no module 'lib.nothing'"),
        (2, "helpers.py has no 'g'"),
        (2, "in helpers.py: the bundle has no module 'lib.other'"),
        (
            3,
            (
                "in helpers.py: there is no module 'pandas' where plays run: use the standard"
                " library, or pack the module beside play.py into a bundle (.zip)"
            ),
        ),
    ]


def test_a_star_import_may_give_any_name() -> None:
    content = zipped(
        {
            "play.py": "from helpers import f\n" + in_play("return await f(ctx)"),
            "helpers.py": "from tools import *\n",
            "tools.py": "async def f(ctx):\n    return await ctx.tool(id='i', tool='nope', input={})\n",
        }
    )
    assert problems(content, "bundle.zip") == [
        (2, "in tools.py: there is no tool 'nope': the tools' page lists the ids that there are")
    ]


def test_a_tool_in_a_helper_belongs_to_the_step_that_calls_it() -> None:
    content = zipped(
        {
            "play.py": "import helpers\n"
            + in_play("return await ctx.map('t', []).step('a', helpers.ask).run()"),
            "helpers.py": "def ask(row, ctx):\n"
            "    return ctx.tool(id='i', tool='test_rate_limit', input={})\n",
        }
    )
    (step,) = checked(content, "bundle.zip").pipeline["maps"][0]["steps"]
    assert step["calls"] == [
        {"kind": "tool", "key": "i", "line": 2, "file": "helpers.py", "tool": "test_rate_limit"}
    ]


def test_a_second_play_in_a_helper_is_refused() -> None:
    assert problems(zipped({"play.py": PLAY, "helpers.py": PLAY}), "bundle.zip") == [
        (
            5,
            (
                "in helpers.py: 'p' is a second play: a file holds exactly one (the first is 'p' at"
                " line 5), so move it to its own file"
            ),
        )
    ]
    assert problems(zipped({"play.py": "x = 1", "helpers.py": PLAY}), "bundle.zip") == [
        (5, "in helpers.py: the play 'p' belongs into play.py, not into a helper module")
    ]


def test_a_helper_cannot_stand_for_the_engine() -> None:
    assert problems(zipped({"play.py": PLAY, "runtime.py": ""}), "bundle.zip") == [
        (
            1,
            "in runtime.py: a file of a bundle cannot be called runtime.py: rename it",
        )
    ]
