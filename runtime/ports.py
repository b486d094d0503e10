"""The seven ports: everything that the engine asks of the world.

Each carries plain JSON in groups, so that it works inside one process (``memory``) and over the pipe to
the host (``remote``). The dictionaries below are the whole vocabulary of that pipe. Nothing here knows
of a database, a queue or HTTP. A port that cannot do its work raises HostFailed.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, Protocol, TypedDict

Json = Any


class FieldForm(TypedDict):
    """One column that a map computes.

    ``digest`` is that of the step's code ("" where it cannot be determined: never reused).
    ``stale_after_seconds`` None: never stale; 0: always. ``parts`` names the columns of an inline
    waterfall's steps, shown beside the field and never counted as its value.
    """

    name: str
    digest: str
    stale_after_seconds: float | None
    parts: list[str]


class FrameForm(TypedDict):
    """One map of a run: ``path`` is its durable place, unique in the run tree; ``table`` its namespace."""

    path: str
    table: str
    title: str
    description: str
    columns: list[str]
    fields: list[FieldForm]
    key: list[str]
    explicit: bool


class OpenFrame(TypedDict):
    """A frame as the store knows it: ``sealed`` frames already hold their rows.

    ``settled`` counts by status the rows of a sealed frame that are over; absent where none is.
    """

    frame: int
    sealed: bool
    total: int
    settled: NotRequired[dict[str, int]]


class NewRow(TypedDict):
    """A row as it is loaded; ``position`` counts from 0 in input order."""

    position: int
    key: str
    input: dict[str, Json]


class Duplicate(TypedDict):
    """One explicit key that several rows share: its first positions, and the input of the first."""

    positions: list[int]
    input: dict[str, Json]


class Sealed(TypedDict):
    """What sealing gave. ``duplicates`` holds at most five; where it holds any (explicit keys only) the
    frame is *not* sealed, and ``duplicate_keys`` counts them all. ``settled`` as in OpenFrame."""

    total: int
    duplicate_keys: int
    duplicates: list[Duplicate]
    settled: NotRequired[dict[str, int]]


class Cell(TypedDict, total=False):
    """What is known of a cell beside its value; absent keys are unknown or do not apply.

    ``step`` and ``reads_digest`` are digests, ``reads`` the names that were read, ``at`` the completion in
    seconds since 1970 UTC, ``reason`` a sentence (why it was reused, skipped or is partial), ``attempts``
    one entry per tool that was asked. ``origin`` is the earlier run that ``seal`` copied the cell from, and
    absent in a cell of this run. ``part_of`` names the field to which the column of a waterfall's step
    belongs: the store adds the column to that field's ``parts``.
    """

    status: str
    stage: str
    provider: str
    error: dict[str, Json]
    partial: bool
    step: str
    reads: list[str]
    reads_digest: str
    at: float
    stale_after_seconds: float | None
    origin: str
    part_of: str
    reason: str
    attempts: list[dict[str, Json]]


class ClaimedRow(TypedDict):
    """A row that this participant now runs.

    ``values`` and ``cells`` are what is known of it by field (from an earlier run, or from this run
    before it was interrupted); ``entries`` are its checkpoint entries by durable name. ``woken``: it ran
    before, and waited until now.
    """

    position: int
    key: str
    input: dict[str, Json]
    values: dict[str, Json]
    cells: dict[str, Cell]
    entries: dict[str, Json]
    woken: NotRequired[bool]


class WaitingRows(TypedDict):
    """How many rows of a frame wait, and when (by the database's clock) the first of them may run again."""

    rows: int
    wake_at: float


class FailedRows(TypedDict):
    """How many rows of a frame failed, and what failed in the first of them; ``field`` by its whole path."""

    rows: int
    position: int
    field: str
    error: dict[str, Json]


class StoredRow(TypedDict):
    """A row as later readers see it: ``input`` columns and computed ``values``, hidden ones included."""

    position: int
    key: str
    status: str
    input: dict[str, Json]
    values: dict[str, Json]


class RowChange(TypedDict):
    """What changed in one row: each key holds only what changed. ``status`` None: unchanged.

    ``wake_at`` comes with the status ``waiting``: the row may run again then, or once a wait of it is
    answered, whichever is first.
    """

    frame: int
    position: int
    status: str | None
    values: dict[str, Json]
    cells: dict[str, Cell]
    wake_at: NotRequired[float]


class Entry(TypedDict):
    """One checkpoint entry: a result that the gateway's ledger does not hold, by durable name."""

    name: str
    frame: int | None
    position: int | None
    value: Json


class LogLine(TypedDict):
    """One line of the run's log; ``at`` in seconds since 1970 UTC."""

    at: float
    level: Literal["info", "warning", "error"]
    text: str


class TraceResult(TypedDict):
    """What one step of the trace gave once.

    ``row`` counts from 1, None at the top level. ``status`` is completed, missed, skipped or failed.
    ``value`` and ``error`` are cut to a size that can be shown.
    """

    row: int | None
    status: str
    value: Json
    provider: str
    error: str


class TraceChange(TypedDict):
    """What changed in one step of a run's trace, known by ``key``; the first change makes it.

    ``parent`` is the key of the step that it stands below, "" at the top. ``told`` replaces by name what
    was told before; ``counts`` are deltas by status; of all ``results`` the first 25 are kept.
    """

    key: str
    parent: str
    told: dict[str, Json]
    counts: dict[str, int]
    results: list[TraceResult]


class Group(TypedDict):
    """What one transaction writes. ``counters`` are deltas by name; ``trace`` has one change per step."""

    rows: list[RowChange]
    entries: list[Entry]
    counters: dict[str, int]
    trace: list[TraceChange]
    logs: list[LogLine]


class ChildCall(TypedDict):
    """A child play that a claim reserves: the play's name and the durable place of the play that calls."""

    play: str
    parent: str


class ReceiptState(TypedDict):
    """A receipt after ``claim``.

    ``claimed``: this run must do the work now. ``completed``: ``output`` is the answer. ``refused``:
    ``error`` says by whom it is held or why it may not run; the work must not be done. ``limit``: a
    limit on child plays is used up, ``error`` is the sentence for a person; nothing was counted.
    """

    state: Literal["claimed", "completed", "refused", "limit"]
    output: Json
    error: str


class Boundary(TypedDict):
    """A named place where a run waits. ``seconds`` from its first registration; ``event`` None: a sleep."""

    name: str
    seconds: float
    event: str | None
    frame: int | None
    position: int | None
    message: str | None
    form: Json


class BoundaryState(TypedDict):
    """A boundary as registered: ``due_at`` is absolute (seconds since 1970, the database's clock)."""

    status: Literal["open", "due", "received", "timed_out"]
    due_at: float
    payload: Json


class Member(TypedDict):
    """One call: its durable name and input. The host derives the gateway's key from them.

    ``waterfall``: a waterfall asks, so it counts against the limit on waterfall steps too.
    ``stale_after_seconds``: answers that were older than this when the run started are too old for it
    (absent: any age will do). It is the same for all members of one request.
    """

    name: str
    input: Json
    waterfall: bool
    stale_after_seconds: NotRequired[float]


class MemberOutcome(TypedDict):
    """How one call ended.

    ``hit`` and ``miss`` are definite. ``failed`` carries code, category, message, retryable, retry_after
    (seconds), and the gateway's name of the request. ``unattempted``: the reply left this member out; it
    cost nothing. ``pending``: ask again after ``retry_after``. ``stopped``: the gateway refuses this run
    or epoch; nothing may be sent any more.
    """

    kind: Literal["hit", "miss", "failed", "unattempted", "pending", "stopped"]
    result: NotRequired[Json]
    source: NotRequired[Literal["live", "ledger"]]
    credits: NotRequired[float]
    call: NotRequired[str]
    code: NotRequired[str]
    category: NotRequired[str]
    message: NotRequired[str]
    provider: NotRequired[str]
    request: NotRequired[str]
    retryable: NotRequired[bool]
    retry_after: NotRequired[float | None]


class UploadPage(TypedDict):
    """Records of an upload from an offset; ``columns`` in file order; ``total`` of the whole file."""

    columns: list[str]
    records: list[dict[str, str]]
    total: int


class Rows(Protocol):
    """The rows of maps."""

    async def open_map(self, frame: FrameForm) -> OpenFrame:
        """Find or make the frame of ``path``. An unsealed one is emptied: it is loaded again."""

    async def add_page(self, frame: int, rows: list[NewRow]) -> None:
        """Store rows of an unsealed frame, in any page size, positions rising."""

    async def seal(self, frame: int) -> Sealed:
        """Settle duplicate keys, copy known cells of earlier runs, and close the frame to new rows.

        Equal keys without ``explicit`` become ``key``, ``key#2``, ``key#3`` in input order.
        """

    async def claim(self, frame: int, n: int) -> list[ClaimedRow]:
        """Take up to ``n`` rows: pending ones by position, then waiting ones that may run again.

        An empty list: there is none of either now.
        """

    async def waiting(self, frame: int) -> WaitingRows | None:
        """Tell of the rows that wait, also of those that may run again; None: no row waits."""

    async def failed(self, frame: int) -> FailedRows | None:
        """Tell of the rows that failed, whichever worker ran them; None: no row did."""

    async def read_page(self, frame: int, after: int, n: int) -> list[StoredRow]:
        """Read up to ``n`` rows with a position above ``after`` (-1: from the start)."""


class Records(Protocol):
    """What is recorded of a run."""

    async def commit(self, group: Group) -> int:
        """Write the group as one transaction, then hint; give the run's new sequence.

        Where the lease is lost nothing is written and HostFailed is raised.
        """


class Receipts(Protocol):
    """Top-level work that happens once, and waits. Names are unique in the run tree."""

    async def claim(
        self, name: str, input_digest: str, child: ChildCall | None = None
    ) -> ReceiptState:
        """Claim the named work. Committed before it returns.

        With ``child`` the first claim of this name also reserves a child play against the limits of
        the run's tree, in the same transaction; later claims of the name reserve nothing more.
        """

    async def complete(self, name: str, output: Json) -> None:
        """Store the output of claimed work."""

    async def fail(self, name: str, error: dict[str, Json]) -> None:
        """Store that claimed work failed; the next claim may try again."""

    async def wait(self, boundary: Boundary) -> BoundaryState:
        """Register the boundary, or give the state of the registered one; its deadline never moves."""


class Library(Protocol):
    """What a run reads: plays, uploads, tools."""

    async def play(self, name: str) -> dict[str, Json]:
        """Give the revision of a play that is pinned for this run tree, as ``loading`` reads it."""

    async def upload(self, ref: str, offset: int, n: int, dialect: dict[str, Json]) -> UploadPage:
        """Read records of an upload of the run's workspace; ``dialect`` may override encoding, delimiter.

        Raises PlayError where the reference opens nothing.
        """

    async def tools(self, ids: list[str]) -> list[dict[str, Json]]:
        """Give the specifications (``ToolSpec.to_json``) of those ids that the catalogue holds."""


class Gateway(Protocol):
    """Calls of tools."""

    async def execute(self, tool: str, members: list[Member]) -> list[MemberOutcome]:
        """Make one request for these calls; one outcome per member, in order."""


class Signals(Protocol):
    """What others ask of the run while it runs."""

    async def requested(self) -> str:
        """Wait until something is requested of this engine: ``pause``, ``cancel`` or ``lease_lost``."""

    async def event(self, name: str) -> None:
        """Wait until the boundary of this name has changed state; ``Receipts.wait`` tells how."""

    async def woken(self, frame: int) -> None:
        """Wait until a waiting row of this frame may run again."""


class Clock(Protocol):
    """Time. ``now`` follows the database's clock; ``sleep`` is monotonic."""

    def now(self) -> float:
        """Give seconds since 1970 UTC."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class Ports(Protocol):
    """The seven together, as the engine is given them."""

    @property
    def rows(self) -> Rows: ...
    @property
    def records(self) -> Records: ...
    @property
    def receipts(self) -> Receipts: ...
    @property
    def library(self) -> Library: ...
    @property
    def gateway(self) -> Gateway: ...
    @property
    def signals(self) -> Signals: ...
    @property
    def clock(self) -> Clock: ...
