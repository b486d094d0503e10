"""The gateway's ledger: every call of a tool, what it gave and what it cost."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet

from plays.admin.display import preview, status_mark
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.admin.filters import ByIdentity, ByRun, StatusWithinRun
from plays.models import ToolCall


class ByTool(ByIdentity):
    """Calls of one tool, by its whole id."""

    title = "tool"
    parameter_name = "tool"

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        return rows.filter(tool=given)


@admin.register(ToolCall)
class ToolCallAdmin(EngineOwnedAdmin):
    """The ledger. Who holds a claim is not shown: it is a key to the call's outcome."""

    list_display = (
        "short_key",
        "tool",
        status_mark(),
        "created_at",
        "credits",
        "attempts",
        "latency_ms",
        "batch_size",
        preview("input"),
        "run",
    )
    list_filter = (ByRun, ByTool, StatusWithinRun)
    list_select_related = ("run__play",)
    previews = ("input",)
    left_out_of_list = ("result", "error")
    ordering = ("-created_at",)
    search_fields = ("key", "run")
    search_help_text = "A whole key, or a run's whole id."
    fieldsets = (
        (None, {"fields": ("key", "tool", "provider", "status", "workspace", "run")}),
        ("Spent", {"fields": ("attempts", "credits", "reserved", "latency_ms", "batch_size")}),
        ("When", {"fields": ("created_at", "started_at", "claimed_until", "finished_at")}),
        ("Call", {"fields": ("input", "result", "error")}),
    )

    @admin.display(description="key")
    def short_key(self, call: ToolCall) -> str:
        return call.key[:12]
