"""Keeps a set of programs running until it is asked to stop, and shows what they say.

A program that ends is started again after a pause that grows while it
keeps failing. When this process is killed, the programs are killed by the kernel (see `tether`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import psutil

from deepline_site.home import PROJECT
from deepline_site.ports import LOOPBACK
from deepline_site.programs import Program
from deepline_site.tether import die_with_parent

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
# A program that ran this long had started well; its next failure counts as the first.
HEALTHY_SECONDS = 60.0
STOP_SECONDS = 10.0
LAST_WORDS_SECONDS = 1.0
TEND_SECONDS = 2.0
LOOK_SECONDS = 0.05
LINE_LIMIT = 1024 * 1024

Say = Callable[[str], None]


async def start_program(program: Program) -> Process:
    """Start a program in a group of its own, so that Ctrl-C reaches only its supervisor."""
    return await asyncio.create_subprocess_exec(
        *program.command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=PROJECT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(program.environment),
        start_new_session=True,
        preexec_fn=die_with_parent,
        limit=LINE_LIMIT,
    )


class Supervisor:
    """Runs programs; `say` gets every line that they print, and what happens to them.

    `tend` is called in a thread every few seconds, for what must be looked after besides.
    """

    def __init__(
        self, programs: Sequence[Program], say: Say, tend: Callable[[], None] = lambda: None
    ) -> None:
        self._programs = programs
        self._say = say
        self._tend = tend
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Ask `run` to end; safe as a signal handler of the loop."""
        self._stopping.set()

    async def run(self, when_ready: Callable[[], None]) -> None:
        """Run all programs until `stop`; all of them have ended when this returns.

        `when_ready` is called once, when every program with a port takes connections.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)
        async with asyncio.TaskGroup() as group:
            for program in self._programs:
                group.create_task(self._keep_running(program), name=program.name)
            group.create_task(self._keep_tending(), name="tending")
            if await self._or_stop(self._all_ready()):
                when_ready()

    async def _keep_running(self, program: Program) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.is_set():
            started = time.monotonic()
            status = await self._run_once(program)
            if self._stopping.is_set():
                return
            if time.monotonic() - started > HEALTHY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            self._say(f"{program.name} ended ({_how(status)}); starting it again in {pause:g} s")
            await self._or_stop(asyncio.sleep(pause))
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def _keep_tending(self) -> None:
        while await self._or_stop(asyncio.sleep(TEND_SECONDS)):
            await asyncio.to_thread(self._tend)

    async def _run_once(self, program: Program) -> int:
        """Run a program until it ends by itself or we stop; return its exit status."""
        process = await start_program(program)
        output = asyncio.create_task(self._show(program, process), name=f"{program.name} output")
        if not await self._or_stop(process.wait()):
            await _end(process)
        # What a program started may hold its output open for longer than it lives itself.
        await asyncio.wait({output}, timeout=LAST_WORDS_SECONDS)
        output.cancel()
        return await process.wait()

    async def _show(self, program: Program, process: Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                # Longer than the limit: the stream has dropped it.
                line = b"(a line of more than a megabyte)\n"
            if not line:
                return
            self._say(f"{program.name:9} | {line.decode(errors='replace').rstrip()}")

    async def _all_ready(self) -> None:
        async with asyncio.TaskGroup() as group:
            for program in self._programs:
                if program.port is not None:
                    group.create_task(_until_connected(program.port), name=f"{program.name} ready")

    async def _or_stop(self, work: Awaitable[object]) -> bool:
        """Wait for some work or for the stop; tell whether the work came to its end."""
        task = asyncio.ensure_future(work)
        stop = asyncio.create_task(self._stopping.wait(), name="stop")
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        is_done = task.done()
        for waiting in (task, stop):
            waiting.cancel()
        await asyncio.gather(task, stop, return_exceptions=True)
        return is_done


async def _until_connected(port: int) -> None:
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.close()
            return
        await asyncio.sleep(LOOK_SECONDS)


async def _end(process: Process) -> None:
    """End a program: ask, wait, then kill it with everything that it started."""
    descendants = _descendants(process.pid)
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    if process.returncode is None:
        process.kill()
    for descendant in descendants:
        with suppress(psutil.NoSuchProcess):
            descendant.kill()


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
