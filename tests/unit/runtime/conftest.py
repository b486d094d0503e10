"""A small world for engines: tools that answer from functions, and what a run left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from runtime.engine import Engine, RunForm, RunOutcome
from runtime.events import RunStatus
from runtime.memory import MemoryFrame, MemoryPorts, MemoryRow
from runtime.ports import MemberOutcome
from runtime.program import Play
from runtime.tools import BatchForm, ToolSpec
from runtime.tracesteps import trace_tree


def tool(name: str, *, output: str = "email", size: int = 0, **known: Any) -> ToolSpec:
    """Give a tool of its own provider; ``size`` 0 is a tool without a batch form."""
    batch = BatchForm(f"{name}_batch", size) if size else None
    return ToolSpec(name, known.pop("provider", name), output, batch=batch, **known)


class World:
    """The ports of one run, and what can be read from them afterwards."""

    def __init__(
        self,
        tools: Mapping[ToolSpec, Callable[[Any], MemberOutcome]] | None = None,
        *,
        rows: list[dict[str, str]] | None = None,
        limits: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        scripts = {spec.id: answer for spec, answer in (tools or {}).items()}
        self.ports = MemoryPorts(
            uploads={"upload:1": rows or []}, tools=list(tools or ()), scripts=scripts, **options
        )
        self.limits = limits or {}
        self.code = "code-1"

    async def run(self, play: Play, given: Mapping[str, Any] | None = None) -> RunOutcome:
        """Run a play to its outcome."""
        engine = Engine(
            play,
            self.ports,
            RunForm(self.ports.run.id, play.name, self.limits),
            digest_of=lambda _: self.code,
            load=self.load,
        )
        return await engine.run(given if given is not None else {"rows": "upload:1"})

    async def finish(self, play: Play, given: Mapping[str, Any] | None = None) -> RunOutcome:
        """Run a play to its end, with a new engine whenever one of its long waits is over."""
        while (outcome := await self.run(play, given)).status is RunStatus.WAITING:
            await self.ports.clock.sleep(max(0.0, self.first_due() - self.ports.clock.now()))
            self.ports = self.ports.next()
        return outcome

    def first_due(self) -> float:
        """When the first open wait of the run is due."""
        now = self.ports.clock.now()
        rows = [row.wake_at for frame in self.frames for row in frame.waiting() if row.wake_at]
        waits = self.ports.run.boundaries.values()
        return min(rows + [wait.due_at for wait in waits if wait.state(now)["status"] == "open"])

    def load(self, told: Mapping[str, Any]) -> tuple[Play, Callable[[Any], str]]:
        """Give a play of the library: ``MemoryPorts(plays={name: {"play": Play}})``."""
        return told["play"], lambda _: self.code

    @property
    def frames(self) -> list[MemoryFrame]:
        """The frames of this run, in the order they were opened."""
        return [
            frame for frame in self.ports.store.frames.values() if frame.run == self.ports.run.id
        ]

    def rows(self, frame: int = 0) -> list[MemoryRow]:
        """The rows of a frame by position."""
        return [row for _, row in sorted(self.frames[frame].rows.items())]

    def values(self, field: str, frame: int = 0) -> list[Any]:
        """One field's values by position."""
        return [row.values.get(field) for row in self.rows(frame)]

    def statuses(self, field: str, frame: int = 0) -> list[str]:
        """One field's cell states by position."""
        return [str(row.cells[field]["status"]) for row in self.rows(frame)]

    def row_statuses(self, frame: int = 0) -> list[str]:
        """The rows' states by position."""
        return [str(row.status) for row in self.rows(frame)]

    def trace(self) -> list[dict[str, Any]]:
        """The run's trace as a tree."""
        return trace_tree(self.ports.run.trace.values())

    def logs(self) -> list[str]:
        """The texts of the run's log."""
        return [line["text"] for line in self.ports.run.logs]

    def sent(self, tool_id: str) -> list[int]:
        """The sizes of the requests that a tool got, in order."""
        return [len(sent.members) for sent in self.ports.gateway.requests if sent.tool == tool_id]


@pytest.fixture
def world() -> type[World]:
    """The class: a test makes the world that it needs."""
    return World


@pytest.fixture
def make_tool() -> Callable[..., ToolSpec]:
    """Makes a tool's specification."""
    return tool
