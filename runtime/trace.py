"""Tells the run's trace and the samples in its log: what each step gave, how often, to which rows.

Memory is bounded however many rows there are: a step keeps counts and no results, a cell its own results
until it has its outcome. Log lines name rows, tools and providers, never values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from runtime.calls import Call
from runtime.errors import HostFailed, RowsFailed, ToolFailed
from runtime.events import RowStatus
from runtime.plan import MapPlan
from runtime.progress import CellProgress
from runtime.recorder import Recorder
from runtime.scope import Scope, current
from runtime.tools import ToolResult
from runtime.tracesteps import PREVIEW_RESULTS, Step, Told, step_key, trace_result
from runtime.values import Json

MOST_STEPS = 1_000
FIRST_HITS = 10
HITS_PER_LINE = 1_000
FIRST_BATCHES = 10

Result = TypeVar("Result")
_TOP = Step("", "")


class Trace:
    """The trace of one engine. A step that is None was left out: there were too many."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._steps: dict[tuple[str, str], Step] = {}
        self._occurrences: Counter[str] = Counter()
        self._below: dict[int | str, Step | None] = {}
        self._maps: dict[int, MapTrace] = {}
        self._hits: Counter[str] = Counter()

    def step(self, scope: Scope, kind: str, name: str, **told: Json) -> Step | None:
        """Give the step that is called so where ``scope`` stands.

        What rows ask under one name is one step; at the top level each asking is a step of its own.
        """
        above = self._above(scope)
        label = f"{kind}/{name}"
        if _asking_cell(scope) is None and above is not None:
            occurrence = f"{above.key}/{label}"
            self._occurrences[occurrence] += 1
            label = f"{label}#{self._occurrences[occurrence]}"
        return self.part(above, label, kind=kind, **told)

    def part(self, above: Step | None, label: str, **told: Json) -> Step | None:
        """Give the step that is called so below another."""
        if above is None:
            return None
        place = (above.key, label)
        step = self._steps.get(place)
        if step is None and len(self._steps) < MOST_STEPS:
            step = self._steps[place] = Step(step_key(*place), above.key, _waterfall_name(told))
            self._recorder.trace(step.change(told))
            if len(self._steps) == MOST_STEPS:
                self._recorder.log(f"the trace shows the first {MOST_STEPS:,} steps", "warning")
        return step

    def gave(
        self, scope: Scope, step: Step | None, status: str,
        value: Json = None, *, provider: str = "", error: str = "",
    ) -> None:  # fmt: skip
        """Tell what a step gave to whoever asks in ``scope``."""
        if step is None:
            return
        cell = _asking_cell(scope)
        if cell is None:
            result = trace_result(None, status, value, provider, error)
            self._recorder.trace(step.change({"result": result}))
            self._sample(step, status, "", provider)
        else:
            kept = None
            if step.kept < PREVIEW_RESULTS:
                kept = trace_result(cell.position + 1, status, value, provider, error)
            cell.told.append(Told(step, status, provider, kept))

    def settled(self, cell: CellProgress) -> None:
        """Count what was given to a cell; to be called together with recording its outcome."""
        for step, status, provider, result in cell.told:
            results = [result] if result and step.kept < PREVIEW_RESULTS else []
            step.kept += len(results)
            self._recorder.trace(step.change(counts={status: 1}, results=results))
            self._sample(step, status, f"row {cell.position + 1} ", provider)

    @contextmanager
    def map(self, scope: Scope, plan: MapPlan) -> Iterator[MapTrace]:
        """Tell a map: its first and last log line, its rows, and how it ended."""
        traced = MapTrace(self, self._recorder, plan)
        fields = [step.name for step in plan.steps if not step.is_hidden]
        above = self._above(scope)
        traced.step = self.part(
            above, f"map/{plan.namespace}", kind="map", title=plan.title, table=plan.namespace,
            fields=fields, description=plan.description,
        )  # fmt: skip
        try:
            yield traced
        except Exception as error:
            traced.tell(status="failed", error=_sentence(error))
            raise
        else:
            traced.tell(status="completed", error="")
        finally:
            self._maps.pop(traced.frame, None)
            self._below.pop(traced.frame, None)
            traced.say_end()

    def opened(self, traced: MapTrace) -> None:
        """From here on the rows of a map's frame stand below it."""
        self._maps[traced.frame] = traced
        self._below[traced.frame] = traced.step

    def sent(self, tool: str, batch: Sequence[Call]) -> None:
        """Note the size of a batch for each map that has a call in it."""
        for frame in {call.cell.frame for call in batch if call.cell}:
            if traced := self._maps.get(frame):
                traced.sent(tool, len(batch))

    def waterfall(self, told: dict[str, Json], parts: Iterable[dict[str, Json]]) -> WaterfallTrace:
        """Begin a waterfall where the running code stands; ``parts`` are its steps, each with an id."""
        scope = current.get()
        step = self.step(scope, "waterfall", told["id"], **told)
        steps = {
            part["id"]: self.part(step, f"part/{part['id']}", kind="part", **part) for part in parts
        }
        return WaterfallTrace(told["id"], self, scope, step=step, parts=steps)

    async def around(
        self, kind: str, name: str, work: Awaitable[Result], *, place: str = "", **told: Json
    ) -> Result:
        """Await a piece of work of the running code and tell what came of it.

        What the play at the durable ``place`` asks meanwhile stands below it.
        """
        scope = current.get()
        step = self.step(scope, kind, name, **told)
        if place:
            self._below[place] = step
        try:
            value = await work
        except HostFailed:
            raise
        except Exception as error:
            provider = error.provider if isinstance(error, ToolFailed) else ""
            self.gave(scope, step, "failed", provider=provider, error=_sentence(error))
            raise
        finally:
            self._below.pop(place, None)
        self.gave(scope, step, *_outcome(value), provider=_provider(value))
        return value

    def returned(self, output: Json) -> None:
        """End the trace with how many rows the run's result has: a dataset's, a list's, else none."""
        value = output.get("value")
        rows = len(value) if isinstance(value, list) else 0
        if "dataset" in output:
            rows = output["dataset"]["count"]
        self.part(_TOP, "return", kind="return", rows=rows)

    def _above(self, scope: Scope) -> Step | None:
        place = scope.place if scope.row is None else scope.row.frame
        return self._below.get(place, _TOP)

    def _sample(self, step: Step, status: str, row: str, provider: str) -> None:
        name = step.waterfall
        if not name or status != "completed":
            return
        self._hits[name] += 1
        count = self._hits[name]
        if count <= FIRST_HITS:
            more = f"; from here on a line for every {HITS_PER_LINE:,}"
            more = more if count == FIRST_HITS else ""
            self._recorder.log(f"waterfall {name!r}: {row}found by {provider}{more}")
        elif count % HITS_PER_LINE == 0:
            self._recorder.log(f"waterfall {name!r}: {count:,} found")


