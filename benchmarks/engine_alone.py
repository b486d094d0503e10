"""One measure of the engine on ports in memory, printed as a number: ``cells``, ``stream`` or ``idle``."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import peak_rss
from runtime.engine import Engine, RunForm
from runtime.loading import code_digest, load
from runtime.memory import MemoryPorts, SystemClock
from runtime.tools import BatchForm, ToolSpec

STEPS = 3


def main() -> None:
    what, size = sys.argv[1], int(sys.argv[2])
    print(json.dumps(asyncio.run({"cells": cells, "stream": stream, "idle": idle}[what](size))))


async def cells(rows: int) -> float:
    """Give the cells that one second of one core fills."""
    uploads = {"upload:1": [_row(i) for i in range(rows)]}
    engine = _engine("pure", MemoryPorts(uploads=uploads, clock=SystemClock()))
    began = time.process_time()
    outcome = await engine.run({"leads": "upload:1"})
    assert outcome.status == "completed", outcome
    return rows * STEPS / (time.process_time() - began)


async def stream(rows: int) -> float:
    """Give the megabytes over the loaded interpreter's while rows pass through a map."""

    async def people() -> AsyncIterator[dict[str, str]]:
        for i in range(rows):
            yield _row(i)

    from runtime import play

    @play("bench_stream")
    async def bench_stream(ctx: Any, given: Any) -> Any:
        leads = ctx.map("leads", people())
        for name in ("one", "two", "three"):
            leads = leads.step(name, lambda row: row["domain"].upper())
        return await (await leads.run()).count()

    ports = MemoryPorts(clock=SystemClock(), discard=True)
    engine = Engine(bench_stream, ports, _form(), digest_of=lambda _: "1", load=_never)
    before = psutil.Process().memory_info().rss
    outcome = await engine.run({})
    assert outcome.status == "completed", outcome
    return (peak_rss(psutil.Process()) - before) / 1e6


async def idle(seconds: int) -> float:
    """Give the share of one core that an engine uses while its rows wait for a provider."""
    ports = MemoryPorts(
        uploads={"upload:1": [_row(i) for i in range(100)]}, tools=_tools(), clock=SystemClock()
    )
    ports.gateway = _Silent()  # type: ignore[assignment]
    running = asyncio.create_task(_engine("emails", ports).run({"leads": "upload:1"}))
    await asyncio.sleep(1)
    used, began = time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    share = (time.process_time() - used) / (time.monotonic() - began)
    assert not running.done(), running.result()
    running.cancel()
    return share


class _Silent:
    """A gateway that never answers."""

    async def execute(self, tool: str, members: Any) -> Any:
        await asyncio.Event().wait()


def _tools() -> list[ToolSpec]:
    return [
        ToolSpec(f"{name}_email_finder", name, "email", batch=BatchForm(f"{name}_batch", 100))
        for name in ("sandbox_a", "sandbox_b")
    ]


def _engine(name: str, ports: MemoryPorts) -> Engine:
    path = Path(__file__).parent / "plays" / f"{name}.py"
    play = load("python", path.name, path.read_bytes())
    return Engine(play, ports, _form(), digest_of=code_digest, load=_never)


def _form() -> RunForm:
    return RunForm("run-1", "bench", {})


def _never(told: Any) -> Any:
    raise AssertionError("no play here calls another")


def _row(i: int) -> dict[str, str]:
    return {"first_name": f"first{i}", "last_name": "last", "domain": f"company{i}.example"}


if __name__ == "__main__":
    main()
