"""What the execution of runs leaves behind: who executes them, what they spend, and their logs."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from plays.admin.display import preview
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.admin.filters import ByRun, Within, read_uuid_or_none
from plays.models import LogLine, RunParticipant, RunUsage, TraceStep

RUN_OR_NUMBER = "A whole id: of a run, or of one of these."


@admin.register(RunParticipant)
class RunParticipantAdmin(EngineOwnedAdmin):
    """Who holds the lease of each run; the epoch counts the claims."""

    list_display = (
        "id",
        "run",
        "role",
        "epoch",
        "worker",
        "isolation",
        "lease_until",
        "is_held",
        "claimed_at",
    )
    list_filter = (ByRun,)
    list_select_related = ("run__play",)
    search_fields = ("id", "run")
    search_help_text = RUN_OR_NUMBER
    fields = (
        "run",
        "role",
        "epoch",
        "worker",
        "isolation",
        "claimed_at",
        "lease_until",
        "is_held",
    )

    @admin.display(description="lease held", boolean=True)
    def is_held(self, participant: RunParticipant) -> bool:
        return participant.lease_until > timezone.now()


@admin.register(RunUsage)
class RunUsageAdmin(EngineOwnedAdmin):
    """What each root run's tree spent. Only the gateway and receipts write it."""

    list_display = (
        "run",
        "tool_calls",
        "requests",
        "retries",
        "waterfall_steps",
        "play_calls",
        "descendants",
        "credits_reserved",
        "credits_spent",
    )
    list_filter = (ByRun,)
    list_select_related = ("run__play",)
    ordering = ("-run__created_at",)
    search_fields = ("run",)
    search_help_text = "A whole id of a run."
    fields = list_display


@admin.register(LogLine)
class LogLineAdmin(EngineOwnedAdmin):
    """The lines of the runs' logs."""

    class LevelWithinRun(Within):
        title = "level"
        parameter_name = "level"
        within = ("run",)

        def options(self, model: object) -> list[tuple[str, str]]:
            return [(level, level) for level in ("info", "warning", "error")]

    list_display = ("id", "at", "level", preview("text"), "run")
    list_filter = (ByRun, LevelWithinRun)
    list_select_related = ("run__play",)
    previews = ("text",)
    search_fields = ("id", "run")
    search_help_text = "A whole id, of a run or a line. With a run chosen: any part of a line."
    fields = ("run", "at", "sequence", "level", "text")

    def matching(self, term: str, request: HttpRequest) -> Q:
        if request.GET.get("run") and read_uuid_or_none(term) is None:
            return Q(text__icontains=term)
        return super().matching(term, request)


@admin.register(TraceStep)
class TraceStepAdmin(EngineOwnedAdmin):
    """The steps of runs' traces, each with its counts and a bounded preview of what it gave."""

    list_display = ("id", "run", "sequence", preview("told"), "counts")
    list_filter = (ByRun,)
    list_select_related = ("run__play",)
    previews = ("told",)
    search_fields = ("id", "run")
    search_help_text = RUN_OR_NUMBER
    fields = ("run", "sequence", "key", "parent", "told", "counts", "results")
