"""``ctx``: what an author sees. Every method checks where it stands and delegates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from runtime import children, durable, toolcalls, waterfalls
from runtime.builder import MapBuilder
from runtime.datasets import Dataset, open_csv
from runtime.errors import NestedMap, PlayError
from runtime.fetching import FetchResponse, Headers, fetch
from runtime.identity import context_key, table_namespace
from runtime.program import Play, PlayFunction, Waterfall
from runtime.scope import current
from runtime.session import Session, Standing
from runtime.tools import ToolResult
from runtime.turns import Turn
from runtime.values import MISSING, Json, check_json, value_at_path

Told = TypeVar("Told")

LoadPlay = Callable[[str], Awaitable[tuple[Play, Callable[[Any], str]]]]


class Tools:
    """``ctx.tools``."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def execute(
        self, *, id: str, tool: str, input: Json, description: str | None = None
    ) -> ToolResult:
        """Ask a tool. In a row the call is batched with other rows'; at the top level it has a receipt.

        The tool ``event_wait`` waits for an event, as ``ctx.wait_for_event`` does. Raises ToolFailed
        where the call failed, UnknownTool, NotJson.
        """
        is_wait = tool == durable.EVENT_TOOL
        work = (
            durable.wait_by_tool(self._session, id, input)
            if is_wait
            else toolcalls.execute(self._session, id, tool, input)
        )
        return await self._session.trace.around("tool", str(tool), work, tool=str(tool))


