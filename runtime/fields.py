"""Resolves one step of a map's program for one row: reuse it, run it, or say why it failed.

This is where an author's code is called, so this is where anything may be raised.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from runtime.calling import author_error, bound
from runtime.errors import PlayError, raise_of_host
from runtime.events import CellStatus
from runtime.ports import Cell, FieldForm
from runtime.program import CodeStep, Step, Steps, ToolStep, Waterfall, When
from runtime.progress import CellProgress
from runtime.rows import RowRun, RowView
from runtime.scope import Scope, current
from runtime.session import Session
from runtime.tools import ToolResult
from runtime.values import Json, check_json, digest, is_meaningful

REUSABLE = (CellStatus.COMPLETED, CellStatus.MISSED, CellStatus.CACHED, CellStatus.MANUAL)

Resolve = Callable[["Running"], Any]


class Running:
    """One field of one row while it is computed. ``known`` is what its code may read."""

    __slots__ = ("ctx", "failed_at", "is_skipped", "known", "path", "reads", "row", "session")

    def __init__(
        self, session: Session, row: RowRun, known: Mapping[str, Json], *, ctx: Any, path: str
    ) -> None:
        self.session = session
        self.row = row
        self.known = known
        self.ctx = ctx
        self.path = path
        self.reads: set[str] = set()
        self.is_skipped = False
        self.failed_at = path

    def view(self) -> RowView:
        """Give the row as the author's code reads it."""
        return RowView(self.known, self.reads)


class Field:
    """One step of a map, ready to run for many rows."""

    __slots__ = ("form", "name", "resolve")

    def __init__(self, step: Step, form: FieldForm, where: str) -> None:
        self.name = step.name
        self.form = form
        self.resolve = compile_resolver(step.resolver, f"step {step.name!r} of {where}")


async def fill(session: Session, field: Field, row: RowRun, ctx: Any) -> bool:
    """Give the row its value of this field; False: the field failed. All of it is recorded.

    Raises HostFailed; everything else that an author's code raises fails the cell.
    """
    if _keep_input(session, field, row) or _reuse(session, field, row):
        return True
    progress = CellProgress(session.recorder, row, field.name)
    running = Running(session, row, row.known, ctx=ctx, path=field.name)
    life = field.form["stale_after_seconds"]
    token = current.set(Scope(f"{row.place}/{field.name}", row, progress, life=life))
    try:
        value = field.resolve(running)
        if inspect.isawaitable(value):
            progress.computing()
            value = await value
    except Exception as error:  # noqa: BLE001 (an author's code may raise anything)
        raise_of_host(error)
        _failed(running, field, progress, error)
        return False
    finally:
        current.reset(token)
    _completed(session, field, running, progress, value)
    return True


async def _resolved(resolve: Resolve, running: Running) -> Any:
    value = resolve(running)
    return await value if inspect.isawaitable(value) else value


def _keep_input(session: Session, field: Field, row: RowRun) -> bool:
    """A step named like an input column fills only its blank cells."""
    value = row.known.get(field.name)
    if value is None or (isinstance(value, str) and not value.strip()):
        return False
    cell = Cell(status=CellStatus.CACHED, reason="the input has a value")
    session.recorder.cell(row, field.name, cell, value)
    return True


def _reuse(session: Session, field: Field, row: RowRun) -> bool:
    cell = row.cells.get(field.name)
    if cell is None or not _is_reusable(session, field, row, cell):
        return False
    value = row.values.get(field.name)
    row.known[field.name] = value
    if "origin" in cell:
        known = Cell(**{**cell, "status": CellStatus.CACHED, "reason": "known from an earlier run"})
        session.recorder.cell(row, field.name, known, value)
    return True


def _is_reusable(session: Session, field: Field, row: RowRun, cell: Cell) -> bool:
    if cell.get("status") not in REUSABLE:
        return False
    if cell["status"] == CellStatus.MANUAL:
        return True
    if not field.form["digest"] or cell.get("step") != field.form["digest"]:
        return False
    if "origin" in cell and _is_stale(cell, field, session.ports.clock.now()):
        return False
    return cell.get("reads_digest") == _reads_digest(cell.get("reads", ()), row.known)


def _is_stale(cell: Cell, field: Field, now: float) -> bool:
    life = field.form["stale_after_seconds"]
    return life is not None and cell.get("at", 0.0) + life <= now


def _reads_digest(names: Any, known: Mapping[str, Json]) -> str:
    return digest([[name, known.get(name)] for name in names])


