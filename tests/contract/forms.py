"""Frames, rows and changes in the forms of the ports, with the parts that a test does not care about."""

from __future__ import annotations

from typing import Any

from runtime.ports import (
    Cell,
    FieldForm,
    FrameForm,
    Group,
    NewRow,
    RowChange,
    TraceChange,
    TraceResult,
)

Json = Any


def field_form(name: str, digest: str = "d1", *, life: float | None = None) -> FieldForm:
    return {"name": name, "digest": digest, "stale_after_seconds": life, "parts": []}


def frame_form(
    *fields: FieldForm, path: str = "map", table: str = "find_leads", explicit: bool = True
) -> FrameForm:
    return {
        "path": path,
        "table": table,
        "title": "leads",
        "description": "",
        "columns": ["name"],
        "fields": list(fields) or [field_form("email"), field_form("verdict")],
        "key": ["name"] if explicit else [],
        "explicit": explicit,
    }


def new_rows(*keys: str) -> list[NewRow]:
    return [{"position": n, "key": key, "input": {"name": key}} for n, key in enumerate(keys)]


def change(
    frame: int,
    position: int,
    status: str | None = None,
    *,
    values: dict[str, Json] | None = None,
    cells: dict[str, Cell] | None = None,
) -> RowChange:
    return {
        "frame": frame,
        "position": position,
        "status": status,
        "values": values or {},
        "cells": cells or {},
    }


def group(*rows: RowChange, **parts: Any) -> Group:
    told: Any = {"rows": list(rows), "entries": [], "counters": {}, "trace": [], "logs": []}
    told.update(parts)
    result: Group = told
    return result


def trace_change(
    key: str, parent: str = "", *, told: dict[str, Json] | None = None, **parts: Any
) -> TraceChange:
    change: Any = {"key": key, "parent": parent, "told": told or {}, "counts": {}, "results": []}
    change.update(parts)
    result: TraceChange = change
    return result


def trace_results(*rows: int) -> list[TraceResult]:
    return [
        {"row": row, "status": "completed", "value": row, "provider": "a", "error": ""}
        for row in rows
    ]


def done(digest: str = "d1", status: str = "completed", *, at: float = 4e9) -> Cell:
    return {"status": status, "step": digest, "reads": ["name"], "reads_digest": "r", "at": at}
