"""What waits to be sent to one socket: always the newest state, never a queue.

A browser that reads slowly gets fewer messages, each with everything that it missed. What waits is
bounded by the rows that it shows (at most 500) and the newest log lines. Nothing here waits for a
network or a database.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from plays.selectors.grid.look import LOG_TAIL, RunLook

Message = dict[str, Any]


class Outbox:
    """The changes of one run that one browser has yet to get. It is a ``live.Watcher``.

    ``view`` is the number that the browser gave its latest view; each message carries it, so that
    the browser knows which rows a message speaks for.
    """

    def __init__(self) -> None:
        self.shown: frozenset[int] = frozenset()
        self.view = 0
        self._sequence = 0
        self._state: dict[str, Any] | None = None
        self._frames: list[dict[str, Any]] | None = None
        self._sent_state: dict[str, Any] | None = None
        self._sent_frames: list[dict[str, Any]] | None = None
        self._rows: dict[int, dict[str, Any]] = {}
        self._logs: deque[dict[str, Any]] = deque(maxlen=LOG_TAIL)
        self._last_log = 0
        self._waiting = asyncio.Event()

    def show(self, view: int, shown: frozenset[int]) -> None:
        """Speak for these rows (primary keys) from now on; patches of others are dropped."""
        self.view = view
        self.shown = shown
        self._rows = {pk: row for pk, row in self._rows.items() if pk in shown}

    def take(self, look: RunLook) -> None:
        """Fold a look into what waits. Older cells never replace newer ones."""
        self._sequence = max(self._sequence, look.sequence)
        if look.state is not None:
            self._state, self._frames = look.state, look.frames
        for pk in self.shown & look.rows.keys():
            self._rows[pk] = newer_row(self._rows.get(pk), look.rows[pk])
        for line in look.logs:
            if line["id"] > self._last_log:
                self._last_log = line["id"]
                self._logs.append(line)
        self._waiting.set()

    async def message(self) -> Message:
        """Wait until something waits, and give all of it as one message."""
        await self._waiting.wait()
        self._waiting.clear()
        message: Message = {"type": "changes", "sequence": self._sequence, "view": self.view}
        if self._state != self._sent_state:
            message["run"] = self._sent_state = self._state
        if self._frames != self._sent_frames:
            message["frames"] = self._sent_frames = self._frames
        if self._rows:
            message["rows"] = list(self._rows.values())
            self._rows = {}
        if self._logs:
            message["logs"] = list(self._logs)
            self._logs.clear()
        return message


def newer_row(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Join two patches of one row; of each cell, and of the row's status, the newer one counts."""
    if old is None:
        return new
    first, last = sorted((old, new), key=lambda row: int(row["sequence"]))
    cells = dict(first["cells"])
    for name, cell in last["cells"].items():
        if name not in cells or cell["sequence"] >= cells[name]["sequence"]:
            cells[name] = cell
    return {**last, "cells": cells}
