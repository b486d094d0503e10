"""The administration's own log: who did what here, with old and new values where there are any."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from plays.admin.display import link
from plays.admin.engine_owned import EngineOwnedAdmin


@admin.register(LogEntry)
class LogEntryAdmin(EngineOwnedAdmin):
    """What administrators did; nobody can change or remove it here."""

    list_display = ("action_time", "user", "content_type", "subject", "told")
    list_filter = ("content_type", "action_flag")
    list_select_related = ("user", "content_type")
    search_fields = ("object_id",)
    search_help_text = "A user's name, or the whole id of what was changed."
    fields = ("action_time", "user", "content_type", "subject", "action_flag", "told")

    def matching(self, term: str, request: HttpRequest) -> Q:
        return Q(object_id=term) | Q(user__username=term)

    @admin.display(description="what")
    def subject(self, entry: LogEntry) -> SafeString | str:
        address = entry.get_admin_url()
        return link(address, entry.object_repr) if address else entry.object_repr

    @admin.display(description="change")
    def told(self, entry: LogEntry) -> str:
        return entry.get_change_message()
