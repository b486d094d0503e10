"""JSON values: canonical text, digests, paths, and what counts as a value. Pure.

This module knows nothing of runs, rows or tools.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import orjson

from runtime.errors import NotJson

Json = Any
"""Any value that JSON can hold. An alias, because a recursive type helps no reader here."""

MISSING: Any = type(
    "Missing", (), {"__repr__": lambda self: "MISSING", "__bool__": lambda self: False}
)()
"""What :func:`value_at_path` gives where there is nothing, as opposed to ``None``."""

REPLACEMENT = "\ufffd"
"""Stands for each NUL and each lone surrogate: PostgreSQL's ``jsonb`` can hold neither."""


def canonical_json(value: Json) -> str:
    """Give the one text of a JSON value: sorted keys, no spaces, plain UTF-8, no normalisation."""
    return canonical_bytes(value).decode()


def canonical_bytes(value: Json) -> bytes:
    """Give :func:`canonical_json` as UTF-8 bytes. Integers of any size stay exact."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "replace")


def digest(value: Json) -> str:
    """Give the SHA-256 of the canonical text, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def is_meaningful(value: Json) -> bool:
    """Tell a value from a miss: None, blank text, [] and {} are misses; 0 and False are values."""
    if value is None:
        return False
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, list | tuple | Mapping):
        return len(value) > 0
    return True


def value_at_path(value: Json, path: str) -> Json:
    """Read a dotted path; numbers index lists, blank parts are ignored. MISSING where it ends early."""
    for part in path.split("."):
        if not part:
            continue
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def json_or_none(text: str) -> Json:
    """Parse JSON text; blank or broken text gives None."""
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        return None


def check_json(value: object, where: str) -> Json:
    """Give ``value`` as plain JSON (tuples become lists), or raise NotJson that names the place.

    Refused rather than guessed at: NaN and infinities, sets, bytes, dates, other objects, keys that are
    no strings, and cycles. A value with ``to_json()`` (a tool's result, a dataset) gives that.
    """
    return _plain(value, where, "", set())


def _plain(value: object, where: str, path: str, above: set[int]) -> Json:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise NotJson(
            f"{where} gave {value} at {path or 'its top'}: JSON holds finite numbers only"
        )
    if hasattr(value, "to_json"):
        return _plain(value.to_json(), where, path, above)
    if not isinstance(value, Mapping | list | tuple):
        raise NotJson(
            f"{where} gave a {type(value).__name__} at {path or 'its top'}, which JSON cannot hold:"
            " give text, a number, a boolean, None, a list or a dict instead"
        )
    if id(value) in above:
        raise NotJson(f"{where} gave a value that contains itself at {path or 'its top'}")
    above = above | {id(value)}
    if isinstance(value, Mapping):
        return {
            _key(k, where, path): _plain(v, where, f"{path}.{k}".lstrip("."), above)
            for k, v in value.items()
        }
    return [
        _plain(item, where, f"{path}.{index}".lstrip("."), above)
        for index, item in enumerate(value)
    ]


def _key(key: object, where: str, path: str) -> str:
    if isinstance(key, str):
        return key
    raise NotJson(f"{where} gave the key {key!r} at {path or 'its top'}: JSON keys are text")


def sanitise(value: Json) -> tuple[Json, int]:
    """Give ``value`` as PostgreSQL can hold it, and how many things were replaced.

    Each NUL and each lone surrogate becomes U+FFFD; each NaN or infinity becomes null. The value
    itself is returned where nothing had to change.
    """
    if isinstance(value, str):
        return _sanitise_text(value)
    if isinstance(value, float):
        return (value, 0) if math.isfinite(value) else (None, 1)
    if isinstance(value, dict):
        pairs = [(_sanitise_text(key), sanitise(item)) for key, item in value.items()]
        count = sum(k[1] + v[1] for k, v in pairs)
        return ({k[0]: v[0] for k, v in pairs}, count) if count else (value, 0)
    if isinstance(value, list):
        items = [sanitise(item) for item in value]
        count = sum(item[1] for item in items)
        return ([item[0] for item in items], count) if count else (value, 0)
    return value, 0


def _sanitise_text(text: str) -> tuple[str, int]:
    if "\x00" not in text and (text.isascii() or not _has_surrogate(text)):
        return text, 0
    clean = "".join(REPLACEMENT if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in text)
    return clean, sum(a != b for a, b in zip(text, clean, strict=True))


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
