"""Workspaces and who is in them: the part of the data that administrators keep by hand."""

from __future__ import annotations

from django.contrib import admin

from plays.admin.engine_owned import Page, Table
from plays.models import Membership, Workspace


class Members(Table):
    """The members of one workspace."""

    model = Membership
    extra = 0
    raw_id_fields = ("user",)
    verbose_name = "member"


@admin.register(Workspace)
class WorkspaceAdmin(Page):
    """Tenants. One that has plays or runs cannot be deleted: those are not deleted here."""

    list_display = ("name", "created_at")
    ordering = ("name",)
    search_fields = ("name",)
    readonly_fields = ("created_at",)
    inlines = (Members,)


@admin.register(Membership)
class MembershipAdmin(Page):
    """Who is in which workspace, and in what role."""

    list_display = ("user", "workspace", "role")
    list_filter = ("role", "workspace")
    list_select_related = ("user", "workspace")
    ordering = ("workspace__name", "user__username")
    search_fields = ("user__username", "user__email", "workspace__name")
    raw_id_fields = ("user", "workspace")
