"""What both embedded servers need: their binaries, and a server found again by its pid file.

A pid file may be stale, and its number may meanwhile belong to any other process. A server of ours
is told by its working directory, which is its data directory and no other process'.
"""

from __future__ import annotations

import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil

STOP_SECONDS = 30.0
LOOK_SECONDS = 0.02


def wheel_directory(package: str) -> Path:
    """Return where a package lies, without importing it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed: run `make setup`.")
    return Path(spec.origin).parent


def server_process(pid_file: Path, directory: Path) -> psutil.Process | None:
    """Return the process that a pid file names if it is alive and works in `directory`."""
    try:
        pid = int(pid_file.read_text().split()[0])
        process = psutil.Process(pid)
    except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
        return None
    return process if _works_in(process, directory) else None


def leftovers(directory: Path) -> list[psutil.Process]:
    """Return what still works in a directory: children of a server that was killed, say."""
    return [process for process in psutil.process_iter() if _works_in(process, directory)]


def end(processes: list[psutil.Process]) -> None:
    """Ask processes to end, kill those that do not, and return when none is alive."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in _still_alive(processes):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _still_alive(processes)


def is_alive(process: psutil.Process) -> bool:
    """Tell whether a process still does anything.

    One that has ended and waits for its parent to notice does not. Where the first process of a
    container is no real init, that can take forever.
    """
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _still_alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Wait until processes have ended; return those that have not after the time for it."""
    deadline = time.monotonic() + STOP_SECONDS
    alive = processes
    while (alive := [process for process in alive if is_alive(process)]) and (
        time.monotonic() < deadline
    ):
        time.sleep(LOOK_SECONDS)
    return alive


def _works_in(process: psutil.Process, directory: Path) -> bool:
    try:
        return is_alive(process) and process.cwd() == str(directory)
    except psutil.Error:
        return False
