"""A map as its author wrote it, ready to run. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from runtime.keys import RowKeys
from runtime.program import Step

OnRowError = Literal["isolate", "fail"]


@dataclass(frozen=True, slots=True)
class MapPlan:
    """A map as its author wrote it. ``place`` is its durable name, ``namespace`` its table's."""

    title: str
    namespace: str
    place: str
    steps: tuple[Step, ...]
    keys: RowKeys
    description: str
    on_row_error: OnRowError
    digest_of: Callable[[Any], str]

    @property
    def where(self) -> str:
        """How messages name it."""
        return f"map {self.title!r}"
