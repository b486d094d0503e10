"""The two worlds that the port suites run in: memory, and PostgreSQL.

A world holds one play's runs. ``join`` gives the ports of a new participant of a run, which takes
it over from an earlier one; ``frame`` and ``run`` show what is stored, in one form for both
worlds.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from uuid import UUID, uuid4

import pytest

from runtime.memory import MemoryPorts, VirtualClock
from runtime.ports import Library, Receipts, Records, Rows, Signals

Json = Any
Result = TypeVar("Result")

CSV = "name,domain\n" + "".join(f"Person {n},d{n}.example\n" for n in range(25))
TRACE = ("key", "parent", "told", "counts", "results")
RECORDS = [{"name": f"Person {n}", "domain": f"d{n}.example"} for n in range(25)]


class Joined(Protocol):
    """One participant's ports."""

    @property
    def rows(self) -> Rows: ...
    @property
    def records(self) -> Records: ...
    @property
    def receipts(self) -> Receipts: ...
    @property
    def signals(self) -> Signals: ...
    @property
    def library(self) -> Library: ...


@dataclass
class StoredFrame:
    """A frame as it is stored; rows by position, each with status, values, cells, key."""

    sealed: bool
    total: int
    totals: dict[str, dict[str, int]]
    row_totals: dict[str, int]
    parts: dict[str, list[str]]
    rows: dict[int, dict[str, Json]] = field(default_factory=dict)

    def adds_up(self) -> bool:
        """Whether the counts are those of the rows."""
        rows: dict[str, int] = {}
        cells: dict[str, dict[str, int]] = {}
        for row in self.rows.values():
            rows[row["status"]] = rows.get(row["status"], 0) + 1
            for name, cell in row["cells"].items():
                counted = cells.setdefault(name, {})
                counted[cell["status"]] = counted.get(cell["status"], 0) + 1
        return rows == self.row_totals and cells == self.totals


class World(Protocol):
    """What the suites need to know of a world."""

    upload_ref: str

    async def join(
        self,
        run: str = "one",
        *,
        selection: dict[str, Json] | None = None,
        retry_of: str | None = None,
    ) -> Joined: ...

    async def frame(self, run: str, path: str = "map") -> StoredFrame: ...

    async def run(self, run: str) -> dict[str, Json]:
        """Give sequence, counters, logs (texts), trace (as it adds up) and entries (by name) of a run."""

    async def ask(self, run: str, what: str) -> None: ...

    async def limit(self, run: str, **limits: int) -> None:
        """Set limits of a run that has joined."""

    async def deliver(self, run: str, event: str, payload: Json) -> None: ...

    async def after(self, seconds: float) -> None:
        """Wait until the world's clock is this much later."""


class MemoryWorld:
    """Runs in memory, on a clock that jumps."""

    upload_ref = "upload:1"

    def __init__(self) -> None:
        self.ports = MemoryPorts(uploads={self.upload_ref: RECORDS}, clock=VirtualClock())
        self._joined: dict[str, MemoryPorts] = {}

    async def join(
        self,
        run: str = "one",
        *,
        selection: dict[str, Json] | None = None,
        retry_of: str | None = None,
    ) -> Joined:
        self._joined[run] = self.ports.next(run, selection=selection, retry_of=retry_of)
        return self._joined[run]

    async def frame(self, run: str, path: str = "map") -> StoredFrame:
        (found,) = (f for f in self.ports.store.frames_of(run) if f.form["path"] == path)
        return StoredFrame(
            found.sealed,
            found.total,
            found.totals(),
            found.row_totals(),
            {form["name"]: form["parts"] for form in found.form["fields"]},
            {
                row.position: {
                    "status": row.status,
                    "key": row.key,
                    "values": row.values,
                    "cells": row.cells,
                    "sequence": row.sequence,
                }
                for row in found.rows.values()
            },
        )

    async def run(self, run: str) -> dict[str, Json]:
        found = self.ports.store.run(run)
        return {
            "sequence": found.sequence,
            "counters": dict(found.counters),
            "logs": [line["text"] for line in found.logs],
            "trace": list(found.trace.values()),
            "entries": {k: v for held in found.entries.values() for k, v in held.items()},
        }

    async def ask(self, run: str, what: str) -> None:
        self._joined[run].signals.request(what)

    async def limit(self, run: str, **limits: int) -> None:
        self.ports.store.run(run).limits.update(limits)

    async def deliver(self, run: str, event: str, payload: Json) -> None:
        self._joined[run].signals.deliver(event, payload)

    async def after(self, seconds: float) -> None:
        await self.ports.clock.sleep(seconds)


