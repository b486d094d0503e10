"""Uploads: the files as people gave them, what was read from them, and whose they are."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString

from plays.admin.display import links, site_address
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.admin.filters import read_uuid_or_none
from plays.models import Upload


@admin.register(Upload)
class UploadAdmin(EngineOwnedAdmin):
    """Uploaded files. Their bytes are kept in chunks and downloaded through the pages."""

    list_display = (
        "filename",
        "workspace",
        "bytes_read",
        "record_count",
        "created_by",
        "created_at",
    )
    list_filter = ("workspace", "created_at")
    list_select_related = ("workspace", "created_by")
    left_out_of_list = ("dialect", "columns", "report")
    ordering = ("-created_at",)
    search_fields = ("id",)
    search_help_text = "A whole id (also as upload:…), or how the file's name begins."
    fieldsets = (
        (None, {"fields": ("id", "ref", "filename", "workspace", "created_by", "created_at")}),
        ("File", {"fields": ("bytes_read", "sha256", "record_count", "page")}),
        ("Read as", {"fields": ("dialect", "columns", "report")}),
    )

    def matching(self, term: str, request: HttpRequest) -> Q:
        wanted = read_uuid_or_none(term.removeprefix("upload:"))
        return Q(pk=wanted) if wanted else Q(filename__istartswith=term)

    @admin.display(description="size")
    def bytes_read(self, upload: Upload) -> str:
        return filesizeformat(upload.size)

    @admin.display(description="see")
    def page(self, upload: Upload) -> SafeString:
        return links(("its page", site_address("upload-detail", upload.pk)))