class Context:
    """The one object that a play gets.

    ``digest_of`` gives the digest of a step's code; ``load`` a play of the library by name.
    """

    def __init__(
        self,
        session: Session,
        standing: Standing,
        *,
        digest_of: Callable[[Any], str],
        load: LoadPlay,
    ) -> None:
        self.session = session
        self.standing = standing
        self.digest_of = digest_of
        self._load = load
        self.tools = Tools(session)
        self.turn: Turn | None = None
        self._tables: set[str] = set()

    async def child(self, name: str, place: str) -> tuple[Context, PlayFunction]:
        """Give the context and the function of a child play. Raises PlayError where there is none."""
        play, digest_of = await self._load(name)
        ancestry = (*self.standing.ancestry, self.standing.play)
        standing = Standing(play.name, place, ancestry)
        return Context(self.session, standing, digest_of=digest_of, load=self._load), play.function

    def map(
        self, table: str, rows: Any, *, key: Any = None, stale_after_seconds: float | None = None
    ) -> MapBuilder:
        """Begin a map over a dataset, a list or an asynchronous iterable. Raises NestedMap in a row."""
        self._only_at_top("ctx.map", "a map inside a row of a map is not possible: chain two maps")
        table = context_key(table, "ctx.map")
        self._check_is_alone(table)
        return MapBuilder(self, table, rows, key=key, stale_after_seconds=stale_after_seconds)

    def open_table(self, table: str) -> tuple[str, str]:
        """Give the namespace and durable place of a table. Raises PlayError where it is taken."""
        self._check_is_alone(table)
        namespace = table_namespace(self.standing.play, table)
        if namespace in self._tables:
            raise PlayError(
                f"two maps of this play have the table {table!r}: give each its own name"
            )
        self._tables.add(namespace)
        return namespace, f"{self.standing.place}/map/{namespace}"

    async def csv(
        self,
        ref: str,
        *,
        rename: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
        encoding: str | None = None,
        delimiter: str | None = None,
    ) -> Dataset:
        """Open an upload as a dataset whose values are text, exactly as they stand in the file."""
        self._only_at_top("ctx.csv", "open the file before the map and give the map its rows")
        given = {"encoding": encoding, "delimiter": delimiter}
        dialect = {name: value for name, value in given.items() if value is not None}
        return await open_csv(self.session, ref, rename=rename, columns=columns, dialect=dialect)

    async def tool(
        self, *, id: str, tool: str, input: Json, description: str | None = None
    ) -> ToolResult:
        """Same as ``ctx.tools.execute``."""
        return await self.tools.execute(id=id, tool=tool, input=input, description=description)

    async def waterfall(
        self,
        name_or_spec: str | Waterfall,
        input: Mapping[str, Json],
        *,
        providers: Sequence[str] | None = None,
        description: str | None = None,
    ) -> Json:
        """Ask providers in turn; give the value found, or None. Raises WaterfallIncomplete."""
        if isinstance(name_or_spec, Waterfall):
            return await waterfalls.inline(self.session, name_or_spec, input, self)
        if not isinstance(name_or_spec, str):
            raise PlayError("ctx.waterfall needs a waterfall's name, or what waterfall(...) gave")
        return await waterfalls.named(self.session, name_or_spec, input, providers)

    async def run_play(
        self, key: str, play: str, input: Json, *, description: str | None = None
    ) -> Json:
        """Run another play of the workspace to its end; give what it returns. Raises ChildFailed."""
        return await children.run_play(self, key, play, input)

    async def step(self, key: str, fn: Callable[[], Any]) -> Json:
        """Run ``fn()`` once under this name and keep its JSON value."""
        return await self._told_at_top("step", key, durable.step(self.session, key, fn))

    async def fetch(
        self,
        key: str,
        url: str,
        *,
        method: str = "GET",
        headers: Headers | None = None,
        json: Json = None,
        data: str | None = None,
    ) -> FetchResponse:
        """Fetch a URL through the gateway, once under this name; give the answer, whatever its status.

        Anything but GET, HEAD and OPTIONS needs a non-empty ``Idempotency-Key`` header. Raises ToolFailed
        where no answer came.
        """
        self._only_at_top("ctx.fetch", "inside a row use a tool, which is batched and limited")
        request = {
            "url": url,
            "method": method,
            "headers": headers,
            "json": json,
            "data": data,
        }
        return await self._told_at_top("fetch", key, fetch(self.session, key, request))

    async def sleep(self, seconds: float) -> None:
        """Wait, across any restart of the run."""
        await self._told_at_top("sleep", f"{seconds:,} s", durable.sleep(self.session, seconds))

    async def wait_for_event(
        self,
        key: str,
        *,
        event: str,
        timeout_seconds: float,
        message: str | None = None,
        form: Json = None,
    ) -> dict[str, Json]:
        """Wait for a person's or a system's answer: ``{"status": "received" | "timed_out", "payload"}``."""
        work = durable.wait_for_event(
            self.session,
            key,
            event=event,
            timeout_seconds=timeout_seconds,
            message=message,
            form=form,
        )
        return await self._told_at_top("wait", key, work)

    def extract_list(
        self, result: Any, path: str, fields: Sequence[str] | None = None
    ) -> list[dict[str, Json]]:
        """Give the dicts of the list at ``path`` ("" is the result itself); ``fields`` picks some keys."""
        told = result.result if isinstance(result, ToolResult) else result
        found = value_at_path(told, path)
        items = found if found is not MISSING and isinstance(found, list) else []
        rows = [item for item in items if isinstance(item, dict)]
        if fields is None:
            return rows
        return [{name: row[name] for name in fields if name in row} for row in rows]

    def log(self, message: object) -> None:
        """Write a line into the run's log."""
        self.session.recorder.log(str(message))

    def _check_is_alone(self, table: str) -> None:
        """A child's table is its play's, whoever calls it: two at once would fill it together."""
        play = self.standing.play
        if self.standing.ancestry and self.session.turns.running(play) > 1:
            raise PlayError(
                f"the child play {play!r} runs more than once at this moment, and all of them would fill"
                f" the table of its map {table!r}: run one after the other, or map the rows in the play"
                " that calls it"
            )

    async def _told_at_top(self, kind: str, name: str, work: Awaitable[Told]) -> Told:
        if current.get().row is not None:
            return await work
        return await self.session.trace.around(kind, str(name), work, id=str(name))

    def _only_at_top(self, call: str, advice: str) -> None:
        if current.get().row is not None:
            raise NestedMap(f"{call} was called inside a row of a map: {advice}")


def output_of(result: Any, play: str) -> Json:
    """Give what a play returned as the run's result: a dataset's description, or a JSON value."""
    if isinstance(result, Dataset):
        return result.to_json()
    return {"value": check_json(result, f"the play {play!r} returned a value that")}