class PostgresWorld:
    """Runs in the test database. Django's ORM works in threads of its own, whose connections end."""

    def __init__(self) -> None:
        self._runs: dict[str, UUID] = {}
        self._leases: dict[str, asyncio.Task[None]] = {}
        self._pool: Any = None
        self._orm: Any = None
        self.upload_ref = ""

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[PostgresWorld]:
        from plays.playhost.orm import OrmThread
        from plays.stores import open_pool

        world = cls()
        async with open_pool() as world._pool, OrmThread() as world._orm:
            await world._in_thread(world._set_up)
            yield world
            for run in list(world._leases):
                await world._let_go(run)

    async def join(
        self,
        run: str = "one",
        *,
        selection: dict[str, Json] | None = None,
        retry_of: str | None = None,
    ) -> Joined:
        from plays.playhost.library import StoredLibrary
        from plays.stores import PostgresReceipts, PostgresRecords, PostgresRows, RunWriter
        from plays.stores.signals import PostgresSignals

        await self._let_go(run)
        participant = await self._in_thread(lambda: self._claim(run, selection, retry_of))
        writer = RunWriter(self._pool, participant)
        signals = PostgresSignals(participant, participant.run, lease_seconds=30.0)
        self._leases[run] = asyncio.create_task(signals.keep(), name=f"the lease of {run}")

        class Ports:
            rows = PostgresRows(writer)
            records = PostgresRecords(writer)
            receipts = PostgresReceipts(writer, participant.run)
            library = StoredLibrary(self._orm, workspace=self._workspace, root=participant.run)

        ports: Any = Ports()
        ports.signals = signals
        joined: Joined = ports
        return joined

    async def _let_go(self, run: str) -> None:
        """Renew the lease of this run's participant no more: it is as good as dead."""
        task = self._leases.pop(run, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def frame(self, run: str, path: str = "map") -> StoredFrame:
        return await self._in_thread(lambda: self._frame(run, path))

    async def run(self, run: str) -> dict[str, Json]:
        return await self._in_thread(lambda: self._run(run))

    async def ask(self, run: str, what: str) -> None:
        from plays.models import Run

        await self._in_thread(lambda: Run.objects.get(pk=self._runs[run]).request(what))

    async def limit(self, run: str, **limits: int) -> None:
        from plays.models import Run

        chosen = Run.objects.filter(pk=self._runs[run])
        await self._in_thread(lambda: chosen.update(limits=limits))

    async def deliver(self, run: str, event: str, payload: Json) -> None:
        from plays.models import Run
        from plays.services.waits import event_answer

        await self._in_thread(
            lambda: event_answer(Run.objects.get(pk=self._runs[run]), event, payload)
        )

    async def after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def drop_connections(self) -> None:
        """Have the server end every other connection to the test database."""
        from django.db import connection

        def drop() -> None:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    " AND application_name = 'deepline stores'"
                )

        await self._in_thread(drop)

    async def expire(self, run: str) -> None:
        """Let a run's lease run out."""
        from django.db.models.functions import Now

        from plays.models import RunParticipant

        participants = RunParticipant.objects.filter(run=self._runs[run])
        await self._in_thread(lambda: participants.update(lease_until=Now()))

    def lose_the_answer_of_the_next_commit(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Break the connection right after the server has committed; give what was lost so."""
        import psycopg

        commit = psycopg.AsyncTransaction._exit_gen

        lost: list[str] = []

        def committed_then_gone(transaction: Any, *told: Any) -> Any:
            monkeypatch.undo()
            lost.append("the answer")
            yield from commit(transaction, *told)
            raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(psycopg.AsyncTransaction, "_exit_gen", committed_then_gone)
        return lost

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        from django.db import connection

        def run() -> Result:
            try:
                return work()
            finally:
                connection.close()

        return await asyncio.to_thread(run)

    def _set_up(self) -> None:
        from plays.models import Play, Revision, Workspace
        from plays.services.uploads import upload_accept

        workspace = Workspace.objects.create(name=f"w-{uuid4().hex[:8]}")
        play = Play.objects.create(workspace=workspace, name="find")
        self._workspace = workspace.pk
        self._revision = Revision.objects.create(
            play=play,
            number=1,
            format="module",
            filename="find.py",
            source=b"",
            digest="d",
            pipeline={},
        )
        upload = upload_accept(workspace, None, io.BytesIO(CSV.encode()), "people.csv")
        self.upload_ref = upload.ref

    def _claim(self, run: str, selection: dict[str, Json] | None, retry_of: str | None) -> Any:
        from django.db.models import F
        from django.db.models.functions import Now

        from plays.models import Run, RunParticipant, RunUsage
        from plays.services.leases import run_claim

        if run not in self._runs:
            made = Run.objects.create(
                workspace_id=self._workspace,
                play=self._revision.play,
                revision=self._revision,
                selection=selection or {},
                retry_of_id=retry_of and self._runs[retry_of],
            )
            RunUsage.objects.create(run=made)
            self._runs[run] = made.pk
        # A renewal that was on its way when its task was cancelled may still arrive, so the epoch ends
        # with the lease: a renewal of an older epoch changes nothing.
        dead = RunParticipant.objects.filter(run=self._runs[run])
        dead.update(lease_until=Now(), epoch=F("epoch") + 1)
        participant = run_claim(self._runs[run], "test")
        assert participant is not None
        return participant

    def _frame(self, run: str, path: str) -> StoredFrame:
        from plays.models import MapFrame

        found = MapFrame.objects.get(run=self._runs[run], path=path)
        rows = {
            row.position: {
                "status": row.status,
                "key": row.row_key,
                "values": row.data,
                "cells": row.cells,
                "sequence": row.sequence,
            }
            for row in found.rows.order_by("id")
        }
        parts = {form["name"]: form["parts"] for form in found.fields}
        return StoredFrame(
            found.is_sealed, found.total, found.totals, found.row_totals, parts, rows
        )

    def _run(self, run: str) -> dict[str, Json]:
        from plays.models import Run

        found = Run.objects.get(pk=self._runs[run])
        return {
            "sequence": found.sequence,
            "counters": found.counters,
            "logs": [line.text for line in found.log_lines.order_by("id")],
            "trace": list(found.trace.order_by("id").values(*TRACE)),
            "entries": dict(found.entries.values_list("name", "value")),
        }
