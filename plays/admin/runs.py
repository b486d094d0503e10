"""Runs: where they stand, everything recorded of them, and what an operator may do with one."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from plays.admin.confirming import ChangingAdmin
from plays.admin.display import links, list_address, mark, preview, site_address
from plays.admin.engine_owned import ReadOnlyTable
from plays.admin.filters import ByIdentity, ByPlay, ByRevision, Within, read_uuid, read_uuid_or_none
from plays.admin.grid import row_counts, rows_link
from plays.admin.limits import limits_view
from plays.admin.run_changes import RUN_CHANGES
from plays.models import (
    Boundary,
    CheckpointEntry,
    EarlyAnswer,
    LateAnswer,
    LogLine,
    MapFrame,
    Receipt,
    Run,
    RunParticipant,
    RunRequest,
    RunUsage,
    ToolCall,
    TraceStep,
)
from plays.services.requeue import is_root

RECORDED: tuple[tuple[str, type[Model]], ...] = (
    ("maps", MapFrame),
    ("tool calls", ToolCall),
    ("log", LogLine),
    ("steps", TraceStep),
    ("checkpoint entries", CheckpointEntry),
    ("receipts", Receipt),
    ("boundaries", Boundary),
    ("early answers", EarlyAnswer),
    ("late answers", LateAnswer),
    ("participants", RunParticipant),
    ("usage", RunUsage),
)
"""What a run's page links to; not counted, because counting a large run's calls takes long."""


class Frames(ReadOnlyTable):
    """The maps of one run."""

    model = MapFrame
    fields = ("title", "table", "total", "is_sealed", "rows_by_status", "rows")
    verbose_name_plural = "maps"

    @admin.display(description="rows by status")
    def rows_by_status(self, frame: MapFrame) -> str:
        return row_counts(frame)

    @admin.display(description="see")
    def rows(self, frame: MapFrame) -> SafeString:
        return rows_link(frame)


class Participants(ReadOnlyTable):
    """Who executes one run."""

    model = RunParticipant
    fields = ("role", "epoch", "worker", "isolation", "claimed_at", "lease_until")
    verbose_name_plural = "participants"


class Usage(ReadOnlyTable):
    """What one root run's tree spent."""

    model = RunUsage
    fields = (
        "tool_calls",
        "requests",
        "retries",
        "waterfall_steps",
        "play_calls",
        "descendants",
        "credits_reserved",
        "credits_spent",
    )


class StopReasonWithinStatus(Within):
    """Why runs stand still or ended early."""

    title = "stop reason"
    parameter_name = "stop_reason"
    within = ("status__exact",)

    def options(self, model: type[Model]) -> list[tuple[Any, str]]:
        return [
            (reason, reason) for reason in ("limit", "provider", "person", "deadline", "isolation")
        ]


class InTree(ByIdentity):
    """The runs of one root run's tree."""

    title = "root run"
    parameter_name = "root"
    is_typed = False

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        return rows.filter(root_id=read_uuid(given))


@admin.register(Run)
class RunAdmin(ChangingAdmin):
    """Runs. They are started from the pages; here they are looked into, steered and given more room."""

    changes = RUN_CHANGES
    actions = ("raise_limits",)
    change_form_template = "admin/plays/run/change_form.html"
    list_display = (
        "short_id",
        "revision",
        "state",
        "created_at",
        "created_by",
        preview("stop_message", "why it stands still"),
        "finished_at",
        "workspace",
    )
    list_filter = (
        "status",
        StopReasonWithinStatus,
        "workspace",
        "created_at",
        ByPlay,
        ByRevision,
        InTree,
    )
    list_select_related = ("play", "revision__play", "workspace", "created_by")
    previews = ("stop_message",)
    left_out_of_list = ("input", "counters", "limits", "result", "error", "selection", "left_out")
    ordering = ("-created_at",)
    search_fields = ("id",)
    search_help_text = "A whole id, or a part of the play's name."
    inlines = (Frames, Participants, Usage)
    fieldsets = (
        (None, {"fields": ("id", "play", "revision", "workspace", "see", "recorded")}),
        ("State", {"fields": ("status", "requested", "stop_reason", "stop_message", "sequence")}),
        (
            "When",
            {"fields": ("created_by", "created_at", "queued_at", "started_at", "finished_at")},
        ),
        ("Limits and counts", {"fields": ("limits", "counters")}),
        ("Given", {"fields": ("input", "selection", "fresh_after", "left_out")}),
        ("Outcome", {"fields": ("result", "error")}),
        ("Tree", {"fields": ("parent", "root", "retry_of", "tree")}),
    )

    def matching(self, term: str, request: HttpRequest) -> Q:
        wanted = read_uuid_or_none(term)
        return Q(pk=wanted) if wanted else Q(play__name__icontains=term)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(partial(limits_view, self))
        return [
            path("<path:object_id>/limits/", view, name="plays_run_limits"),
            *super().get_urls(),
        ]

    def buttons(self, record: Run) -> list[tuple[str, str]]:
        buttons = super().buttons(record)
        if record.is_live and is_root(record):
            buttons.append(("Raise limits", reverse("admin:plays_run_limits", args=(record.pk,))))
        return buttons

    @admin.action(description="Raise limits of the selected run", permissions=["operate"])
    def raise_limits(self, request: HttpRequest, queryset: QuerySet[Run]) -> HttpResponse | None:
        """Go to the form: each run has limits of its own, so one is raised at a time."""
        chosen = queryset[:2]
        if len(chosen) != 1:
            self.message_user(request, "Choose one run to raise its limits.", messages.WARNING)
            return None
        return HttpResponseRedirect(reverse("admin:plays_run_limits", args=(chosen[0].pk,)))

    @admin.display(description="status")
    def state(self, run: Run) -> SafeString:
        words = run.get_status_display()
        is_asked = run.is_live and run.requested != RunRequest.NONE
        return mark(run.status, f"{words}, asked to {run.requested}" if is_asked else words)

    @admin.display(description="id")
    def short_id(self, run: Run) -> str:
        return str(run.pk)[:8]

    @admin.display(description="see")
    def see(self, run: Run) -> SafeString:
        return links(
            ("its page", site_address("run-detail", run.pk)),
            ("its result as CSV", site_address("run-download", run.pk)),
        )

    @admin.display(description="recorded")
    def recorded(self, run: Run) -> SafeString:
        return links(*((name, list_address(model, run=run.pk)) for name, model in RECORDED))

    @admin.display(description="runs of this tree")
    def tree(self, run: Run) -> SafeString:
        return links(("child runs", list_address(Run, root=run.root_id or run.pk)))
