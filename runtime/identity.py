"""What things are called: table namespaces, row keys, durable names, column names. Pure.

A row is known by its key, never by its position: the key is the SHA-256 of the table's namespace and
the row's parts, so the same row in two tables has two keys, and the order of columns or the form of a
number (1, 1.0) does not change it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping

from runtime.errors import KeyInvalid
from runtime.values import Json, canonical_bytes, digest

TABLE_NAME_MAX = 63
"""PostgreSQL's limit on identifiers, kept so that a table can be published under its name."""


def context_key(key: object, operation: str) -> str:
    """Give an author's key trimmed; a blank one raises KeyInvalid that names the operation."""
    trimmed = key.strip() if isinstance(key, str) else ""
    if not trimmed:
        raise KeyInvalid(f"{operation} needs a non-empty name as its first argument")
    return trimmed


def safe_name(text: str) -> str:
    """Lower-case, non-alphanumerics to ``_``, squeezed, trimmed, a letter first. Raises on nothing left."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name:
        raise KeyInvalid(
            f"the name {text!r} holds no letter or digit: use at least one of a-z or 0-9"
        )
    return name if name[0].isalpha() else f"t_{name}"


def table_namespace(play: str, table: str) -> str:
    """Give the table's name below its play's, at most 63 characters; longer ones end in a hash."""
    name = f"{safe_name(play)}_{safe_name(table)}"
    return _shortened(name, TABLE_NAME_MAX)


def step_column(waterfall: str, step: str) -> str:
    """Give the grid column of one step of an inline waterfall: ``<waterfall>.<step>``."""
    return f"{_shortened(safe_name(waterfall), 40)}.{_shortened(safe_name(step), 40)}"


def _shortened(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def row_key(namespace: str, parts: Json) -> str:
    """Give a row's key: the digest of the namespace and the parts, typed (1 is not "1"), NFC text."""
    return digest([namespace, normalised(parts)])


def content_parts(row: Mapping[str, Json], computed: Iterable[str]) -> Json:
    """Give the parts of a row without an explicit key: its columns less those the map computes."""
    without = set(computed)
    return {
        name: value
        for name, value in row.items()
        if name not in without and not name.startswith("_")
    }


def normalised(value: Json) -> Json:
    """Give the form in which parts are compared: NFC text, integral floats as integers."""
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {normalised(key): normalised(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [normalised(item) for item in value]
    return value


def durable_name(*parts: str) -> str:
    """Join the parts of a durable name with ``/``; a part's own ``%`` and ``/`` are escaped."""
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


def call_name(place: str, key: str, call_input: Json) -> str:
    """Give the durable name of a tool call or child play: the place, the id, the input's digest."""
    told = hashlib.sha256(canonical_bytes(call_input)).hexdigest()[:32]
    return f"{place}/{durable_name(key)}/{told}"


def dataset_id(run: str, namespace: str) -> str:
    """Give the id of the dataset that a map of a run makes."""
    return f"map:{run}:{namespace}"
