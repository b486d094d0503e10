"""Which run, row and field the running code belongs to: one context variable.

Only names and counters live here; nothing that must not cross from one run to another.
"""

from __future__ import annotations

from contextvars import ContextVar

from runtime.errors import DuplicateName
from runtime.progress import CellProgress
from runtime.rows import RowRun


class Scope:
    """A place in a run: the top level of a play, or one field of one row.

    ``place`` begins the durable names of what is asked here. ``row`` and ``cell`` are None at the top level.
    ``inside`` is the row whose field runs this, be it through a child play's top level, and None outside
    of rows. ``caller`` is where the child play was called whose top level this is. ``life`` is for how many
    seconds an answer is good enough here; None: any will do.
    """

    __slots__ = ("_repeats", "_running", "caller", "cell", "inside", "life", "place", "row")

    def __init__(
        self,
        place: str,
        row: RowRun | None = None,
        cell: CellProgress | None = None,
        *,
        caller: Scope | None = None,
        life: float | None = None,
    ) -> None:
        self.place = place
        self.caller = caller
        self.row = row
        self.cell = cell
        self.inside: RowRun | None = row or (caller.inside if caller else None)
        self.life: float | None = caller.life if caller else life
        self._repeats: dict[str, int] = {}
        self._running: set[str] = set()

    def begin(self, key: str) -> str:
        """Give the durable name of the next use of ``key`` here: the key, then ``key#2``, ``key#3``.

        Raises DuplicateName while another use of the key is running: which of two calls at once comes
        first would depend on timing, and so would their names.
        """
        if key in self._running:
            raise DuplicateName(
                f"two calls named {key!r} run at the same time in one place: give each its own name"
            )
        self._running.add(key)
        count = self._repeats[key] = self._repeats.get(key, 0) + 1
        return key if count == 1 else f"{key}#{count}"

    def end(self, key: str) -> None:
        """Let the next use of ``key`` begin."""
        self._running.discard(key)


current: ContextVar[Scope] = ContextVar("current")
