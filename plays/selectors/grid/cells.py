"""Rows and cells as pages and patches carry them: previews and states, short enough for many.

Pages and patches are built by the same functions, so that *old page + patches since = new page*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from plays.selectors.grid.columns import Field, computed_names, is_hidden
from plays.selectors.grid.preview import previews

SENTENCE_CHARACTERS = 300
"""Reasons and errors are cut here; the cell's detail holds them whole."""

CELLS = """coalesce((
    SELECT jsonb_object_agg(key, value - '{attempts,reads,reads_digest,step}'::text[])
    FROM jsonb_each(r.cells)
), '{}')::text"""
"""SQL for the states of a row's cells, without what only the detail shows."""

ROW = f"r.frame_id, r.position, r.status, r.sequence, {previews('r.data')}, {CELLS}"
"""SQL for what :func:`row_changes` reads of a row ``r``."""

Stored = Sequence[Any]


def row_changes(stored: Stored, fields: Sequence[Field], since: int) -> dict[str, Any]:
    """Give a row as a patch: its status, and the cells that changed above ``since``."""
    frame, position, status, sequence, values, cells = stored[:6]
    states = orjson.loads(cells)
    return {
        "frame": frame,
        "position": position,
        "status": status,
        "sequence": sequence,
        "cells": {
            name: cell
            for name, cell in _cells(fields, orjson.loads(values), states, sequence)
            if cell["sequence"] > since or not since
        },
    }


def _cells(
    fields: Sequence[Field], values: dict[str, Any], states: dict[str, Any], sequence: int
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Give every visible cell. A value without a state is taken to be as new as its row."""
    for name in computed_names(fields):
        if is_hidden(name):
            continue
        if name in states:
            yield name, _cell(states[name], values, name)
        elif name in values:
            yield name, {"status": "completed", "sequence": sequence, "value": values[name]}


def _cell(state: dict[str, Any], values: dict[str, Any], name: str) -> dict[str, Any]:
    cell = {"status": state["status"], "sequence": state.get("sequence", 0)}
    if name in values:
        cell["value"] = values[name]
    for word in ("provider", "stage", "partial"):
        if state.get(word):
            cell[word] = state[word]
    if state.get("reason"):
        cell["reason"] = _sentence(state["reason"])
    if state.get("error"):
        cell["error"] = _sentence(state["error"].get("message", ""))
    if cell["status"] == "waiting" and state.get("at"):
        cell["until"] = state["at"]
    return cell


def _sentence(text: str) -> str:
    if len(text) <= SENTENCE_CHARACTERS:
        return text
    return text[:SENTENCE_CHARACTERS] + "…"
