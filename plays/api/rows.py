"""The API of a run's rows: pages, one row, one cell."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.errors import HttpError
from pydantic import Field, ValidationError

from plays.api.schemas import CellDetail, Position, QueryIn, Refusal, RowDetail, Rows
from plays.models import MapFrame
from plays.selectors import grid
from plays.selectors.access import run_for_user

router = Router(tags=["rows"])

REFUSED = {404: Refusal, 422: Refusal}


@router.get("/{uuid:run_id}/frames/{int:frame_id}/rows", response={200: Rows, **REFUSED})
def rows(
    request: HttpRequest,
    run_id: UUID,
    frame_id: int,
    first: Position = 0,
    count: Annotated[int, Field(ge=0, le=grid.PAGE_MAX)] = 100,
    query: Annotated[str, Query(description="JSON of the schema QueryIn; empty: all rows.")] = "",
) -> HttpResponse:
    """Give rows ``first`` and following, by position or as the query sorts and filters them."""
    page = grid.rows_page(_frame(request, run_id, frame_id), _query(query), first, count)
    return _json(
        {"sequence": page.sequence, "total": page.total, "first": page.first, "rows": page.rows}
    )


@router.get(
    "/{uuid:run_id}/frames/{int:frame_id}/rows/{int:position}", response={200: RowDetail, **REFUSED}
)
def row(request: HttpRequest, run_id: UUID, frame_id: int, position: int) -> HttpResponse:
    """Give one row in full: its key, hidden values, what it waits for, all of it as JSON text."""
    return _json(_there(grid.row_detail(_frame(request, run_id, frame_id), position)))


@router.get(
    "/{uuid:run_id}/frames/{int:frame_id}/rows/{int:position}/cell",
    response={200: CellDetail, **REFUSED},
)
def cell(
    request: HttpRequest, run_id: UUID, frame_id: int, position: int, column: str
) -> HttpResponse:
    """Give one cell in full: its whole value, its state, every attempt with the raw answer."""
    return _json(_there(grid.cell_detail(_frame(request, run_id, frame_id), position, column)))


def _frame(request: HttpRequest, run_id: UUID, frame_id: int) -> MapFrame:
    run = run_for_user(request.user, run_id)
    frame = MapFrame.objects.select_related("run").filter(pk=frame_id, run=run).first()
    if frame is None:
        raise Http404
    return frame


def _there(found: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        raise Http404
    return found


def _query(text: str) -> grid.RowsQuery:
    try:
        asked = QueryIn.model_validate_json(text or "{}")
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"]) or "query"
        raise HttpError(422, f"The query is not understood at {place}: {problem['msg']}.") from None
    return grid.RowsQuery(
        search=asked.search.strip(),
        statuses=tuple(asked.statuses),
        filters=tuple(
            grid.ColumnFilter(f.column, tuple(f.states), f.text, f.is_empty) for f in asked.filters
        ),
        sort=tuple((by.column, by.descending) for by in asked.sort),
    )


def _json(answer: dict[str, Any]) -> HttpResponse:
    """Write what a selector built, without checking each of thousands of cells by its schema."""
    return HttpResponse(orjson.dumps(answer), content_type="application/json")
