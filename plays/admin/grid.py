"""The maps of runs, and their rows with every cell's value and state."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from plays.admin.display import detail_address, links, list_address, preview, status_mark
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.admin.execution import RUN_OR_NUMBER
from plays.admin.filters import ByIdentity, ByRun, Within, read_number
from plays.models import CheckpointEntry, MapFrame, RowState, row_id


def row_counts(frame: MapFrame) -> str:
    """Return how many of a map's rows are in which state."""
    return ", ".join(f"{count:,} {status}" for status, count in frame.row_totals.items())


def rows_link(frame: MapFrame) -> SafeString:
    """Return links to what is stored of a map's rows."""
    return links(
        ("the map", detail_address(frame)),
        ("its rows", list_address(RowState, frame=frame.pk)),
        ("checkpoint entries", list_address(CheckpointEntry, frame=frame.pk)),
    )


@admin.register(MapFrame)
class MapFrameAdmin(EngineOwnedAdmin):
    """The maps of runs, with their totals by status."""

    list_display = ("id", "title", "table", "run", "total", "is_sealed", "rows_by_status", "rows")
    list_filter = (ByRun,)
    list_select_related = ("run__play",)
    left_out_of_list = ("columns", "fields", "totals")
    search_fields = ("id", "run", "table")
    search_help_text = RUN_OR_NUMBER[:-1] + ", or a table's whole name."
    fieldsets = (
        (None, {"fields": ("run", "title", "description", "table", "path", "created_at", "rows")}),
        ("Rows", {"fields": ("is_sealed", "total", "row_totals", "totals")}),
        ("Form", {"fields": ("key", "explicit", "columns", "fields")}),
    )

    @admin.display(description="rows by status")
    def rows_by_status(self, frame: MapFrame) -> str:
        return row_counts(frame)

    @admin.display(description="see")
    def rows(self, frame: MapFrame) -> SafeString:
        return rows_link(frame)


class ByFrame(ByIdentity):
    """Records of one map, by its number."""

    title = "map frame"
    parameter_name = "frame"

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        return rows.filter(frame_id=read_number(given))


class RowsOfFrame(ByFrame):
    """Rows of one map, as the range of their primary keys: that index also gives their order."""

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        frame = read_number(given)
        return rows.filter(pk__gte=row_id(frame, 0), pk__lt=row_id(frame + 1, 0))


class StatusWithinFrame(Within):
    """The status of a map's rows."""

    title = "status"
    parameter_name = "status"
    within = ("frame",)


@admin.register(RowState)
class RowStateAdmin(EngineOwnedAdmin):
    """The rows of maps. A row's number counts from 1, as in the grid."""

    list_display = (
        "id",
        "number",
        "frame",
        status_mark(),
        "sequence",
        "row_key",
        preview("input"),
        preview("data"),
    )
    list_filter = (RowsOfFrame, StatusWithinFrame)
    list_select_related = ("frame",)
    previews = ("input", "data")
    left_out_of_list = ("cells",)
    search_fields = ("id",)
    search_help_text = "A whole id. With a map frame chosen: a row's number, or its whole row key."
    fieldsets = (
        (None, {"fields": ("id", "number", "frame", "row_key", "status", "sequence")}),
        ("Content", {"fields": ("input", "data", "cells")}),
    )

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Give a map's rows from the first on, and all rows from the newest map on."""
        return ("pk",) if request.GET.get("frame") else ("-pk",)

    def matching(self, term: str, request: HttpRequest) -> Q:
        frame = request.GET.get("frame")
        if not frame:
            return super().matching(term, request)
        by_key = Q(frame_id=read_number(frame), row_key=term)
        return (
            by_key | Q(pk=row_id(read_number(frame), int(term) - 1)) if term.isdecimal() else by_key
        )

    @admin.display(description="row")
    def number(self, row: RowState) -> int:
        return row.position + 1
