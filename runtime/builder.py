"""``ctx.map(...)``: gathers a map's steps, then runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from runtime.datasets import Dataset
from runtime.errors import KeyInvalid, PlayError
from runtime.keys import RowKeys
from runtime.maps import run_map
from runtime.plan import MapPlan, OnRowError
from runtime.program import Resolver, Steps
from runtime.session import Session


class Opener(Protocol):
    """What a builder needs of the context that made it."""

    session: Session
    digest_of: Callable[[Any], str]

    def open_table(self, table: str) -> tuple[str, str]:
        """Give the namespace and durable place of a table that is not taken."""


class MapBuilder:
    """A map that is being written: steps in order, then ``run()``. May run once."""

    def __init__(
        self, ctx: Opener, table: str, rows: Any, *, key: Any, stale_after_seconds: float | None
    ) -> None:
        self._ctx = ctx
        self._table = table
        self._rows = rows
        self._key = key
        self._stale_after_seconds = stale_after_seconds
        self._program = Steps()

    def step(
        self, name: str, resolver: Resolver, *, stale_after_seconds: float | None = None
    ) -> MapBuilder:
        """Add a step. Its value is kept for ``stale_after_seconds`` (default: the map's; None: for ever).

        Raises KeyInvalid on a blank name, DuplicateStep on one that is used.
        """
        life = self._stale_after_seconds if stale_after_seconds is None else stale_after_seconds
        self._program = self._program.step(name, resolver, stale_after_seconds=life)
        return self

    async def run(
        self, *, description: str | None = None, on_row_error: OnRowError = "isolate"
    ) -> Dataset:
        """Run the map; give its rows as a dataset. ``on_row_error="fail"`` raises after all rows settled."""
        if on_row_error not in ("isolate", "fail"):
            raise PlayError(f"map {self._table!r}: on_row_error is 'isolate' or 'fail'")
        if not self._program.steps:
            raise PlayError(f"map {self._table!r} has no steps: add at least one .step(...)")
        return await run_map(
            self._ctx.session, self._plan(description, on_row_error), self._rows, self._ctx
        )

    def _plan(self, description: str | None, on_row_error: OnRowError) -> MapPlan:
        namespace, place = self._ctx.open_table(self._table)
        computed = [step.name for step in self._program.steps]
        where = f"map {self._table!r}"
        try:
            keys = RowKeys(namespace, self._key, computed, where)
        except TypeError as error:
            raise KeyInvalid(
                f"{where}: a key is a column's name, a list of names or a function"
            ) from error
        return MapPlan(
            title=self._table,
            namespace=namespace,
            place=place,
            steps=self._program.steps,
            keys=keys,
            description=(description or "").strip(),
            on_row_error=on_row_error,
            digest_of=self._ctx.digest_of,
        )