def _completed(
    session: Session, field: Field, running: Running, progress: CellProgress, value: Json
) -> None:
    row = running.row
    reads = sorted(running.reads)
    cell = Cell(
        status=_final_status(running, progress, value),
        step=field.form["digest"],
        reads=reads,
        reads_digest=_reads_digest(reads, row.known),
        at=session.ports.clock.now(),
    )
    if progress.attempts:
        cell["attempts"] = progress.attempts
        cell["provider"] = progress.attempts[-1]["provider"]
    if progress.is_partial:
        cell["partial"] = True
    row.known[field.name] = value
    session.recorder.cell(row, field.name, cell, value)
    session.trace.settled(progress)


def _final_status(running: Running, progress: CellProgress, value: Json) -> CellStatus:
    if running.is_skipped:
        return CellStatus.SKIPPED
    if progress.is_partial or (progress.has_missed and not is_meaningful(value)):
        return CellStatus.MISSED
    return CellStatus.COMPLETED


def _failed(running: Running, field: Field, progress: CellProgress, error: Exception) -> None:
    session = running.session
    told = author_error(error)
    if running.failed_at != field.name:
        told["step"] = running.failed_at
    cell = Cell(status=CellStatus.FAILED, error=told, at=session.ports.clock.now())
    if progress.attempts:
        cell["attempts"] = progress.attempts
        cell["provider"] = progress.attempts[-1]["provider"]
    session.recorder.cell(running.row, field.name, cell, None)
    session.trace.settled(progress)


def compile_resolver(resolver: Any, where: str) -> Resolve:
    """Give the function that computes a resolver for a row. Raises PlayError for what is no resolver."""
    if isinstance(resolver, Steps):
        return _compile_steps(resolver, where)
    if isinstance(resolver, When):
        return _compile_when(resolver, where)
    if isinstance(resolver, Waterfall | ToolStep | CodeStep):
        raise PlayError(
            f"{where}: give a function that calls ctx.waterfall(...), not the waterfall itself"
        )
    if not callable(resolver):
        constant = check_json(resolver, where)
        return lambda running: constant
    return _compile_function(resolver, where)


def _compile_function(function: Callable[..., Any], where: str) -> Resolve:
    call = bound(function, 3)

    def resolve(running: Running) -> Any:
        value = call(running.view(), running.ctx, running.row.position)
        if inspect.isawaitable(value):
            return _awaited(value, where)
        return _plain(value, where)

    return resolve


async def _awaited(value: Any, where: str) -> Json:
    return _plain(await value, where)


def _plain(value: Any, where: str) -> Json:
    if isinstance(value, ToolResult) and not value:
        return None
    return check_json(value, where)


def _compile_when(condition: When, where: str) -> Resolve:
    predicate = bound(condition.predicate, 3)
    run = compile_resolver(condition.run, where)
    otherwise = check_json(condition.otherwise, f"{where}, otherwise")

    def resolve(running: Running) -> Any:
        holds = predicate(running.view(), running.ctx, running.row.position)
        if inspect.isawaitable(holds):
            return _decide_later(holds, running)
        return _decided(holds, running)

    async def _decide_later(holds: Any, running: Running) -> Any:
        value = _decided(await holds, running)
        return await value if inspect.isawaitable(value) else value

    def _decided(holds: Any, running: Running) -> Any:
        if holds:
            return run(running)
        running.is_skipped = True
        return otherwise

    return resolve


def _compile_steps(program: Steps, where: str) -> Resolve:
    parts = [
        (step.name, compile_resolver(step.resolver, f"{where}, nested step {step.name!r}"))
        for step in program.steps
    ]
    returning = program.returning and _compile_function(program.returning, f"{where}, returns")

    async def resolve(running: Running) -> Any:
        known = dict(running.known)
        computed: dict[str, Json] = {}
        for name, part in parts:
            value = await _nested(running, known, name, part)
            known[name] = computed[name] = value
        if returning is None:
            return {name: value for name, value in computed.items() if not name.startswith("_")}
        return await _nested(running, known, "", returning, mine=set(computed))

    async def _nested(
        outer: Running,
        known: dict[str, Json],
        name: str,
        part: Resolve,
        mine: set[str] | None = None,
    ) -> Json:
        path = f"{outer.path}.{name}" if name else outer.path
        inner = Running(outer.session, outer.row, known, ctx=outer.ctx, path=path)
        scope = current.get()
        place = f"{outer.row.place}/{path}"
        token = current.set(Scope(place, scope.row, scope.cell, life=scope.life))
        try:
            return await _resolved(part, inner)
        except Exception:
            outer.failed_at = inner.failed_at
            raise
        finally:
            current.reset(token)
            outer.reads |= {
                read for read in inner.reads if read in outer.known or read not in known
            }

    return resolve
