"""The limits that new runs begin with: the default profile, and a run's own copy of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from plays.models import GovernanceProfile

NOT_LIMITS = frozenset({"id", "name", "is_default"})


def profile_default() -> GovernanceProfile:
    """Give the default profile, made with the built-in limits if there is none."""
    default = GovernanceProfile.objects.filter(is_default=True).first()
    if default is not None:
        return default
    return GovernanceProfile.objects.get_or_create(name="Default", defaults={"is_default": True})[0]


def profile_limits(profile: GovernanceProfile) -> dict[str, Any]:
    """Give a profile's limits by name as a run keeps them; None: no limit. Credits are a number."""
    fields = GovernanceProfile._meta.concrete_fields
    names = [field.attname for field in fields if field.attname not in NOT_LIMITS]
    return {name: _plain(getattr(profile, name)) for name in names}


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
