"""The shapes that the API takes and gives. They document; reads build the same shapes by themselves."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, NonNegativeInt

from plays.models.grid import RowStatus
from runtime.events import CellStatus

Position = Annotated[int, Field(ge=0, lt=2**31, description="Counts from 0 in input order.")]
StateName = CellStatus | Literal["not_started"]


class Refusal(Schema):
    """Why something was not done: one sentence."""

    detail: str


class Preview(Schema):
    """Stands for a long text, an object or a list; the cell's own address gives the whole."""

    preview: str
    kind: Literal["string", "object", "array"]
    length: Annotated[int, Field(description="Characters of the whole.")]


Value = str | int | float | bool | Preview | None


class Cell(Schema):
    """A computed cell: its state, and its value as a preview. Integers beyond 2^53 are text."""

    status: CellStatus
    sequence: int
    value: Value = None
    provider: str | None = None
    stage: str | None = None
    partial: bool | None = None
    reason: str | None = None
    error: str | None = None
    until: Annotated[float | None, Field(description="Seconds since 1970 UTC.")] = None


class Row(Schema):
    """A row. Fields without an entry in ``cells`` are not started."""

    frame: int
    position: Position
    status: RowStatus
    sequence: int
    input: dict[str, Value]
    cells: dict[str, Cell]


class Rows(Schema):
    """A page of rows; each is at least as new as ``sequence``."""

    sequence: int
    total: int
    first: int
    rows: list[Row]


class Gauge(Schema):
    """Something that a run's tree spends. A null limit is none."""

    name: Literal["credits", "tool_calls", "retries", "requests"]
    used: float
    reserved: float
    limit: float | None


class Column(Schema):
    """A column: of the input, computed, both, or one step of the inline waterfall ``parent``."""

    name: str
    kind: Literal["input", "field", "filled", "part"]
    parent: str


class Frame(Schema):
    """A map of a run. Every count by status adds up to ``total``."""

    id: int
    title: str
    table: str
    description: str
    key: list[str]
    is_sealed: bool
    total: int
    columns: list[Column]
    rows: dict[str, int]
    fields: dict[str, dict[str, int]]


class WaitsOpen(Schema):
    """How many waits are open, ``sleeping`` ones apart, and the first deadline of all."""

    open: int
    sleeping: int
    due_at: str | None


class Run(Schema):
    """A run: status, why it stands still, what it spent, and its maps."""

    id: str
    status: str
    requested: str
    stop_reason: str
    stop_message: str
    stopped_by: str
    left_out: list[str]
    is_live: bool
    sequence: int
    counters: dict[str, int]
    error: dict[str, Any] | None
    result: dict[str, Any] | None
    may: dict[str, bool]
    created_at: str
    started_at: str | None
    finished_at: str | None
    gauges: list[Gauge]
    isolation: str
    waits: WaitsOpen
    frames: list[Frame]


class Whole(Schema):
    """A whole value as text; objects and lists as canonical JSON."""

    kind: Literal["none", "null", "boolean", "number", "string", "array", "object"]
    text: str


class Ledger(Schema):
    """The ledger's line of a call; ``input`` and ``result`` are JSON text."""

    status: str
    attempts: int
    latency_ms: int | None
    batch_size: int
    credits: float
    started_at: str | None
    finished_at: str | None
    input: str
    result: str
    error: dict[str, Any] | None


class Attempt(Schema):
    """One tool that was asked for a cell, and how that ended."""

    tool: str | None = None
    provider: str | None = None
    status: str
    source: str | None = None
    credits: float | None = None
    error: str | None = None
    category: str | None = None
    call: str | None = None
    ledger: Ledger | None


class Place(Schema):
    """Where a row is found: its map, and its position."""

    frame: int
    title: str
    position: Position


class Wait(Schema):
    """Something that a run waits for, and until when at the latest. A null event is a sleep.

    ``form`` is a JSON Schema that the payload of an answer must fit; without one any JSON will do. Its
    ``x-order`` lists the properties as their author wrote them.
    """

    id: int
    name: str
    event: str | None
    status: Literal["open", "received", "timed_out", "over"]
    message: str | None
    form: dict[str, Any] | None
    created_at: str
    due_at: str
    answered_at: str | None
    place: Place | None


class CellDetail(Schema):
    """A cell in full."""

    frame: int
    position: Position
    column: str
    kind: Literal["input", "field", "filled", "part"]
    value: Whole
    state: dict[str, Any]
    attempts: list[Attempt]
    waits: list[Wait]


class AnswerableWait(Wait):
    """A wait, with the way for a system outside to answer it, for those who may answer.

    ``token`` is the right to answer this wait and nothing else; it ends with the deadline. ``page``
    is where a person without an account answers.
    """

    answer_url: str | None = None
    page: str | None = None
    token: str | None = None


class Waits(Schema):
    """A page of waits: open ones first, events before sleeps, then by their deadlines."""

    total: int
    first: int
    waits: list[AnswerableWait]


class AnswerIn(Schema):
    """An answer: any JSON of at most 256 kB that fits the wait's form."""

    payload: Any


class Answer(Schema):
    """What became of an answer: one sentence, and how many waits it answered now."""

    detail: str
    waits: int


class RowDetail(Row):
    """A row in full; ``json`` is all of its visible values as one text."""

    key: str
    json_text: Annotated[str, Field(alias="json")]
    hidden: dict[str, str]
    waits: list[Wait]


class LogLine(Schema):
    """One line of a run's log."""

    id: int
    at: str
    level: Literal["info", "warning", "error"]
    text: str


class TraceResult(Schema):
    """What a step gave once. ``row`` counts from 1 and is null at the top level; ``value`` is text, cut."""

    row: int | None
    status: str
    value: str | None
    provider: str
    error: str


class TraceStep(Schema):
    """A step of a run's trace. ``counts`` count all results by status, ``results`` are the first 25."""

    key: str
    kind: str
    facts: dict[str, Any]
    counts: dict[str, int]
    results: list[TraceResult]
    steps: list[TraceStep]


class ColumnFilterIn(Schema):
    """What the cells of one column must be; all that is given holds."""

    column: str
    states: list[StateName] = []
    text: str = ""
    is_empty: bool | None = None


class SortIn(Schema):
    """One column to sort by."""

    column: str
    descending: bool = False


class QueryIn(Schema):
    """Which rows, in which order."""

    search: str = ""
    statuses: list[RowStatus] = []
    filters: list[ColumnFilterIn] = []
    sort: list[SortIn] = []


class ResumeIn(Schema):
    """``without_provider`` leaves that provider out of all rows that are not finished."""

    without_provider: str | None = None


class RetryIn(Schema):
    """Which rows to ask again, and which of their fields; null is all fields."""

    rows: Literal["failed", "empty", "all"] | Annotated[list[NonNegativeInt], Field(min_length=1)]
    fields: list[str] | None = None


class Started(Schema):
    """A run that was started, and its page."""

    id: str
    url: str
