"""A run's socket as a browser holds it, and a mirror of what its page would show."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from plays.models import MapFrame, Run
from plays.selectors import grid

WAIT_SECONDS = 10.0


class Mirror:
    """What a page shows: the run, its maps, its log, and the rows of one map that it has read."""

    def __init__(self) -> None:
        self.run: dict[str, Any] = {}
        self.frames: list[dict[str, Any]] = []
        self.rows: dict[int, dict[str, Any]] = {}
        self.logs: list[str] = []
        self.sequence = 0

    def load(self, page: grid.RowsPage) -> None:
        """Take rows as a page of them was read."""
        for row in page.rows:
            self.rows[row["position"]] = {
                "status": row["status"],
                "sequence": row["sequence"],
                "cells": dict(row["cells"]),
            }

    def apply(self, message: dict[str, Any]) -> None:
        """Take a message by the page's own rule: no cell gives way to an older one."""
        self.run = message.get("run", self.run)
        self.frames = message.get("frames", self.frames)
        self.sequence = message["sequence"]
        self.logs += [line["text"] for line in message.get("logs", [])]
        for patch in message.get("rows", []):
            self._patch(self.rows[patch["position"]], patch)

    def _patch(self, row: dict[str, Any], patch: dict[str, Any]) -> None:
        for name, cell in patch["cells"].items():
            known = row["cells"].get(name)
            if known is None or known["sequence"] < cell["sequence"]:
                row["cells"][name] = cell
        if patch["sequence"] >= row["sequence"]:
            row |= {"status": patch["status"], "sequence": patch["sequence"]}


class RunSocket:
    """One socket; everything that arrives goes into its mirror."""

    def __init__(self, person: User | None, run_id: object) -> None:
        from deepline_site.asgi import application

        headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
        if person is not None:
            client = Client()
            client.force_login(person)
            session = client.cookies[settings.SESSION_COOKIE_NAME].value
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
        scope = {
            "type": "websocket",
            "path": f"/ws/runs/{run_id}/",
            "query_string": b"",
            "headers": headers,
            "subprotocols": [],
        }
        self.reads = asyncio.Event()
        """Clear: the browser reads nothing, and a server's send waits."""
        self.reads.set()

        async def when_read(scope: Any, receive: Any, send: Any) -> None:
            async def send_when_read(event: Any) -> None:
                await self.reads.wait()
                await send(event)

            await application(scope, receive, send_when_read)

        self.wire = ApplicationCommunicator(when_read, scope)
        self.mirror = Mirror()
        self.messages: list[dict[str, Any]] = []
        self._view = 0

    @classmethod
    async def open(cls, person: User, run: Run) -> RunSocket:
        """Connect, and take the first message."""
        socket = await database_sync_to_async(cls)(person, run.pk)
        await socket.connect()
        await socket.receive()
        return socket

    async def connect(self) -> None:
        """Connect; a stranger is accepted too, and closed afterwards."""
        await self.wire.send_input({"type": "websocket.connect"})
        accepted = await self.wire.receive_output(WAIT_SECONDS)
        assert accepted["type"] == "websocket.accept"

    async def show(self, frame: MapFrame, first: int, last: int, since: int = 0) -> int:
        """Say what the window shows; give the number of that view."""
        return await self.say(frame=frame.pk, first=first, last=last, since=since)

    async def say(self, **view: Any) -> int:
        self._view += 1
        told = {"type": "view", "view": self._view, **view}
        await self.send(json.dumps(told))
        return self._view

    async def send(self, text: str) -> None:
        await self.wire.send_input({"type": "websocket.receive", "text": text})

    async def receive(self) -> dict[str, Any]:
        event = await self.wire.receive_output(WAIT_SECONDS)
        message: dict[str, Any] = json.loads(event["text"])
        self.messages.append(message)
        self.mirror.apply(message)
        return message

    async def until(self, is_so: Callable[[Mirror], bool]) -> None:
        """Receive until the mirror shows it."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not is_so(self.mirror):
                await self.receive()

    async def until_viewed(self, view: int) -> None:
        """Receive until a message speaks for this view."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not any(message["view"] == view for message in self.messages):
                await self.receive()

    async def close_code(self) -> int:
        """Wait until the server closes, and give its code."""
        while True:
            event = await self.wire.receive_output(WAIT_SECONDS)
            if event["type"] == "websocket.close":
                return int(event["code"])

    async def close(self) -> None:
        with suppress(asyncio.CancelledError):
            await self.wire.send_input({"type": "websocket.disconnect", "code": 1000})
            await self.wire.wait(WAIT_SECONDS)
