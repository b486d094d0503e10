"""What processes use: processor time of whole trees, and the most memory of single processes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

LOOK_SECONDS = 0.5


def cpu_seconds(roots: Iterable[psutil.Process]) -> float:
    """Give the processor time of processes and all below them, those that have ended included."""
    return sum(_own(process) + _ended_below(process) for process in _trees(roots))


def peak_rss(process: psutil.Process) -> int:
    """Give the most memory, in bytes, that a process has had; 0 where it has ended."""
    try:
        told = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB", told, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


class Watch(threading.Thread):
    """Looks at a worker's processes while a run goes on: processor time and memory by role."""

    def __init__(self, workers: Iterable[psutil.Process]) -> None:
        super().__init__(daemon=True)
        self.cpu: dict[str, float] = {}
        self.rss: dict[str, int] = {}
        self._workers = list(workers)
        self._done = threading.Event()

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.join()

    def run(self) -> None:
        while not self._done.wait(LOOK_SECONDS):
            for worker in self._workers:
                with suppress(psutil.NoSuchProcess):
                    self._look(worker)

    def _look(self, worker: psutil.Process) -> None:
        for process in worker.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if role := _role(process):
                    self.cpu[role] = _own(process)
                    self.rss[role] = max(self.rss.get(role, 0), peak_rss(process))


def is_play_process(process: psutil.Process) -> bool:
    """Tell a play process, also one that has just ended, which has no command line."""
    with suppress(psutil.NoSuchProcess):
        return "runtime.remote" in process.cmdline()
    return False


def _role(process: psutil.Process) -> str:
    """Tell a worker's children apart: the play process, the host that serves it, the sweeper."""
    if is_play_process(process):
        return "play process"
    return "" if "sweep" in process.cmdline() else "host"


def _trees(roots: Iterable[psutil.Process]) -> Iterable[psutil.Process]:
    for root in roots:
        with suppress(psutil.NoSuchProcess):
            yield root
            yield from root.children(recursive=True)


def _own(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _ended_below(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.children_user + times.children_system)
    return 0.0


class Stopwatch:
    """Wall and processor time of a block; ``roots`` are the processes that do its work."""

    def __init__(self, roots: Iterable[psutil.Process]) -> None:
        self._roots = list(roots)
        self.seconds = self.cpu = 0.0

    def __enter__(self) -> Stopwatch:
        self._cpu, self._began = cpu_seconds(self._roots), time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._began
        self.cpu = cpu_seconds(self._roots) - self._cpu
