"""What the host accepts from a play process: shapes, sizes and value sets, method by method.

The pipe is hostile: an author's code can write anything into it. So the shapes are given here once
more and stricter than in ``runtime.ports``, which describes them for the engine. Nothing here acts
on a message.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from runtime.engine import RunOutcome
from runtime.events import CellStatus, RowStatus

Json = Any

Text = Annotated[str, Field(max_length=10_000)]
Title = Annotated[str, Field(max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=600)]
"""Durable names are indexed: an index entry holds at most 2,700 bytes."""

Key = Annotated[str, Field(min_length=1, max_length=68)]
"""Row keys get a number behind them where rows are equal."""

Column = Annotated[str, Field(max_length=1_000)]
FrameId = Annotated[int, Field(ge=1, lt=2**31)]
Position = Annotated[int, Field(ge=0, lt=2**31)]
Many = Annotated[int, Field(ge=1, le=10_000)]
Count = Annotated[int, Field(ge=-(2**53), le=2**53)]
Object = dict[str, Any]


class BadMessage(Exception):
    """A message that no engine sends; ``str()`` is one sentence without any of its values."""


class FieldForm(TypedDict):
    name: Column
    digest: Annotated[str, Field(max_length=64)]
    stale_after_seconds: Annotated[float, Field(ge=0)] | None
    parts: Annotated[list[Column], Field(max_length=1_000)]


class FrameForm(TypedDict):
    path: Annotated[str, Field(min_length=1, max_length=500)]
    table: Annotated[str, Field(min_length=1, max_length=63)]
    title: Title
    description: Text
    columns: Annotated[list[Column], Field(max_length=5_000)]
    fields: Annotated[list[FieldForm], Field(max_length=1_000)]
    key: Annotated[list[Column], Field(max_length=100)]
    explicit: bool


class NewRow(TypedDict):
    position: Position
    key: Key
    input: Object


class Cell(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic reads it
    status: Annotated[str, Field(pattern=f"^({'|'.join(CellStatus)})$")]
    part_of: Column


class RowChange(TypedDict):
    frame: FrameId
    position: Position
    status: Annotated[str, Field(pattern=f"^({'|'.join(RowStatus)})$")] | None
    values: Object
    cells: dict[str, Cell]
    wake_at: NotRequired[Annotated[float, Field(ge=0, le=1e11)]]


class Entry(TypedDict):
    name: Name
    frame: FrameId | None
    position: Position | None
    value: Json


class LogLine(TypedDict):
    at: Annotated[float, Field(ge=0, le=4e9)]
    level: Literal["info", "warning", "error"]
    text: str


class TraceResult(TypedDict):
    row: Annotated[int, Field(ge=1, le=2**31)] | None
    status: Annotated[str, Field(max_length=12)]
    value: Json
    provider: Annotated[str, Field(max_length=1_000)]
    error: Text


class TraceTold(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic reads it
    kind: Annotated[str, Field(max_length=20)]
    result: TraceResult


class TraceChange(TypedDict):
    key: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    parent: Annotated[str, Field(pattern="^([0-9a-f]{32})?$")]
    told: TraceTold
    counts: dict[Annotated[str, Field(pattern="^[a-z_]{1,12}$")], Count]
    results: Annotated[list[TraceResult], Field(max_length=25)]


class Group(TypedDict):
    rows: list[RowChange]
    entries: list[Entry]
    counters: dict[Annotated[str, Field(pattern="^[a-z_]{1,40}$")], Count]
    trace: list[TraceChange]
    logs: list[LogLine]


class Boundary(TypedDict):
    name: Name
    seconds: Annotated[float, Field(ge=0, le=1e9)]
    event: Annotated[str, Field(max_length=200)] | None
    frame: FrameId | None
    position: Position | None
    message: Text | None
    form: Json


class ChildCall(TypedDict):
    play: Title
    parent: Name


class Member(TypedDict):
    name: Text
    input: Object
    waterfall: bool
    stale_after_seconds: NotRequired[Annotated[float, Field(ge=0)]]


Ids = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=1_000)]
Members = Annotated[list[Member], Field(min_length=1, max_length=1_000)]

_ARGUMENTS: dict[tuple[str, str], Any] = {
    ("rows", "open_map"): tuple[FrameForm],
    ("rows", "add_page"): tuple[FrameId, Annotated[list[NewRow], Field(max_length=50_000)]],
    ("rows", "seal"): tuple[FrameId],
    ("rows", "claim"): tuple[FrameId, Many],
    ("rows", "waiting"): tuple[FrameId],
    ("rows", "failed"): tuple[FrameId],
    ("rows", "read_page"): tuple[FrameId, Annotated[int, Field(ge=-1, lt=2**31)], Many],
    ("records", "commit"): tuple[Group],
    ("receipts", "claim"): tuple[Name, Annotated[str, Field(max_length=64)], ChildCall | None],
    ("receipts", "complete"): tuple[Name, Json],
    ("receipts", "fail"): tuple[Name, Object],
    ("receipts", "wait"): tuple[Boundary],
    ("library", "play"): tuple[Annotated[str, Field(max_length=200)]],
    ("library", "upload"): tuple[Title, Annotated[int, Field(ge=0)], Many, dict[str, str]],
    ("library", "tools"): tuple[Ids],
    ("gateway", "execute"): tuple[Annotated[str, Field(max_length=100)], Members],
    ("signals", "requested"): tuple[()],
    ("signals", "event"): tuple[Name],
    ("signals", "woken"): tuple[FrameId],
}

_ADAPTERS: dict[tuple[str, str], TypeAdapter[tuple[Any, ...]]] = {
    asked: TypeAdapter(shape) for asked, shape in _ARGUMENTS.items()
}


def checked_arguments(port: object, method: object, args: object) -> tuple[Any, ...]:
    """Give the arguments of a question. Raises BadMessage for what no engine asks."""
    adapter = _ADAPTERS.get((str(port), str(method)))
    if adapter is None:
        raise BadMessage("it asked for something that no port offers")
    try:
        return adapter.validate_python(args if isinstance(args, list) else None)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"][:4])
        raise BadMessage(f"{port}.{method} at {place}: {first['msg']}") from error


class Greeting(TypedDict, total=False):
    """What the process says before it knows the play: what keeps it apart, or why it may not run."""

    isolation: Annotated[list[Annotated[str, Field(max_length=20)]], Field(max_length=2)]
    lacking: dict[Annotated[str, Field(max_length=20)], Annotated[str, Field(max_length=1_100)]]
    refused: Annotated[str, Field(max_length=1_100)]


class Blocked(TypedDict):
    """Where an author's code holds the event loop up; ``field`` is empty outside of rows."""

    frame: Annotated[int, Field(ge=0, lt=2**31)]
    position: Position
    field: Column
    line: Column


