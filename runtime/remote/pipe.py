"""Questions to the host and their answers, over one socket, many at once and in any order."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable
from typing import Any

from runtime.errors import HostFailed, HostGone, PlayError
from runtime.wire import framed, read_frame

Json = Any

ERRORS = {"play": PlayError, "host": HostFailed}
"""Kinds of errors that travel, by what the asking side does because of them."""


class Pipe:
    """Asks and hears answers. ``listen()`` must be running for any answer to arrive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._is_gone = False
        self.on_ping: Callable[[], None] = lambda: None

    async def start(self) -> dict[str, Json]:
        """Read the first frame: what the host wants to be run."""
        told: dict[str, Json] = (await read_frame(self._reader))["start"]
        return told

    async def begin(self) -> None:
        """Tell the host that from now on pings are answered. Raises HostGone."""
        await self._send({"pong": 0})

    async def ask(self, port: str, method: str, *args: Json) -> Json:
        """Ask the host and wait for its answer. Raises PlayError, HostFailed or HostGone.

        The host is told when this is cancelled, so that it stops working for nobody.
        """
        if self._is_gone:
            raise HostGone("the pipe to the host is closed")
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": number, "port": port, "method": method, "args": args})
            return await answer
        except asyncio.CancelledError:
            if not self._is_gone:
                self._writer.write(framed({"drop": number}))
            raise
        finally:
            del self._waiting[number]

    async def finish(self, outcome: dict[str, Json], peak_rss: int) -> None:
        """Tell the host how the run ended, and how many bytes it took at most. Raises HostGone."""
        await self._send({"finish": outcome, "peak_rss": peak_rss})

    async def listen(self) -> None:
        """Give each answer to who waits for it, until the host is gone; everybody is told then."""
        try:
            while True:
                self._settle(await read_frame(self._reader))
        except HostGone as error:
            self._is_gone = True
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(HostGone(str(error)))

    def tell_at_once(self, message: dict[str, Json]) -> None:
        """Send a message past the event loop, unless that is in the middle of sending one."""
        transport = self._writer.transport
        if transport.get_write_buffer_size() == 0:
            os.write(transport.get_extra_info("socket").fileno(), framed(message))

    def _settle(self, told: dict[str, Json]) -> None:
        if "ping" in told:
            self.on_ping()
            self._writer.write(framed({"pong": told["ping"]}))
            return
        answer = self._waiting.get(told["id"])
        if answer is None or answer.done():
            return
        if "error" in told:
            answer.set_exception(ERRORS[told["error"]["kind"]](told["error"]["message"]))
        else:
            answer.set_result(told["ok"])

    async def _send(self, message: dict[str, Json]) -> None:
        try:
            self._writer.write(framed(message))
            await self._writer.drain()
        except ConnectionError as error:
            raise HostGone("the pipe to the host is closed") from error
