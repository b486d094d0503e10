"""Doing several things at once, to see who wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connection


def at_once(works: Sequence[Callable[[], object]]) -> None:
    """Do these in threads that begin together, each with a connection of its own.

    Raises what the first of them raised.
    """
    start = Barrier(len(works))

    def do(work: Callable[[], object]) -> None:
        start.wait()
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as threads:
        for done in [threads.submit(do, work) for work in works]:
            done.result()
