"""One row while it runs: what is known of it, and the read-only view that an author's code gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.activity import Worker
from runtime.ports import Cell, ClaimedRow
from runtime.values import Json


class RowRun:
    """A claimed row. ``known`` joins its input and the fields computed so far.

    ``wake_at`` is set where the row is to leave memory until then.
    """

    __slots__ = (
        "cells", "entries", "frame", "known", "place", "position", "values", "wake_at", "worker"
    )  # fmt: skip

    def __init__(self, claimed: ClaimedRow, *, frame: int, place: str, worker: Worker) -> None:
        self.frame = frame
        self.position = claimed["position"]
        self.place = f"{place}/{claimed['key']}"
        self.known: dict[str, Json] = dict(claimed["input"])
        self.values: dict[str, Json] = claimed["values"]
        self.cells: dict[str, Cell] = claimed["cells"]
        self.entries: dict[str, Json] = claimed["entries"]
        self.worker = worker
        self.wake_at: float | None = None


class RowView(Mapping[str, Any]):
    """The row as one step reads it: read-only, and it remembers the names that were read."""

    __slots__ = ("_known", "reads")

    def __init__(self, known: Mapping[str, Json], reads: set[str]) -> None:
        self._known = known
        self.reads = reads

    def __getitem__(self, name: str) -> Any:
        self.reads.add(name)
        try:
            return self._known[name]
        except KeyError:
            raise KeyError(
                f"{name}: the row has {', '.join(map(str, self._known)) or 'no columns'}"
            ) from None

    def get(self, name: str, default: Any = None) -> Any:
        self.reads.add(name)
        return self._known.get(name, default)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self.reads.add(name)
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        self.reads.update(self._known)
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"Row({', '.join(self._known)})"

    def to_json(self) -> dict[str, Json]:
        """Give the whole row; that reads every column."""
        self.reads.update(self._known)
        return dict(self._known)