class WaterfallTrace:
    """One asking of a waterfall: its steps' answers in turn, then how it ended."""

    def __init__(
        self,
        name: str,
        trace: Trace,
        scope: Scope,
        *,
        step: Step | None,
        parts: dict[str, Step | None],
    ) -> None:
        self.name = name
        self._trace = trace
        self._scope = scope
        self._step = step
        self._parts = parts
        self._last = ""

    def answered(self, part: str, values: Sequence[Json], failure: str) -> None:
        """One step has its answer."""
        status = "failed" if failure else "completed" if values else "missed"
        value = values[0] if len(values) == 1 else list(values) or None
        step = self._parts.pop(part, None)
        self._trace.gave(self._scope, step, status, value, provider=part, error=failure)
        if values:
            self._last = part

    def ended(self, status: str, value: Json = None, error: str = "") -> None:
        """The waterfall has its outcome; the steps that were not asked were skipped."""
        for part, step in self._parts.items():
            self._trace.gave(self._scope, step, "skipped", provider=part)
        self._trace.gave(self._scope, self._step, status, value, provider=self._last, error=error)


class MapTrace:
    """What is told of one map while it runs."""

    def __init__(self, trace: Trace, recorder: Recorder, plan: MapPlan) -> None:
        self.frame = -1
        self.step: Step | None = None
        self._trace = trace
        self._recorder = recorder
        self._plan = plan
        self._settled = 0
        self._ran: Counter[str] = Counter()
        self._batches: dict[str, tuple[list[int], list[int]]] = {}

    def opened(self, frame: int, total: int, settled: int) -> None:
        """The map has its rows; ``settled`` of them were over before this engine began."""
        self.frame = frame
        self._settled = settled
        self._trace.opened(self)
        self.tell(items=total, frame=frame)
        fields = sum(not step.is_hidden for step in self._plan.steps)
        known = f", {settled:,} settled already" if settled else ""
        self._recorder.log(
            f"{self._plan.where}: {_number(total, 'row')}, {_number(fields, 'field')},"
            f" table {self._plan.namespace}{known}"
        )

    def row(self, status: RowStatus) -> None:
        """A row of it is over."""
        self._ran[status] += 1
        if self.step:
            self._recorder.trace(self.step.change(counts={str(status): 1}))

    def sent(self, tool: str, size: int) -> None:
        """A batch with calls of it left."""
        first, more = self._batches.setdefault(tool, ([], [0]))
        if len(first) < FIRST_BATCHES:
            first.append(size)
        else:
            more[0] += 1

    def tell(self, **told: Json) -> None:
        """Record what is known of the map."""
        if self.step:
            self._recorder.trace(self.step.change(told))

    def say_end(self) -> None:
        """Write the last lines of the map."""
        if self.frame < 0:
            return
        for tool, (first, (more,)) in self._batches.items():
            sizes = ", ".join(f"{size:,}" for size in first)
            left_out = f" and {more:,} more" if more else ""
            self._recorder.log(f"{self._plan.where}: batches to {tool} of {sizes}{left_out}")
        failed = self._ran[RowStatus.FAILED]
        self._recorder.log(
            f"{self._plan.where}: {_number(self._ran.total(), 'row')} ran"
            f"{f' ({failed:,} failed)' if failed else ''}, {self._settled:,} settled already"
        )


def _asking_cell(scope: Scope) -> CellProgress | None:
    """Give the cell for which a scope works, be it through child plays."""
    while scope.cell is None and scope.caller is not None:
        scope = scope.caller
    return scope.cell


def _waterfall_name(told: dict[str, Json]) -> str:
    return str(told["id"]) if told["kind"] == "waterfall" else ""


def _outcome(value: object) -> tuple[str, Json]:
    if isinstance(value, ToolResult):
        return ("completed" if value else "missed"), value.result
    to_json = getattr(value, "to_json", None)
    return "completed", to_json() if to_json else value


def _provider(value: object) -> str:
    return value.spec.provider if isinstance(value, ToolResult) else ""


def _sentence(error: Exception) -> str:
    if isinstance(error, RowsFailed | ToolFailed):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
