"""The seven ports in memory, for tests, and for runs that nobody needs to find again.

    uploads = {"upload:1": [{"name": "Ada"}]}
    ports = MemoryPorts(uploads=uploads, tools=[spec], scripts={spec.id: answer})
    outcome = await Engine(play, ports, form).run({"leads": "upload:1"})

The bundle's ``store`` lasts when the engine dies: ``ports.next()`` gives the ports of the worker
that takes the run over, ``ports.next("run-2")`` those of a later run of the same play. With
``discard=True`` finished rows are only counted, for measures with more rows than fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.memory.clock import SystemClock, VirtualClock
from runtime.memory.discarding import DiscardingRecords, DiscardingRows
from runtime.memory.gateway import ScriptedGateway, SentRequest, ToolScript, failed, hit, miss
from runtime.memory.records import MemoryReceipts, MemoryRecords
from runtime.memory.rows import MemoryRows
from runtime.memory.store import MemoryFrame, MemoryRow, MemoryRun, MemoryStore
from runtime.memory.world import MemoryLibrary, MemorySignals
from runtime.ports import Clock
from runtime.tools import ToolSpec

__all__ = [
    "MemoryFrame",
    "MemoryLibrary",
    "MemoryPorts",
    "MemoryReceipts",
    "MemoryRecords",
    "MemoryRow",
    "MemoryRows",
    "MemoryRun",
    "MemorySignals",
    "MemoryStore",
    "ScriptedGateway",
    "SentRequest",
    "SystemClock",
    "VirtualClock",
    "failed",
    "hit",
    "miss",
]


class MemoryPorts:
    """One participant's ports to a ``MemoryStore``. Making them takes the run over."""

    def __init__(
        self,
        *,
        uploads: Mapping[str, Sequence[dict[str, str]]] | None = None,
        tools: Iterable[ToolSpec] = (),
        scripts: Mapping[str, ToolScript] | None = None,
        plays: Mapping[str, dict[str, Any]] | None = None,
        clock: Clock | None = None,
        discard: bool = False,
    ) -> None:
        self.clock: Clock = clock or VirtualClock()
        self.library = MemoryLibrary(plays=plays, uploads=uploads, tools=tools)
        self.gateway = ScriptedGateway(self.clock, scripts or {})
        self.store = MemoryStore()
        self._discard = discard
        self._join("run-1")

    def next(
        self, run: str = "", *, selection: dict[str, Any] | None = None, retry_of: str | None = None
    ) -> MemoryPorts:
        """Give new ports to the same world: for the same run (a takeover), or for another one.

        Ports given earlier for that run are fenced from now on.
        """
        other = object.__new__(type(self))
        other.clock, other.library, other.gateway = self.clock, self.library, self.gateway
        other.store, other._discard = self.store, self._discard
        if run:
            self.store.run(run, selection=selection, retry_of=retry_of)
        other._join(run or self.run.id)
        return other

    def _join(self, run: str) -> None:
        epoch = self.store.take_over(run)
        self.run: MemoryRun = self.store.run(run)
        rows, records = MemoryRows, MemoryRecords
        if self._discard:
            rows, records = DiscardingRows, DiscardingRecords
        self.rows = rows(self.store, self.run, epoch, self.clock)
        self.records = records(self.store, self.run, epoch)
        self.receipts = MemoryReceipts(self.run, epoch, self.clock)
        self.signals = MemorySignals(self.store, self.run, self.clock)
