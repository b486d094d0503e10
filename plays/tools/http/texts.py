"""Bodies as text: by the charset that they declare, and a refusal for what is no text. Pure."""

from __future__ import annotations

from email.message import Message

FALLBACK = "utf-8"
BINARY_KINDS = ("image", "audio", "video", "font")
NOT_CHARSETS = {"idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined"}
"""Codecs that Python has beside those of texts; some take a time that grows with the square."""


class NotText(Exception):
    """The body is no text; ``str()`` is its media type."""


def text_of(body: bytes, content_type: str) -> str:
    """Give a body as text; bytes that its charset does not have become U+FFFD. Raises NotText.

    A text without a charset, or with one that is unknown, is read as UTF-8.
    """
    if not body:
        return ""
    message = Message()
    message["content-type"] = content_type
    kind = message.get_content_type() if content_type else "an unknown kind"
    text = _decoded(body, message.get_content_charset() or FALLBACK)
    if "\x00" in text or (kind.partition("/")[0] in BINARY_KINDS and not kind.endswith("+xml")):
        raise NotText(kind)
    return text


def _decoded(body: bytes, charset: str) -> str:
    if charset.replace("-", "_") in NOT_CHARSETS:
        charset = FALLBACK
    try:
        text = body.decode(charset, "replace")
    except (LookupError, ValueError):
        text = body.decode(FALLBACK, "replace")
    return text.removeprefix("\ufeff")
