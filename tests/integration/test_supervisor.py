"""The supervisor, with small programs that fail, refuse to end, or leave others behind."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil
import pytest

from deepline_site import supervisor as supervisor_module
from deepline_site.home import PROJECT
from deepline_site.ports import free_port
from deepline_site.programs import Program
from deepline_site.server_process import is_alive
from deepline_site.supervisor import Supervisor

LISTEN = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening"); print("x" * 2_000_000); print("still here")
time.sleep(1000)
"""
DEAF = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(os.getpid(), child.pid)
time.sleep(1000)
"""
SUPERVISE = """
import asyncio, sys
from deepline_site.programs import Program
from deepline_site.supervisor import Supervisor
sleeper = Program("sleeper", (sys.executable, "-c", "import os, time; print(os.getpid()); time.sleep(1000)"))
asyncio.run(Supervisor([sleeper], lambda line: print(line, flush=True)).run(lambda: None))
"""


def program(name: str, script: str, *arguments: str, port: int | None = None) -> Program:
    return Program(name, (sys.executable, "-c", script, *arguments), port=port)


class Running:
    """A supervisor at work: what it said, and whether it found everything ready."""

    def __init__(self, *programs: Program) -> None:
        self.said: list[str] = []
        self.ready = asyncio.Event()
        self.supervisor = Supervisor(programs, self._hear)
        self._heard = asyncio.Event()

    def _hear(self, line: str) -> None:
        self.said.append(line)
        self._heard.set()

    async def said_line(self, part: str, times: int = 1) -> str:
        while len(found := [line for line in self.said if part in line]) < times:
            self._heard.clear()
            await self._heard.wait()
        return found[-1]


@asynccontextmanager
async def supervised(*programs: Program) -> AsyncIterator[Running]:
    running = Running(*programs)
    task = asyncio.create_task(running.supervisor.run(running.ready.set))
    yield running
    running.supervisor.stop()
    await task


async def test_ready_means_that_every_port_answers_and_lines_carry_their_program() -> None:
    first, second = free_port(), free_port()
    programs = (
        program("one", LISTEN, str(first), port=first),
        program("two", LISTEN, str(second), port=second),
    )
    async with supervised(*programs) as running:
        await running.ready.wait()
        assert await running.said_line("one       | listening")
        # A line that is too long to keep does not end the program's output.
        assert await running.said_line("two       | still here")


async def test_a_program_that_ends_is_started_again_after_growing_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor_module, "FIRST_PAUSE_SECONDS", 0.01)
    async with supervised(program("brittle", "import sys; sys.exit(3)")) as running:
        await running.said_line("brittle ended", times=3)
    pauses = [line.rpartition(" in ")[2] for line in running.said if "ended" in line]
    assert pauses[:3] == ["0.01 s", "0.02 s", "0.04 s"]
    assert "brittle ended (exit status 3); starting it again" in running.said[0]


async def test_a_killed_program_is_started_again() -> None:
    script = "import os, time; print(os.getpid()); time.sleep(1000)"
    async with supervised(program("sleeper", script)) as running:
        line = await running.said_line("sleeper   | ")
        psutil.Process(int(line.split()[-1])).kill()
        await running.said_line("sleeper ended (SIGKILL)")
        await running.said_line("sleeper   | ", times=2)


async def test_a_stop_ends_also_what_does_not_listen_and_what_it_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor_module, "STOP_SECONDS", 0.2)
    async with supervised(program("deaf", DEAF)) as running:
        line = await running.said_line("deaf      | ")
        processes = [psutil.Process(int(pid)) for pid in line.split()[-2:]]
    for process in processes:
        wait_until_gone(process)


async def test_a_stop_while_a_program_is_paused_is_immediate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor_module, "FIRST_PAUSE_SECONDS", 1000.0)
    async with supervised(program("brittle", "raise SystemExit(1)")) as running:
        await running.said_line("brittle ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_programs_end_with_their_supervisor_whatever_ends_it(number: signal.Signals) -> None:
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE], stdout=subprocess.PIPE, text=True, cwd=PROJECT
    )
    assert supervisor.stdout is not None
    sleeper = psutil.Process(int(supervisor.stdout.readline().split()[-1]))
    supervisor.send_signal(number)
    supervisor.communicate()
    wait_until_gone(sleeper)


def wait_until_gone(process: psutil.Process) -> None:
    while is_alive(process):
        time.sleep(0.01)
