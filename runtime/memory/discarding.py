"""Rows that nobody reads afterwards: pages wait compressed, finished rows are counted and dropped.

For measuring an engine on more rows than a test process could hold. Keys must be distinct; nothing
is known from earlier runs, and ``read_page`` gives only rows that are being worked on.
"""

from __future__ import annotations

import heapq
import zlib
from collections import deque

import orjson

from runtime.memory.known import FINISHED
from runtime.memory.records import MemoryRecords
from runtime.memory.rows import MemoryRows
from runtime.memory.store import MemoryRow, MemoryRun, MemoryStore
from runtime.ports import ClaimedRow, Clock, Group, NewRow, Sealed


class DiscardingRows(MemoryRows):
    """``MemoryRows`` whose frames hold rows only between their claim and their end."""

    def __init__(self, store: MemoryStore, run: MemoryRun, epoch: int, clock: Clock) -> None:
        super().__init__(store, run, epoch, clock)
        self._pages: dict[int, deque[bytes]] = {}

    async def add_page(self, frame: int, rows: list[NewRow]) -> None:
        self._run.number(self._epoch)
        page = zlib.compress(orjson.dumps(rows), 1)
        self._pages.setdefault(frame, deque()).append(page)
        self._store.frames[frame].total += len(rows)

    async def seal(self, frame: int) -> Sealed:
        self._run.number(self._epoch)
        held = self._store.frames[frame]
        held.sealed = True
        return {"total": held.total, "duplicate_keys": 0, "duplicates": []}

    async def claim(self, frame: int, n: int) -> list[ClaimedRow]:
        pages = self._pages.get(frame, deque())
        while pages and len(self._store.frames[frame].pending) < n:
            self._unpack(frame, pages.popleft())
        return await super().claim(frame, n)

    def _unpack(self, frame: int, page: bytes) -> None:
        held = self._store.frames[frame]
        for row in orjson.loads(zlib.decompress(page)):
            held.rows[row["position"]] = MemoryRow(row["position"], row["key"], row["input"])
            heapq.heappush(held.pending, row["position"])


class DiscardingRecords(MemoryRecords):
    """``MemoryRecords`` that drops finished rows, logs and trace after counting them."""

    async def commit(self, group: Group) -> int:
        sequence = await super().commit(group)
        for change in group["rows"]:
            if change["status"] in FINISHED:
                frame = self._store.frames[change["frame"]]
                row = frame.rows.pop(change["position"])
                frame.dropped[row.status] += 1
        self._run.logs.clear()
        self._run.trace.clear()
        return sequence
