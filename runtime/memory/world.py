"""The ``Library`` and ``Signals`` ports in memory: what a run reads, and what others ask of it."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.errors import PlayError
from runtime.events import Request
from runtime.memory.store import MemoryRun, MemoryStore
from runtime.ports import Clock, UploadPage
from runtime.tools import ToolSpec

Json = Any


class MemoryLibrary:
    """Plays by name, uploads by reference (a list of records, equal columns), and tools."""

    def __init__(
        self,
        *,
        plays: Mapping[str, dict[str, Json]] | None = None,
        uploads: Mapping[str, Sequence[dict[str, str]]] | None = None,
        tools: Iterable[ToolSpec] = (),
    ) -> None:
        self.plays = dict(plays or {})
        self.uploads = dict(uploads or {})
        self.specs = {spec.id: spec for spec in tools}

    async def play(self, name: str) -> dict[str, Json]:
        if name not in self.plays:
            raise PlayError(
                f"there is no play {name!r} in this workspace: upload it, or mend its name"
            )
        return self.plays[name]

    async def upload(self, ref: str, offset: int, n: int, dialect: dict[str, Json]) -> UploadPage:
        if ref not in self.uploads:
            raise PlayError(f"{ref!r} is no upload of this run's workspace")
        records = self.uploads[ref]
        columns = list(records[0]) if records else []
        page = [dict(record) for record in records[offset : offset + n]]
        return {"columns": columns, "records": page, "total": len(records)}

    async def tools(self, ids: list[str]) -> list[dict[str, Json]]:
        return [self.specs[name].to_json() for name in ids if name in self.specs]


class MemorySignals:
    """A test asks with :meth:`request` and answers event waits with :meth:`deliver`."""

    def __init__(self, store: MemoryStore, run: MemoryRun, clock: Clock) -> None:
        self._store = store
        self._run = run
        self._clock = clock
        self._request = ""
        self._changed = asyncio.Event()

    def request(self, what: Request | str) -> None:
        """Ask the engine to pause or cancel, or tell it that its lease is lost."""
        self._request = str(what)
        self._tell()

    def deliver(self, event: str, payload: Json) -> bool:
        """Answer the open boundaries that wait for this event; False: none did.

        It is then kept for the next wait, unless the last one for it ended at its deadline.
        """
        now = self._clock.now()
        asked = [each for each in self._run.boundaries.values() if each.event == event]
        waiting = [each for each in asked if each.state(now)["status"] == "open"]
        if not waiting and (not asked or asked[-1].is_received):
            self._run.early.setdefault(event, []).append(payload)
        for boundary in waiting:
            boundary.is_received, boundary.payload = True, payload
            frame, position = boundary.place
            if frame is not None and position is not None:
                self._store.frames[frame].rows[position].wake_at = now
        self._tell()
        return bool(waiting)

    async def requested(self) -> str:
        while not self._request:
            await self._changed.wait()
        return self._request

    async def event(self, name: str) -> None:
        boundary = self._run.boundaries[name]
        while (state := boundary.state(self._clock.now()))["status"] == "open":
            await self._change_or(state["due_at"] - self._clock.now())

    async def woken(self, frame: int) -> None:
        while (wait := self._until_woken(frame)) > 0:
            await self._change_or(wait)

    def _until_woken(self, frame: int) -> float:
        """Give the seconds until the first waiting row may run again; infinite where none waits."""
        rows = self._store.frames[frame].waiting()
        return (rows[0].wake_at or 0.0) - self._clock.now() if rows else math.inf

    async def _change_or(self, seconds: float) -> None:
        """Wait for the next change, at most so long on the clock."""
        change = asyncio.create_task(self._changed.wait(), name="a change of a boundary")
        late = asyncio.create_task(self._clock.sleep(seconds), name="a boundary's deadline")
        try:
            await asyncio.wait({change, late}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (change, late):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def _tell(self) -> None:
        """Wake everybody who waits; those who come later wait for the next change."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
