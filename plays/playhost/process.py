"""The play process: how it is started, what it says, how it ended.

It gets a scrubbed environment, one socket and nothing else of ours. ``isolation`` is what starts
it, waits beside it, and ends it with all that it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from deepline_site.home import PROJECT
from deepline_site.tether import die_with_parent

PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ")
LEAVE_SECONDS = 2.0
END_SECONDS = 30.0
LONGEST_LINE = 2_000
KEPT_LINES = 1_000
LINE_BUFFER = 64 * 1024

Level = Literal["info", "warning"]
Say = Callable[[str, Level], None]
"""Takes a line for the run's log, what the author prints above all, and its level."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The host's end of the pipe to a play process. ``process`` is the one that keeps it."""

    process: Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def end(self) -> None:
        """Have the play process killed, with all that it started."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()


@contextlib.asynccontextmanager
async def play_process(say: Say, order: Mapping[str, Any]) -> AsyncIterator[Channel]:
    """Have a play process inside the block; it is gone after it, with all its output taken.

    ``order`` says how it is kept apart from the machine, as ``isolation.__main__`` reads it.
    """
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await _started(theirs, order)
        reader, writer = await asyncio.open_connection(sock=ours)
    except BaseException:
        ours.close()
        raise
    output = asyncio.create_task(_take_output(process, say), name="what the play prints")
    try:
        yield Channel(process, reader, writer)
    finally:
        writer.close()
        await _ended(process)
        await _finished(output)


async def _started(theirs: socket.socket, order: Mapping[str, Any]) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "plays.playhost.isolation"),
        *(str(theirs.fileno()), json.dumps(order)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_environment(),
        cwd=PROJECT,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
        preexec_fn=die_with_parent,
        limit=LINE_BUFFER,
    )


def _environment() -> dict[str, str]:
    told = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return told | {"PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1"}


async def _ended(process: Process) -> None:
    """Let the process leave by itself for a moment, then have it ended, then kill it."""
    if not await _has_left(process, LEAVE_SECONDS):
        process.terminate()
        await _has_left(process, END_SECONDS)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def _has_left(process: Process, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await process.wait()
    return process.returncode is not None


async def _take_output(process: Process, say: Say) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    await asyncio.gather(
        _take_lines(process.stdout, "info", say), _take_lines(process.stderr, "warning", say)
    )


async def _finished(output: asyncio.Task[None]) -> None:
    """Wait for the last lines; something that the play started may hold the stream open for ever."""
    await asyncio.wait({output}, timeout=LEAVE_SECONDS)
    output.cancel()
    await asyncio.gather(output, return_exceptions=True)


def how_it_died(process: Process) -> str:
    """Say how a play process ended that did not say so itself."""
    code = process.returncode
    if code is None or code >= 0:
        return f"it ended by itself (exit code {code})"
    if -code == signal.SIGKILL:
        return "it was killed (SIGKILL), which is what happens when the machine is out of memory"
    return f"it was killed by {signal.Signals(-code).name}"


async def _take_lines(stream: asyncio.StreamReader, level: Level, say: Say) -> None:
    """Read a stream to its end, whatever it holds: long lines are cut, and after many the rest is left out.

    Each stream has a bound of its own, so that what is printed cannot hide what went wrong.
    """
    taken = 0
    while line := await _line(stream):
        taken += 1
        if taken < KEPT_LINES:
            say(line.decode(errors="replace").rstrip("\r\n")[:LONGEST_LINE], level)
        elif taken == KEPT_LINES:
            say(f"more than {KEPT_LINES:,} printed lines: the rest is left out", level)


async def _line(stream: asyncio.StreamReader) -> bytes:
    """Give the next line; of one that is longer than the buffer, its beginning."""
    try:
        return await stream.readline()
    except ValueError:
        # The stream has dropped what was too long.
        return b"(a line that is too long to show)\n"
