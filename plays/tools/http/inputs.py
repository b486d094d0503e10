"""The inputs of ``http_fetch``: what is wrong with one, what of it is secret, may it be repeated. Pure.

An input has a ``url``, and may have ``method`` (GET), ``headers`` (an object), ``json`` or ``data`` (text).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.crypto import salted_hmac

from plays.tools.addresses import AddressInvalid, web_address

Json = Any

REPEATABLE_METHODS = ("GET", "HEAD", "OPTIONS")
METHODS = (*REPEATABLE_METHODS, "POST", "PUT", "PATCH", "DELETE")
IDEMPOTENCY_KEYS = ("idempotency-key", "x-idempotency-key")

PRIVATE_WORDS = (
    "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
)  # fmt: skip
"""A header whose name holds one of these has a value that only its receiver may see."""

SET_HERE = (
    "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding",
    "upgrade",
)  # fmt: skip
"""Headers that belong to the connection, which is not the author's."""

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")

NAMES = ("url", "method", "headers", "json", "data")


def method_of(given: Mapping[str, Json]) -> str:
    """Give the method of a request in upper case."""
    return str(given.get("method") or "GET").upper()


def headers_of(given: Mapping[str, Json]) -> dict[str, str]:
    """Give the headers of a request; their names in lower case."""
    return {name.lower(): value for name, value in (given.get("headers") or {}).items()}


def is_repeatable(given: Mapping[str, Json]) -> bool:
    """Whether a request may be made twice."""
    return method_of(given) in REPEATABLE_METHODS


def is_private(header: str) -> bool:
    """Whether a header's value must be hidden; ``header`` in lower case."""
    return header not in IDEMPOTENCY_KEYS and any(word in header for word in PRIVATE_WORDS)


def kept(given: Mapping[str, Json]) -> Json:
    """Give a request as the ledger keeps it: each private value becomes a keyed digest of it.

    The digest still tells two requests apart, and cannot be guessed back without the installation's key.
    """
    headers = {
        name: _hidden(value) if is_private(name) else value
        for name, value in headers_of(given).items()
    }
    return {**given, "headers": headers}


def problem(given: Mapping[str, Json]) -> str:
    """Give what is wrong with a request, or ""; no sentence holds anything secret of it."""
    if unknown := [name for name in given if name not in NAMES]:
        return f"a request has no {unknown[0]!r}: it has {', '.join(NAMES)}"
    return _url_problem(given) or _header_problem(given) or _method_problem(given)


def _url_problem(given: Mapping[str, Json]) -> str:
    if not isinstance(given.get("url"), str):
        return "a request needs a url, as text"
    try:
        web_address(given["url"])
    except AddressInvalid as error:
        return str(error)
    if given.get("json") is not None and given.get("data") is not None:
        return "give a request either json or data: it has one body"
    if not isinstance(given.get("data"), str | None):
        return "data has to be text: give other values as json"
    return ""


def _header_problem(given: Mapping[str, Json]) -> str:
    headers = given.get("headers") or {}
    if not isinstance(headers, dict):
        return "headers has to be an object of names and texts"
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name):
            return "the name of a header holds characters that it may not"
        if not isinstance(value, str) or not HEADER_VALUE.fullmatch(value):
            return f"the value of the header {name} has to be text of one line"
        if name.lower() in SET_HERE or name.lower().startswith("proxy-connection"):
            return f"the header {name} is set by the gateway"
    return ""


def _method_problem(given: Mapping[str, Json]) -> str:
    method = method_of(given)
    if method not in METHODS:
        return f"the method has to be one of {', '.join(METHODS)}"
    headers = headers_of(given)
    if not is_repeatable(given) and not any(headers.get(n, "").strip() for n in IDEMPOTENCY_KEYS):
        return f"{method} may change something on the other side, so it needs an Idempotency-Key header"
    return ""


def _hidden(value: str) -> str:
    return f"(hidden {salted_hmac('plays.tools.http', value, algorithm='sha256').hexdigest()[:16]})"
