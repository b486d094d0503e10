"""The seven ports, each method one question to the host; only the clock is the process' own."""

from __future__ import annotations

from typing import cast

from runtime.memory.clock import SystemClock
from runtime.ports import (
    Boundary,
    BoundaryState,
    ChildCall,
    ClaimedRow,
    FailedRows,
    FrameForm,
    Group,
    Json,
    Member,
    MemberOutcome,
    NewRow,
    OpenFrame,
    ReceiptState,
    Sealed,
    StoredRow,
    UploadPage,
    WaitingRows,
)
from runtime.remote.pipe import Pipe


class RemoteRows:
    """``Rows`` over the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def open_map(self, frame: FrameForm) -> OpenFrame:
        return cast("OpenFrame", await self._pipe.ask("rows", "open_map", frame))

    async def add_page(self, frame: int, rows: list[NewRow]) -> None:
        await self._pipe.ask("rows", "add_page", frame, rows)

    async def seal(self, frame: int) -> Sealed:
        return cast("Sealed", await self._pipe.ask("rows", "seal", frame))

    async def claim(self, frame: int, n: int) -> list[ClaimedRow]:
        return cast("list[ClaimedRow]", await self._pipe.ask("rows", "claim", frame, n))

    async def waiting(self, frame: int) -> WaitingRows | None:
        return cast("WaitingRows | None", await self._pipe.ask("rows", "waiting", frame))

    async def failed(self, frame: int) -> FailedRows | None:
        return cast("FailedRows | None", await self._pipe.ask("rows", "failed", frame))

    async def read_page(self, frame: int, after: int, n: int) -> list[StoredRow]:
        return cast("list[StoredRow]", await self._pipe.ask("rows", "read_page", frame, after, n))


class RemoteRecords:
    """``Records`` over the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def commit(self, group: Group) -> int:
        return int(await self._pipe.ask("records", "commit", group))


class RemoteReceipts:
    """``Receipts`` over the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def claim(
        self, name: str, input_digest: str, child: ChildCall | None = None
    ) -> ReceiptState:
        receipt = await self._pipe.ask("receipts", "claim", name, input_digest, child)
        return cast("ReceiptState", receipt)

    async def complete(self, name: str, output: Json) -> None:
        await self._pipe.ask("receipts", "complete", name, output)

    async def fail(self, name: str, error: dict[str, Json]) -> None:
        await self._pipe.ask("receipts", "fail", name, error)

    async def wait(self, boundary: Boundary) -> BoundaryState:
        return cast("BoundaryState", await self._pipe.ask("receipts", "wait", boundary))


class RemoteLibrary:
    """``Library`` over the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def play(self, name: str) -> dict[str, Json]:
        return cast("dict[str, Json]", await self._pipe.ask("library", "play", name))

    async def upload(self, ref: str, offset: int, n: int, dialect: dict[str, Json]) -> UploadPage:
        page = await self._pipe.ask("library", "upload", ref, offset, n, dialect)
        return cast("UploadPage", page)

    async def tools(self, ids: list[str]) -> list[dict[str, Json]]:
        return cast("list[dict[str, Json]]", await self._pipe.ask("library", "tools", ids))


class RemoteGateway:
    """``Gateway`` over the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def execute(self, tool: str, members: list[Member]) -> list[MemberOutcome]:
        outcomes = await self._pipe.ask("gateway", "execute", tool, members)
        return cast("list[MemberOutcome]", outcomes)


class RemoteSignals:
    """``Signals`` over the pipe: the answers come when there is something to hear."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def requested(self) -> str:
        return str(await self._pipe.ask("signals", "requested"))

    async def event(self, name: str) -> None:
        await self._pipe.ask("signals", "event", name)

    async def woken(self, frame: int) -> None:
        await self._pipe.ask("signals", "woken", frame)


class RemotePorts:
    """The bundle that an engine in a play process is given."""

    def __init__(self, pipe: Pipe, clock: SystemClock) -> None:
        self.clock = clock
        self.rows = RemoteRows(pipe)
        self.records = RemoteRecords(pipe)
        self.receipts = RemoteReceipts(pipe)
        self.library = RemoteLibrary(pipe)
        self.gateway = RemoteGateway(pipe)
        self.signals = RemoteSignals(pipe)
