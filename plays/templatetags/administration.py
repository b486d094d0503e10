"""What the administration's templates ask for: the index in its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

from plays.admin.index import grouped

register = template.Library()


@register.simple_tag
def grouped_apps(apps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give the administration's apps in the groups that its index shows."""
    return grouped(apps)
