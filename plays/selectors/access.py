"""Who may see what, and who may do what: every object that a page shows comes through here.

A stranger gets Http404, as if the thing were not there; a member whose role does not reach gets
PermissionDenied with a sentence for the page. Being a superuser opens Django's admin, not a
workspace: only a membership does.
"""

from __future__ import annotations

import uuid
from typing import TypeVar

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404

from plays.models import Boundary, Membership, Play, Role, Run, Upload, Workspace

Person = AbstractBaseUser | AnonymousUser
Found = TypeVar("Found", bound=Model)

MAY = {
    Role.VIEWER: "look at this workspace",
    Role.RUNNER: "upload files and run plays",
    Role.AUTHOR: "publish plays and choose their live revision",
    Role.ADMIN: "administer this workspace",
}
"""What each role is the first to allow; the words of a refusal."""


def workspaces_of(user: Person) -> QuerySet[Workspace]:
    """Give the workspaces that a person is a member of, the oldest membership first."""
    return Workspace.objects.filter(membership__user_id=_number(user)).order_by("membership__id")


def membership_of(user: Person, workspace_id: int) -> Membership | None:
    """Give a person's place in a workspace, or None for a stranger."""
    return Membership.objects.filter(user_id=_number(user), workspace_id=workspace_id).first()


def play_for_user(user: Person, play_id: int) -> Play:
    """Give a play of a workspace of this person. Raises Http404."""
    plays = Play.objects.select_related("workspace", "live", "live__created_by")
    return _found(plays.filter(pk=play_id, workspace__membership__user_id=_number(user)))


def run_for_user(user: Person, run_id: uuid.UUID) -> Run:
    """Give a run of a workspace of this person. Raises Http404."""
    runs = Run.objects.select_related("workspace", "play", "revision", "created_by", "usage")
    return _found(runs.filter(pk=run_id, workspace__membership__user_id=_number(user)))


def upload_for_user(user: Person, upload_id: uuid.UUID) -> Upload:
    """Give an upload of a workspace of this person. Raises Http404."""
    uploads = Upload.objects.select_related("workspace", "created_by")
    return _found(uploads.filter(pk=upload_id, workspace__membership__user_id=_number(user)))


def wait_for_user(user: Person, wait_id: int) -> Boundary:
    """Give a wait of a run of a workspace of this person. Raises Http404."""
    waits = Boundary.objects.select_related("run", "frame")
    return _found(waits.filter(pk=wait_id, run__workspace__membership__user_id=_number(user)))


def may(user: Person, workspace_id: int, role: Role) -> bool:
    """Whether this person's role in the workspace includes ``role``."""
    membership = membership_of(user, workspace_id)
    return membership is not None and membership.has_role(role)


def require_role(user: Person, workspace_id: int, role: Role) -> None:
    """Raise PermissionDenied, with a sentence, unless the person's role includes ``role``.

    For a stranger it raises Http404: the caller normally never gets there with one.
    """
    membership = membership_of(user, workspace_id)
    if membership is None:
        raise Http404
    if not membership.has_role(role):
        has = Role(membership.role).label.lower()
        needs = role.label.lower()
        raise PermissionDenied(
            f"You are {_article(has)} {has} here; to {MAY[role]} takes the role {needs}."
            " An administrator of the workspace can give it to you."
        )


def _number(user: Person) -> int:
    """Give a person's number; 0, which nobody has, for one who is not signed in."""
    return user.pk or 0


def _found(query: QuerySet[Found]) -> Found:
    found = query.first()
    if found is None:
        raise Http404
    return found


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"
