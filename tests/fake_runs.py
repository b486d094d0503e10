"""Stored runs without an engine, for tests of what shows them.

Rows are inserted by one statement, however many; changes go the way of the stores: one transaction
takes the run's next number, patches rows, and keeps the counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from plays.models import (
    LogLine,
    MapFrame,
    Play,
    Revision,
    Run,
    RunUsage,
    ToolCall,
    TraceStep,
    Workspace,
)
from plays.models.grid import FRAME_SHIFT, row_id

FIELDS = ("_site", "email", "verdict")

Change = tuple[int, Mapping[str, Any]]


def field_form(name: str, parts: Sequence[str] = ()) -> dict[str, Any]:
    """Give a FieldForm as the engine stores it."""
    return {"name": name, "digest": "", "stale_after_seconds": None, "parts": list(parts)}


@dataclass
class FakeRun:
    """A run whose maps this test writes. ``run`` is kept fresh by every write."""

    run: Run
    frames: list[MapFrame] = field(default_factory=list)

    @property
    def frame(self) -> MapFrame:
        return self.frames[0]

    def add_map(
        self,
        total: int,
        *,
        fields: Sequence[str | Mapping[str, Any]] = FIELDS,
        columns: Sequence[str] = ("first_name", "last_name", "domain"),
        table: str = "leads",
        row: str = "",
    ) -> MapFrame:
        """Add a sealed map of pending rows. ``row`` is SQL for a row's input by its position ``n``."""
        forms = [field_form(one) if isinstance(one, str) else one for one in fields]
        frame = MapFrame.objects.create(
            run=self.run,
            path=f"{table}-{len(self.frames)}",
            table=f"fake_{table}",
            title=table,
            columns=list(columns),
            fields=forms,
            is_sealed=True,
            total=total,
            row_totals={"pending": total} if total else {},
        )
        _insert_rows(frame, row or _input_of(columns))
        self.frames.append(frame)
        self.touch({"rows": total})
        return frame

    def write(self, changes: Sequence[Change], frame: MapFrame | None = None) -> int:
        """Commit changes of rows as one group, and give its sequence.

        A change is (position, {"status", "values", "cells"}), each part only what changes.
        """
        frame = frame or self.frame
        with transaction.atomic():
            sequence = self._number({})
            for position, change in changes:
                _patch(row_id(frame.pk, position), sequence, change)
            _count(frame)
        self.run.refresh_from_db()
        return sequence

    def cell(self, position: int, name: str, status: str, value: Any = ..., **known: Any) -> int:
        """Commit one cell."""
        values = {} if value is ... else {name: value}
        return self.write(
            [(position, {"values": values, "cells": {name: {"status": status, **known}}})]
        )

    def log(self, *texts: str, level: str = "info") -> int:
        """Commit log lines."""
        with transaction.atomic():
            sequence = self._number({})
            for text in texts:
                LogLine.objects.create(
                    run=self.run, sequence=sequence, at=timezone.now(), level=level, text=text
                )
        self.run.refresh_from_db()
        return sequence

    def trace(self, key: str, parent: str = "", **parts: Any) -> None:
        """Add a step of the trace."""
        TraceStep.objects.create(run=self.run, key=key, parent=parent, sequence=1, **parts)

    def set(self, **columns: Any) -> int:
        """Change columns of the run itself, as a transition does."""
        with transaction.atomic():
            sequence = self._number({})
            Run.objects.filter(pk=self.run.pk).update(**columns)
        self.run.refresh_from_db()
        return sequence

    def touch(self, counters: Mapping[str, int]) -> int:
        """Take a number and add to counters."""
        with transaction.atomic():
            sequence = self._number(counters)
        self.run.refresh_from_db()
        return sequence

    def _number(self, counters: Mapping[str, int]) -> int:
        run = Run.objects.select_for_update().get(pk=self.run.pk)
        for name, by in counters.items():
            run.counters[name] = run.counters.get(name, 0) + by
        run.sequence += 1
        run.save(update_fields=["sequence", "counters"])
        return run.sequence


def make_run(workspace: Workspace, user: User | None = None, **columns: Any) -> FakeRun:
    """Make a running run of a play that nothing can run."""
    play, _ = Play.objects.get_or_create(workspace=workspace, name="find_emails")
    revision, _ = Revision.objects.get_or_create(
        play=play,
        number=1,
        defaults={
            "format": "module",
            "filename": "find_emails.py",
            "source": b"",
            "digest": "0" * 64,
            "pipeline": {"name": "find_emails", "inputs": [], "maps": [], "calls": []},
        },
    )
    told = {"status": "running", "started_at": timezone.now(), **columns}
    run = Run.objects.create(
        workspace=workspace, play=play, revision=revision, created_by=user, **told
    )
    RunUsage.objects.create(run=run)
    return FakeRun(run)


def refused_call(fake: FakeRun) -> None:
    """Have the provider sandbox_a refuse a call of the run, as a locked account does."""
    ToolCall.objects.create(
        key=f"refused-{fake.run.pk}",
        workspace=fake.run.workspace,
        run=fake.run,
        tool="sandbox_a_email_finder",
        provider="sandbox_a",
        input={},
        status="failed",
        error={"code": "locked", "category": "billing", "message": "the account is locked"},
        finished_at=timezone.now(),
    )


def _input_of(columns: Sequence[str]) -> str:
    quoted = ["'" + name.replace("'", "''") + "'" for name in columns]
    pairs = ", ".join(f"{name}, {name} || ' ' || (n + 1)" for name in quoted)
    return f"jsonb_build_object({pairs})"


def _insert_rows(frame: MapFrame, row: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO plays_rowstate"
            " (id, frame_id, position, row_key, input, data, cells, status, sequence)"
            f" SELECT (%s::bigint << {FRAME_SHIFT}) + n, %s, n, 'key-' || n, {row.replace('%', '%%')},"
            " '{}', '{}', 'pending', 0 FROM generate_series(0, %s - 1) AS n",
            [frame.pk, frame.pk, frame.total],
        )


def _patch(pk: int, sequence: int, change: Mapping[str, Any]) -> None:
    cells = {name: {**cell, "sequence": sequence} for name, cell in change.get("cells", {}).items()}
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE plays_rowstate SET sequence = %s, status = coalesce(%s, status),"
            " data = data || %s::jsonb, cells = cells || %s::jsonb WHERE id = %s",
            [
                sequence,
                change.get("status"),
                json.dumps(change.get("values", {})),
                json.dumps(cells),
                pk,
            ],
        )


def _count(frame: MapFrame) -> None:
    """Count anew. The stores add deltas; that both agree is their own tests' matter."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, count(*) FROM plays_rowstate WHERE frame_id = %s GROUP BY 1", [frame.pk]
        )
        frame.row_totals = dict(cursor.fetchall())
        cursor.execute(
            "SELECT c.key, c.value ->> 'status', count(*) FROM plays_rowstate,"
            " jsonb_each(cells) AS c WHERE frame_id = %s GROUP BY 1, 2",
            [frame.pk],
        )
        frame.totals = {}
        for name, status, number in cursor.fetchall():
            frame.totals.setdefault(name, {})[status] = number
    frame.save(update_fields=["totals", "row_totals"])
