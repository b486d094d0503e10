"""Reading the address of a web page as somebody outside the installation wrote it. Pure."""

from __future__ import annotations

from yarl import URL

SCHEMES = ("http", "https")
LENGTH_MAX = 8000


class AddressInvalid(ValueError):
    """Not an address that can be asked. The sentence holds nothing of it but its scheme."""


def web_address(text: str, base: URL | None = None) -> URL:
    """Give an address without its fragment; relative to ``base`` where there is one.

    Raises AddressInvalid.
    """
    if len(text) > LENGTH_MAX:
        raise AddressInvalid(f"the address is longer than {LENGTH_MAX} characters")
    try:
        url = URL(text.strip())
        url = base.join(url) if base else url
        is_whole = bool(url.host) and url.port != 0
    except ValueError:
        raise AddressInvalid("the address is no URL") from None
    if url.scheme not in SCHEMES:
        raise AddressInvalid(
            f"only http and https are spoken, not {url.scheme}"
            if url.scheme
            else "the address needs http:// or https:// before it"
        )
    if not is_whole:
        raise AddressInvalid("the address names no host")
    if url.raw_user is not None or url.raw_password is not None:
        raise AddressInvalid(
            "the address holds a user's name or password: give them in an Authorization header"
        )
    return url.with_fragment(None)
