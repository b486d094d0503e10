"""The socket of a run's page: joins the run's reader, says what changed, hears what the page shows.

The browser sends ``{"type": "view", "view": 3, "frame": 12, "first": 0, "last": 40, "since": 871}``:
the number of this view, a map and the positions shown (or ``rows``, where they are sorted or
filtered), and the sequence up to which it knows those rows. It sends one after each scroll and after
connecting again, so both get the same answer: what changed since. It gets ``plays.outbox`` messages.

A person who may not see the run is closed with 4404, whether or not there is such a run.
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, Literal

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.http import Http404
from pydantic import BaseModel, Field, ValidationError

from plays.live import RunReader, readers
from plays.models.grid import row_id
from plays.outbox import Outbox
from plays.selectors.access import run_for_user
from plays.selectors.grid import run_look, shown_rows
from plays.selectors.grid.rows import PAGE_MAX

NOT_FOUND = 4404
NOT_UNDERSTOOD = 4400

ACCESS_SECONDS = 30.0
"""A person who was put out of the workspace is noticed after this, at the next change of view."""

Position = Annotated[int, Field(ge=0, lt=2**31)]


class View(BaseModel):
    """What a window shows: positions ``first`` to ``last``, or those in ``rows``, of a map."""

    type: Literal["view"]
    view: Annotated[int, Field(ge=0, lt=2**53)]
    frame: Position
    first: Position = 0
    last: Annotated[int, Field(ge=-1, lt=2**31)] = -1
    rows: Annotated[list[Position], Field(max_length=PAGE_MAX)] | None = None
    since: Annotated[int, Field(ge=0, lt=2**63)] = 0

    def row_ids(self) -> frozenset[int]:
        """Give the primary keys of the rows shown."""
        if self.rows is None:
            return shown_rows(self.frame, self.first, self.last)
        return frozenset(row_id(self.frame, position) for position in self.rows)


class RunConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One browser window that shows one run."""

    def __init__(self) -> None:
        super().__init__()
        self._outbox = Outbox()
        self._reader: RunReader | None = None
        self._sender: asyncio.Task[None] | None = None
        self._seen_at = -ACCESS_SECONDS

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket; however that ends, nothing of it is left behind."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._leave()

    async def connect(self) -> None:
        # Accepted first: a browser is told how a socket was closed, never why one was refused.
        await self.accept()
        if not await self._may_see():
            await self.close(NOT_FOUND)
            return
        self._reader = readers().join(self._run_id, self._outbox, run_look)
        await self._reader.catch_up(self._outbox, 0)
        self._sender = asyncio.create_task(self._send_changes(), name=f"socket of {self._run_id}")

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            view = View.model_validate_json(text_data or b"")
        except ValidationError:
            await self.close(NOT_UNDERSTOOD)
            return
        if self._reader is None or not await self._may_see():
            await self.close(NOT_FOUND)
            return
        self._outbox.show(view.view, view.row_ids())
        await self._reader.catch_up(self._outbox, view.since)

    @property
    def _run_id(self) -> Any:
        return self.scope["url_route"]["kwargs"]["run_id"]

    async def _may_see(self) -> bool:
        if not self.scope["user"].is_authenticated:
            return False
        if time.monotonic() - self._seen_at < ACCESS_SECONDS:
            return True
        try:
            await database_sync_to_async(run_for_user)(self.scope["user"], self._run_id)
        except Http404:
            return False
        self._seen_at = time.monotonic()
        return True

    async def _send_changes(self) -> None:
        while True:
            message = await self._outbox.message()
            await self.send(text_data=orjson.dumps(message).decode())

    async def _leave(self) -> None:
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)
        if self._reader is not None:
            await readers().leave(self._reader, self._outbox)
