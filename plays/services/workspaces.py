"""Workspaces and their members: the first one, and who joins it by being the administrator."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from plays.models import Membership, Role, Workspace

FIRST_NAME = "Main"


def workspace_default() -> Workspace:
    """Give the oldest workspace, made if there is none.

    Safe to call at once from several processes: the name is unique.
    """
    oldest = Workspace.objects.order_by("id").first()
    if oldest is not None:
        return oldest
    return Workspace.objects.get_or_create(name=FIRST_NAME)[0]


def workspace_join(workspace: Workspace, user: AbstractBaseUser, role: Role) -> Membership:
    """Make a person a member; who is one already keeps the role they have."""
    return Membership.objects.get_or_create(
        workspace=workspace, user_id=user.pk, defaults={"role": role}
    )[0]


def workspace_join_superusers(workspace: Workspace) -> None:
    """Make every superuser who is a member of no workspace an administrator of this one.

    Without it, whoever was made with ``createsuperuser`` would sign in to nothing.
    """
    people = get_user_model().objects.filter(is_superuser=True, membership=None)
    for person in people:
        workspace_join(workspace, person, Role.ADMIN)
