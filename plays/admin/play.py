"""Plays and their revisions: what authors published, to look at, and which revision is live."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from plays.admin.confirming import Change, ChangingAdmin
from plays.admin.display import links, list_address, site_address
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.admin.filters import ByPlay
from plays.admin.sources import highlighted
from plays.models import Play, Revision, Run
from plays.services.revisions import revision_set_live


@admin.register(Play)
class PlayAdmin(EngineOwnedAdmin):
    """Plays. Their texts are published through the pages, never written here."""

    list_display = ("name", "workspace", "live_number", "description", "created_at")
    list_filter = ("workspace",)
    list_select_related = ("workspace", "live")
    ordering = ("workspace", "name")
    search_fields = ("name",)
    search_help_text = "A part of the name."
    fields = ("name", "workspace", "description", "live", "created_at", "belongings")

    def matching(self, term: str, request: HttpRequest) -> Q:
        return Q(name__icontains=term)

    @admin.display(description="live revision")
    def live_number(self, play: Play) -> str | None:
        return f"#{play.live.number}" if play.live else None

    @admin.display(description="see")
    def belongings(self, play: Play) -> SafeString:
        return links(
            ("its page", site_address("play-detail", play.pk)),
            ("its revisions", list_address(Revision, play=play.pk)),
            ("its runs", list_address(Run, play=play.pk)),
        )


@admin.register(Revision)
class RevisionAdmin(ChangingAdmin):
    """Revisions: immutable texts. What can be chosen is which one new runs take."""

    changes = (
        Change(
            name="set_live",
            label="Make live",
            consequence="New runs of the play take this revision. Runs that have begun keep theirs.",
            done="Made the live revision.",
            do=revision_set_live,
            suits=lambda revision: revision.play.live_id != revision.pk,
        ),
    )
    list_display = ("__str__", "workspace", "is_live", "format", "note", "created_by", "created_at")
    list_filter = (ByPlay, "format")
    list_select_related = ("play__workspace", "created_by")
    left_out_of_list = ("source", "pipeline", "input_schema")
    search_fields = ("digest",)
    search_help_text = "A part of the play's name, or a whole digest."
    fieldsets = (
        (None, {"fields": ("play", "number", "is_live", "format", "filename", "size", "digest")}),
        ("Published", {"fields": ("created_by", "created_at", "note", "runs")}),
        ("Source", {"fields": ("text",)}),
        ("Read from it", {"fields": ("input_schema", "pipeline")}),
    )

    def matching(self, term: str, request: HttpRequest) -> Q:
        return Q(play__name__icontains=term) | Q(digest=term)

    @admin.display(description="workspace")
    def workspace(self, revision: Revision) -> str:
        return str(revision.play.workspace)

    @admin.display(description="live", boolean=True)
    def is_live(self, revision: Revision) -> bool:
        return revision.play.live_id == revision.pk

    @admin.display(description="size")
    def size(self, revision: Revision) -> str:
        return f"{len(revision.source):,} bytes"

    @admin.display(description="see")
    def runs(self, revision: Revision) -> SafeString:
        return links(
            ("its page", site_address("revision-detail", revision.play_id, revision.number)),
            ("its runs", list_address(Run, revision=revision.pk)),
        )

    @admin.display(description="text")
    def text(self, revision: Revision) -> SafeString:
        return highlighted(revision.filename, bytes(revision.source))
