"""The play process. ``main`` takes the socket whose descriptor is the first argument.

It reads what to run from the socket at that descriptor, runs it, tells how it ended, and leaves.
When the host is gone it leaves at once: nothing can be recorded any more.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import resource
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.engine import Engine, RunForm, RunOutcome
from runtime.errors import HostFailed, HostGone, describe
from runtime.events import RunStatus
from runtime.loading import code_digest, load
from runtime.memory.clock import SystemClock
from runtime.program import Play
from runtime.remote import Pipe, RemotePorts
from runtime.remote.watch import LoopWatch

Json = Any


def main() -> None:
    """Run one play for the host at the other end of the descriptor."""
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        asyncio.run(_serve(connection))
    # An author's threads and exit handlers have no say in when the process ends.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


async def _serve(connection: socket.socket) -> None:
    pipe = Pipe(*await asyncio.open_connection(sock=connection))
    start = await pipe.start()
    watch = LoopWatch(start["patience"], lambda place: pipe.tell_at_once({"blocked": place}))
    pipe.on_ping = watch.turned
    await pipe.begin()
    listening = asyncio.create_task(pipe.listen(), name="answers of the host")
    running = asyncio.create_task(_outcome(pipe, start), name="the run")
    await asyncio.wait({listening, running}, return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        await pipe.finish(running.result().to_json(), peak_memory())


async def _outcome(pipe: Pipe, start: Mapping[str, Json]) -> RunOutcome:
    """Load and run the play. What its author's code raises while it loads is told as the outcome."""
    try:
        play, digest_of = load_source(start["source"])
    except Exception as error:  # noqa: BLE001  # a module of an author may raise anything
        return RunOutcome(RunStatus.FAILED, error=describe(error))
    ports = RemotePorts(pipe, SystemClock(start["now"]))
    form = RunForm.from_json(start["form"])
    engine = Engine(play, ports, form, digest_of=digest_of, load=load_source)
    try:
        return await engine.run(start["input"])
    except HostGone:
        raise
    except HostFailed as error:
        return RunOutcome(RunStatus.FAILED, error=describe(error))


def peak_memory() -> int:
    """Give the most memory, in bytes, that this process has used.

    Where Linux tells, from there: ``getrusage`` begins with the memory of the process that forked
    it.
    """
    try:
        told = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        told = None
    if told is not None:
        return int(told[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def load_source(source: Mapping[str, Json]) -> tuple[Play, Any]:
    """Make a play of a revision as the host tells it."""
    text = base64.b64decode(source["source"])
    return load(source["format"], source["filename"], text), code_digest


if __name__ == "__main__":
    main()
