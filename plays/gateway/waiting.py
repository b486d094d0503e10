"""Sharing of calls that are under way, inside this gateway by futures, between gateways by hints.

Whoever asks for a call that another makes waits here. A settlement wakes waiters in this process directly
and says its keys to the other gateways through Valkey. A hint that is lost costs delay only, because
waiters look into the database now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from redis.asyncio import Redis
from redis.exceptions import RedisError

from plays.tools.definitions import Entry

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Settled:
    """How a call ended. Who made it pays ``credits``; who shared it does not."""

    entry: Entry
    credits: Decimal = Decimal(0)


class OpenCalls:
    """The calls that this gateway makes at the moment, by key."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Settled]] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def open(self, key: str) -> asyncio.Future[Settled]:
        """Open a call; give the future that its end resolves. An older call of this key is forgotten."""
        self._futures[key] = future = asyncio.get_running_loop().create_future()
        return future

    def get(self, key: str) -> asyncio.Future[Settled] | None:
        return self._futures.get(key)

    def settle(self, key: str, future: asyncio.Future[Settled], settled: Settled) -> None:
        """End a call and wake all who wait for it."""
        if self._futures.get(key) is future:
            del self._futures[key]
        if not future.done():
            future.set_result(settled)


class Hints:
    """Hears from other gateways which calls have ended, and tells them."""

    def __init__(self, valkey: Redis, prefix: str) -> None:
        self._valkey = valkey
        self._channel = f"{prefix}:gateway:settled"
        self._waiters: dict[str, set[asyncio.Event]] = {}

    @contextlib.contextmanager
    def watch(self, keys: Iterable[str], event: asyncio.Event) -> Iterator[None]:
        """Set ``event`` whenever one of ``keys`` is settled by any gateway, while the block runs."""
        watched = list(keys)
        for key in watched:
            self._waiters.setdefault(key, set()).add(event)
        try:
            yield
        finally:
            for key in watched:
                self._waiters[key].discard(event)
                if not self._waiters[key]:
                    del self._waiters[key]

    async def tell(self, keys: Iterable[str]) -> None:
        """Say that calls have ended. Nothing is raised: waiters find out by themselves."""
        try:
            await self._valkey.publish(self._channel, " ".join(keys))
        except RedisError as error:
            log.warning("a hint to other gateways was lost: %s", error)

    async def listen(self) -> None:
        """Hear hints until cancelled; a lost connection is made again."""
        while True:
            try:
                await self._listen_once()
            except RedisError as error:
                log.warning("hints of other gateways are not heard for a moment: %s", error)
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen_once(self) -> None:
        async with self._valkey.pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(self._channel)
            async for message in channel.listen():
                for key in message["data"].decode().split():
                    for event in self._waiters.get(key, ()):
                        event.set()
