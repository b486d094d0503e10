"""Serves the ports to one play process: questions in, answers out, many at once.

Whatever is wrong with a message ends the run; whatever goes wrong behind a port is an answer. A
question that was dropped by the process is cancelled here, except for requests to the gateway:
what they paid for is kept there anyway, and nothing is gained by hanging up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from plays.playhost.crash import crash_point
from plays.playhost.messages import (
    BadMessage,
    Blocked,
    Greeting,
    checked_arguments,
    checked_blocked,
    checked_greeting,
    checked_outcome,
)
from plays.playhost.process import Channel
from runtime.engine import RunOutcome
from runtime.errors import HostFailed, HostGone, PlayError
from runtime.wire import framed, read_frame

Json = Any

MOST_QUESTIONS = 20_000
"""An engine has a waiting question per row that waits for an event, and its window is bounded."""


class PortServer:
    """Answers one play process.

    ``progress`` counts the rows and results that it finished. ``unanswered`` counts pings since its
    event loop last answered one, and ``blocked`` is where it then says that it stands.
    """

    def __init__(self, ports: Any, channel: Channel) -> None:
        self._ports = ports
        self._channel = channel
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.progress = 0
        self.unanswered = 0
        self.blocked: Blocked | None = None
        self.has_begun = asyncio.Event()
        self.peak_rss = 0

    async def greeting(self) -> Greeting:
        """Hear what the process says first. Raises HostGone and BadMessage."""
        return checked_greeting(await self._next())

    async def ping(self) -> None:
        """Ask the process' event loop for a sign of life. Raises HostGone."""
        self.unanswered += 1
        await self._send({"ping": self.unanswered})

    async def serve(self, start: dict[str, Json]) -> RunOutcome:
        """Have the process run, and give what it says at its end.

        Raises HostGone where it died before, BadMessage where it broke the protocol.
        """
        try:
            async with asyncio.TaskGroup() as group:
                await self._send({"start": start})
                outcome = await self._read(group)
                for task in self._tasks.values():
                    task.cancel()
        except BaseExceptionGroup as errors:
            # The others were cancelled because of the first one, or came of the same cause.
            raise errors.exceptions[0] from None
        return outcome

    async def _read(self, group: asyncio.TaskGroup) -> RunOutcome:
        while True:
            message = await self._next()
            if "finish" in message:
                told = message.get("peak_rss")
                self.peak_rss = told if type(told) is int else 0
                return checked_outcome(message["finish"])
            self._hear(group, message)

    def _hear(self, group: asyncio.TaskGroup, message: Mapping[str, Json]) -> None:
        if "drop" in message:
            self._drop(message["drop"])
        elif "pong" in message:
            self.unanswered = 0
            self.has_begun.set()
        elif "blocked" in message:
            self.blocked = checked_blocked(message["blocked"])
        else:
            self._begin(group, message)

    async def _next(self) -> dict[str, Json]:
        try:
            message = await read_frame(self._channel.reader)
        except ValueError as error:
            raise BadMessage("something that is no frame of JSON") from error
        if not isinstance(message, dict):
            raise BadMessage("a message that is no object")
        return message

    def _begin(self, group: asyncio.TaskGroup, message: Mapping[str, Json]) -> None:
        number, port, method = (message.get(name) for name in ("id", "port", "method"))
        if type(number) is not int or number in self._tasks:
            raise BadMessage("a question without a number of its own")
        if len(self._tasks) >= MOST_QUESTIONS:
            raise BadMessage(f"more than {MOST_QUESTIONS:,} questions at once")
        args = checked_arguments(port, method, message.get("args"))
        task = group.create_task(
            self._answer(number, (port, method), args), name=f"{port}.{method}"
        )
        self._tasks[number] = task

    def _drop(self, number: Json) -> None:
        task = self._tasks.get(number) if type(number) is int else None
        if task is not None and task.get_name() != "gateway.execute":
            task.cancel()

    async def _answer(self, number: int, asked: tuple[Json, Json], args: tuple[Any, ...]) -> None:
        try:
            answer = await self._asked(asked, args)
        finally:
            del self._tasks[number]
        await self._send({"id": number, **answer})

    async def _asked(self, asked: tuple[Json, Json], args: tuple[Any, ...]) -> dict[str, Json]:
        port, method = asked
        if asked == ("records", "commit"):
            crash_point("before_commit")
        try:
            value = await getattr(getattr(self._ports, port), method)(*args)
        except PlayError as error:
            return {"error": {"kind": "play", "message": str(error)}}
        except HostFailed as error:
            return {"error": {"kind": "host", "message": str(error)}}
        self._passed(asked, args)
        return {"ok": value}

    def _passed(self, asked: tuple[Json, Json], args: tuple[Any, ...]) -> None:
        if asked == ("records", "commit"):
            (group,) = args
            ended = [row for row in group["rows"] if row["status"] in ("completed", "failed")]
            self.progress += len(ended) + len(group["entries"])
            crash_point("after_commit")
        elif asked == ("gateway", "execute"):
            crash_point("after_reply")

    async def _send(self, message: dict[str, Json]) -> None:
        """Send a message; one that is too large to travel becomes an error."""
        try:
            frame = framed(message)
        except HostFailed as error:
            frame = framed({"id": message["id"], "error": {"kind": "host", "message": str(error)}})
        try:
            self._channel.writer.write(frame)
            await self._channel.writer.drain()
        except ConnectionError as error:
            raise HostGone("the play process is gone") from error
