"""Runs what a file of recorded runs tells, and shows what came out: cells, results and durable names.

A file (format 1) holds
    what       one sentence
    play       the lines of the play's module; ``children`` those of child plays by name
    tools      the specifications of the tools (``ToolSpec.to_json``), without what is the default
    replies    by tool: a list of [input, outcomes in turn]; any other input is a miss
    runs       the runs one after another over one store: {"rows", "selection"?, "retry_of"?}
    recorded   what came out of each run; ``python -m tests.recorded_runs.record FILE`` writes it
Durable names must stay what they are: a run that an older version began is found by them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.engine import Engine, RunForm
from runtime.loading import code_digest, load
from runtime.memory import MemoryPorts, miss
from runtime.ports import Group, MemberOutcome
from runtime.program import Play
from runtime.tools import BatchForm, ToolSpec

Json = Any
FORMAT = 1
SHOWN = ("status", "provider", "reason", "error", "partial", "part_of", "reads", "reads_digest")


def read(path: Path) -> dict[str, Json]:
    """Read a file of recorded runs. Raises ValueError for another format."""
    told: dict[str, Json] = json.loads(path.read_text())
    if told["format"] != FORMAT:
        raise ValueError(f"{path.name} has format {told['format']}, and this reads {FORMAT}")
    return told


async def replay(told: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Run the runs; give what came out of each, in the form of ``recorded``."""
    play = _play("play.py", told["play"])
    children = {name: _play(f"{name}.py", text) for name, text in told.get("children", {}).items()}
    ports = MemoryPorts(
        tools=[_spec(spec) for spec in told["tools"]],
        scripts={spec["id"]: _Script(told["replies"].get(spec["id"], [])) for spec in told["tools"]},
        plays={name: {"play": child} for name, child in children.items()},
    )  # fmt: skip
    shown = []
    for number, run in enumerate(told["runs"], 1):
        ports = ports.next(
            f"run-{number}", selection=run.get("selection"), retry_of=run.get("retry_of")
        )
        ports.library.uploads["upload:1"] = run["rows"]
        shown.append(await _run(ports, play))
    return shown


async def _run(ports: MemoryPorts, play: Play) -> dict[str, Json]:
    names: set[str] = set()
    _note_entries(ports, names)
    before = len(ports.gateway.requests)
    form = RunForm(ports.run.id, play.name, {})
    engine = Engine(
        play, ports, form, digest_of=code_digest, load=lambda found: (found["play"], code_digest)
    )
    outcome = await engine.run({"rows": "upload:1"})
    sent = ports.gateway.requests[before:]
    names |= {member["name"] for request in sent for member in request.members}
    names |= {*ports.run.receipts, *ports.run.boundaries}
    return {
        "status": str(outcome.status),
        "result": outcome.result,
        "error": outcome.error,
        "members": sum(len(request.members) for request in sent),
        "frames": [_frame(frame) for frame in ports.store.frames_of(ports.run.id)],
        "names": sorted(names),
    }


def _note_entries(ports: MemoryPorts, names: set[str]) -> None:
    commit = ports.records.commit

    async def noting(group: Group) -> int:
        names.update(entry["name"] for entry in group["entries"])
        return await commit(group)

    ports.records.commit = noting  # type: ignore[method-assign]


def _frame(frame: Any) -> dict[str, Json]:
    return {
        "path": frame.form["path"],
        "table": frame.form["table"],
        "rows": [_row(row) for _, row in sorted(frame.rows.items())],
    }


def _row(row: Any) -> dict[str, Json]:
    return {
        "key": row.key,
        "status": str(row.status),
        "values": row.values,
        "cells": {name: _cell(cell) for name, cell in sorted(row.cells.items())},
    }


def _cell(cell: Mapping[str, Json]) -> dict[str, Json]:
    shown = {name: cell[name] for name in SHOWN if name in cell}
    if "attempts" in cell:
        shown["attempts"] = [[each["tool"], each["status"]] for each in cell["attempts"]]
    return shown


class _Script:
    """One tool's answers by input; of several for one input each is given once, the last for ever."""

    def __init__(self, replies: list[Json]) -> None:
        self._replies = {_text(given): list(outcomes) for given, outcomes in replies}

    def __call__(self, given: Json) -> MemberOutcome:
        outcomes: list[MemberOutcome] = self._replies.get(_text(given), [miss()])
        return outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _play(filename: str, lines: list[str]) -> Play:
    return load("module", filename, "\n".join(lines).encode())


def _spec(told: Mapping[str, Json]) -> ToolSpec:
    batch = told.get("batch")
    given = {**told, "batch": BatchForm(*batch) if batch else None}
    return ToolSpec(**given)