_GREETING: TypeAdapter[Greeting] = TypeAdapter(Greeting)
_BLOCKED: TypeAdapter[Blocked] = TypeAdapter(Blocked)


def checked_greeting(told: object) -> Greeting:
    """Give the first message of a play process. Raises BadMessage."""
    try:
        return _GREETING.validate_python(told)
    except ValidationError as error:
        raise BadMessage("a greeting that is none") from error


def checked_blocked(told: object) -> Blocked:
    """Give where an author's code holds the event loop up. Raises BadMessage."""
    try:
        return _BLOCKED.validate_python(told)
    except ValidationError as error:
        raise BadMessage("a place in the play that is none") from error


class _Outcome(TypedDict):
    status: Literal["completed", "failed", "paused", "cancelled", "waiting"]
    result: Object | None
    error: Object | None
    stop_reason: Annotated[str, Field(max_length=16)]
    stop_message: Text


_OUTCOME: TypeAdapter[_Outcome] = TypeAdapter(_Outcome)


def checked_outcome(told: object) -> RunOutcome:
    """Give how a play process says that its run ended. Raises BadMessage."""
    try:
        return RunOutcome.from_json(dict(_OUTCOME.validate_python(told)))
    except ValidationError as error:
        raise BadMessage("an end of the run that is none") from error
