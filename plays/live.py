"""Hints that a run changed, and the readers that follow runs for this process's sockets.

Commit first, then hint: a hint says only "there is something new", travels at most once and may be
lost. A reader asks the database what is above its sequence, so a lost hint costs delay, never
truth. There is one reader per watched run and process, however many windows show the run.

What a run is made of is not known here: the reader is given a function that looks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import DatabaseError, InterfaceError, transaction
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

LOST = (OSError, RedisError)
"""What a broken way to Valkey raises; a time-out is an OSError."""

HINT_SECONDS = 1.0
"""A hint that takes longer is given up, so that a Valkey that hangs does not slow its run."""

SAFETY_SECONDS = 15.0
"""A live run is looked at this often where no hint came."""

REST_SECONDS = 0.2
"""The pause after each look, in which hints fold into one: at most five looks a second."""

MEND_SECONDS = 1.0
"""The pause before a failed look or subscription is tried again."""


def group_name(run_id: UUID | str) -> str:
    """Give the channel group of a run's hints."""
    return f"run.{UUID(str(run_id)).hex}"


def hint(run_id: UUID | str, sequence: int) -> None:
    """Tell every watching process that the run changed, once the current transaction commits.

    Raises nothing where Valkey is out of reach: the loss is logged. ``sequence`` may be older than
    the change; readers take it for "look now".
    """
    transaction.on_commit(partial(async_to_sync(ahint), run_id, sequence))


async def ahint(run_id: UUID | str, sequence: int) -> None:
    """Do as :func:`hint`, from a coroutine that has committed already."""
    try:
        async with asyncio.timeout(HINT_SECONDS):
            message = {"type": "run.changed", "sequence": sequence}
            await _layer().group_send(group_name(run_id), message)
    except LOST as error:
        logger.warning("The hint that run %s changed was lost: %s", run_id, type(error).__name__)


class Look(Protocol):
    """What one look at the database gave."""

    @property
    def sequence(self) -> int:
        """The run's sequence, read before everything else of this look."""

    @property
    def is_live(self) -> bool:
        """Whether the run may still change."""


class Watcher(Protocol):
    """One socket, as its reader knows it."""

    @property
    def shown(self) -> frozenset[int]:
        """The rows that its browser shows, by primary key."""

    def take(self, look: Any) -> None:
        """Accept what changed; must neither wait nor raise."""


Fetch = Callable[[UUID, int, frozenset[int]], Look]
"""Looks at a run: what changed above a sequence, with the rows among those of the set."""


class RunReader:
    """Follows one run for all of this process's sockets that show it.

    Looks run one at a time, and a socket's change of view runs between two of them: no change can
    fall between what the socket caught up with and what the next look brings.
    """

    def __init__(self, run_id: UUID, fetch: Fetch) -> None:
        self.run_id = run_id
        self.watchers: set[Watcher] = set()
        self._fetch: Callable[[UUID, int, frozenset[int]], Awaitable[Look]]
        self._fetch = database_sync_to_async(fetch, thread_sensitive=False)
        self._sequence = 0
        self._is_live = True
        self._looking = asyncio.Lock()
        self._hinted = asyncio.Event()
        self._joined = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._listen(), name=f"hints of run {run_id}"),
            asyncio.create_task(self._follow(), name=f"reader of run {run_id}"),
        ]

    async def catch_up(self, watcher: Watcher, since: int) -> None:
        """Give one watcher what changed above ``since`` in the run and in the rows it shows now.

        The run's group is joined before. ``since`` 0 gives the run as it is.
        """
        await self._joined.wait()
        async with self._looking:
            look = await self._look(since, watcher.shown)
            self._sequence = self._sequence or look.sequence
            watcher.take(look)

    async def stop(self) -> None:
        """Leave the group and read no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self) -> None:
        await self._joined.wait()
        while True:
            await self._something_new()
            self._hinted.clear()
            try:
                await self._advance()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("Run %s cannot be read now: %s", self.run_id, error)
                self._hinted.set()
                await asyncio.sleep(MEND_SECONDS)
            await asyncio.sleep(REST_SECONDS)

    async def _something_new(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SAFETY_SECONDS if self._is_live else None):
                await self._hinted.wait()

    async def _advance(self) -> None:
        async with self._looking:
            watchers = list(self.watchers)
            shown = frozenset[int]().union(*(watcher.shown for watcher in watchers))
            look = await self._look(self._sequence, shown)
            if look.sequence == self._sequence:
                return
            self._sequence = look.sequence
            for watcher in watchers:
                watcher.take(look)

    async def _look(self, since: int, shown: frozenset[int]) -> Look:
        look = await self._fetch(self.run_id, since, shown)
        self._is_live = look.is_live
        return look

    async def _listen(self) -> None:
        """Stay in the run's group. Where that fails, looks go on by the clock meanwhile."""
        while True:
            try:
                await self._hear()
            except LOST as error:
                logger.warning("No hints of run %s: %s", self.run_id, type(error).__name__)
                self._joined.set()
                await asyncio.sleep(MEND_SECONDS)

    async def _hear(self) -> None:
        layer, group = _layer(), group_name(self.run_id)
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        try:
            self._joined.set()
            self._hinted.set()
            while True:
                await layer.receive(channel)
                self._hinted.set()
        finally:
            await layer.group_discard(group, channel)


class Readers:
    """The readers of one event loop: one per watched run, for as long as somebody watches."""

    def __init__(self) -> None:
        self._readers: dict[UUID, RunReader] = {}

    def __len__(self) -> int:
        return len(self._readers)

    def join(self, run_id: UUID, watcher: Watcher, fetch: Fetch) -> RunReader:
        """Give the run's reader, which from now on tells this watcher of every change."""
        reader = self._readers.get(run_id)
        if reader is None:
            reader = self._readers[run_id] = RunReader(run_id, fetch)
        reader.watchers.add(watcher)
        return reader

    async def leave(self, reader: RunReader, watcher: Watcher) -> None:
        """Take a watcher off; a reader without watchers is forgotten at once, then stopped."""
        reader.watchers.discard(watcher)
        if not reader.watchers and self._readers.get(reader.run_id) is reader:
            del self._readers[reader.run_id]
            await reader.stop()


def readers() -> Readers:
    """Give the readers of the running event loop."""
    return _READERS.setdefault(asyncio.get_running_loop(), Readers())


_READERS: WeakKeyDictionary[asyncio.AbstractEventLoop, Readers] = WeakKeyDictionary()


def _layer() -> Any:
    layer = get_channel_layer()
    if layer is None:
        raise LookupError("CHANNEL_LAYERS has no default layer")
    return layer
