"""The row keys of one map: explicit parts where the author named them, else the row's content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.errors import KeyInvalid
from runtime.identity import content_parts, row_key
from runtime.values import MISSING, Json, check_json, is_meaningful


class RowKeys:
    """Makes the keys of one map's rows. ``names`` are the key's columns, empty for a function or none."""

    def __init__(self, namespace: str, key: Any, computed: Sequence[str], where: str) -> None:
        self._namespace = namespace
        self._computed = frozenset(computed)
        self._where = where
        self._function: Callable[..., Any] | None = key if callable(key) else None
        self.names = self._names(key)
        self.blank = 0

    @property
    def is_explicit(self) -> bool:
        """Whether the author said what makes a row the same."""
        return bool(self.names) or self._function is not None

    def key(self, row: Mapping[str, Json], position: int) -> str:
        """Give the row's key.

        Blank parts of an explicit key are counted in ``blank``; such a row is known by its content and
        its position, since two unknown things are not the same thing.
        """
        if not self.is_explicit:
            return row_key(self._namespace, content_parts(row, self._computed))
        parts = self.parts(row, position)
        if all(is_meaningful(part) for part in parts):
            return row_key(self._namespace, parts)
        self.blank += 1
        return row_key(self._namespace, ["", content_parts(row, self._computed), position])

    def parts(self, row: Mapping[str, Json], position: int) -> list[Json]:
        """Give the parts of the explicit key of a row; MISSING ones as None."""
        if self._function is None:
            return [row.get(name) for name in self.names]
        try:
            given = self._function(row, position)
        except Exception as error:  # an author's code may raise anything
            raise KeyInvalid(
                f"{self._where}: the key function failed on row {position + 1}:"
                f" {type(error).__name__}: {error}"
            ) from error
        told = check_json(given, f"{self._where}: the key function, row {position + 1},")
        if isinstance(told, bool | dict) or told is MISSING:
            raise KeyInvalid(
                f"{self._where}: the key function gave a {type(told).__name__} for row {position + 1}:"
                " give text, a number or a list of parts"
            )
        return told if isinstance(told, list) else [told]

    def _names(self, key: Any) -> list[str]:
        if key is None or callable(key):
            return []
        names = [key] if isinstance(key, str) else list(key)
        for name in names:
            if not isinstance(name, str) or not name.strip():
                raise KeyInvalid(
                    f"{self._where}: a key is a column's name, a list of names or a function"
                )
            if name in self._computed:
                raise KeyInvalid(
                    f"{self._where}: the key uses {name!r}, which the map itself computes:"
                    " use columns of the input"
                )
        return names
