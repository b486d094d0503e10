"""Bodies as text."""

from __future__ import annotations

import pytest

from plays.tools.http.texts import NotText, text_of


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("Zoë".encode(), "text/plain", "Zoë"),
        ("Zoë".encode(), "", "Zoë"),
        ("Zoë".encode("latin-1"), 'text/html; charset="ISO-8859-1"', "Zoë"),
        ("Zoë".encode("utf-16"), "text/plain; charset=utf-16", "Zoë"),
        ("Zoë".encode("utf-8-sig"), "application/json", "Zoë"),
        (b"caf\xe9", "text/plain; charset=utf-8", "caf\ufffd"),
        ("Zoë".encode(), "text/plain; charset=no-such", "Zoë"),
        ("Zoë".encode(), "text/plain; charset=zlib", "Zoë"),
        (b"a-b", "text/plain; charset=punycode", "a-b"),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
        (b"", "image/png", ""),
        (b"x", "nonsense", "x"),
    ],
)
def test_a_body_is_read_by_its_charset(body: bytes, kind: str, text: str) -> None:
    assert text_of(body, kind) == text


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (b"\x89PNG", "image/png", "image/png"),
        (b"PK\x03\x04\x00", "application/zip", "application/zip"),
        (b"a\x00b", "", "an unknown kind"),
    ],
)
def test_what_is_no_text_is_refused_with_its_kind(body: bytes, kind: str, told: str) -> None:
    with pytest.raises(NotText, match=f"^{told}$"):
        text_of(body, kind)
