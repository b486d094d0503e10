"""Who may see what: workspaces, their members, and the role of each."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Workspace(models.Model):
    """A tenant. Everything that a person sees belongs to exactly one."""

    name = models.CharField(max_length=200, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership")

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do; each role includes the ones before it."""

    VIEWER = "viewer"
    RUNNER = "runner"
    AUTHOR = "author"
    ADMIN = "admin"


class Membership(models.Model):
    """A person's place in a workspace."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="one_membership_each"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace} ({self.role})"

    def has_role(self, role: Role) -> bool:
        """Whether this member's role includes ``role``."""
        order = list(Role.values)
        return order.index(self.role) >= order.index(role)
