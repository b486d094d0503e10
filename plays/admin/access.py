"""Workspaces, who is in them, and people: the part of the data that administrators keep by hand.

Neither a workspace that is in use nor a person who made something is deleted here: Django would gather
everything that goes with it, millions of rows, before it could ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest

from plays.admin.engine_owned import Page, Table
from plays.models import Membership, Play, Revision, Run, Upload, Workspace

# A parameter for the type checker only, as in `engine_owned`.
if TYPE_CHECKING:
    PeoplePage = UserAdmin[User]
else:
    PeoplePage = UserAdmin


class Members(Table):
    """The members of one workspace."""

    model = Membership
    extra = 0
    raw_id_fields = ("user",)
    verbose_name = "member"


@admin.register(Workspace)
class WorkspaceAdmin(Page):
    """Tenants."""

    actions = None
    list_display = ("name", "created_at")
    ordering = ("name",)
    search_fields = ("name",)
    readonly_fields = ("created_at",)
    inlines = (Members,)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether a workspace may be deleted: only while there is nothing in it."""
        if isinstance(obj, Workspace) and _is_used(obj):
            return False
        return super().has_delete_permission(request, obj)


def _is_used(workspace: Workspace) -> bool:
    return any(
        model._default_manager.filter(workspace=workspace).exists() for model in (Play, Run, Upload)
    )


@admin.register(Membership)
class MembershipAdmin(Page):
    """Who is in which workspace, and in what role."""

    list_display = ("user", "workspace", "role")
    list_filter = ("role", "workspace")
    list_select_related = ("user", "workspace")
    ordering = ("workspace__name", "user__username")
    search_fields = ("user__username", "user__email", "workspace__name")
    raw_id_fields = ("user", "workspace")


class PersonAdmin(PeoplePage):
    """People. Whoever made something stays, so that what was made says by whom, and is made inactive."""

    actions = None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether a person may be deleted: only one who made nothing."""
        if isinstance(obj, User) and _has_made_something(obj):
            return False
        return super().has_delete_permission(request, obj)


def _has_made_something(person: User) -> bool:
    return any(
        model._default_manager.filter(created_by=person).exists()
        for model in (Revision, Run, Upload)
    )


admin.site.unregister(User)
admin.site.register(User, PersonAdmin)
