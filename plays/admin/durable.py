"""What runs must not do twice: checkpoint entries and receipts."""

from __future__ import annotations

from django.contrib import admin

from plays.admin.display import preview, status_mark
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.admin.execution import RUN_OR_NUMBER
from plays.admin.filters import ByRun, StatusWithinRun
from plays.admin.grid import ByFrame
from plays.models import CheckpointEntry, Receipt


@admin.register(CheckpointEntry)
class CheckpointEntryAdmin(EngineOwnedAdmin):
    """Results of steps that the gateway does not hold; gone once their row is complete."""

    list_display = ("id", "run", preview("name"), "frame", "position", preview("value"))
    list_filter = (ByRun, ByFrame)
    list_select_related = ("run__play", "frame")
    previews = ("name", "value")
    search_fields = ("id", "run")
    search_help_text = RUN_OR_NUMBER
    fields = ("run", "name", "frame", "position", "value")


@admin.register(Receipt)
class ReceiptAdmin(EngineOwnedAdmin):
    """Named top-level calls that were claimed or finished; the run is the root of its tree."""

    list_display = (
        "id",
        "run",
        preview("name"),
        status_mark(),
        "epoch",
        "claimed_at",
        "finished_at",
    )
    list_filter = (ByRun, StatusWithinRun)
    list_select_related = ("run__play",)
    previews = ("name",)
    left_out_of_list = ("output", "error")
    search_fields = ("id", "run")
    search_help_text = RUN_OR_NUMBER
    fieldsets = (
        (None, {"fields": ("run", "name", "status", "epoch", "input_digest")}),
        ("When", {"fields": ("claimed_at", "finished_at")}),
        ("Outcome", {"fields": ("output", "error")}),
    )
