"""Template tags and filters that all pages share. They draw; they decide nothing."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from plays.models import Workspace
from plays.views.workspace import workspace_current

register = template.Library()

NOTHING = "\N{EN DASH}"
"""Stands where a number would be."""


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Draw an icon of icons.svg: decoration, or with ``label`` a picture with a name."""
    href = static("plays/icons.svg")
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}#{}"/></svg>',
            label,
            href,
            name,
        )
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', href, name)


@register.simple_tag
def status_chip(status: str, words: str = "") -> SafeString:
    """Draw a status word (of a run, row or cell) with its mark and colour."""
    return format_html(
        '<span class="chip chip-{}">{}{}</span>',
        status,
        icon(status),
        words or str(status).replace("_", " ").capitalize(),
    )


@register.simple_tag
def rate(share: float | None) -> SafeString:
    """Draw a share from 0 to 1 as a bar and a number; None is a dash."""
    if share is None:
        return format_html('<span class="muted">{}</span>', NOTHING)
    percent = _whole_percent(share)
    return format_html(
        '<span class="rate"><svg aria-hidden="true" viewBox="0 0 100 6" preserveAspectRatio="none">'
        '<rect width="{}" height="6"/></svg>{} %</span>',
        percent,
        percent,
    )


@register.simple_tag(takes_context=True)
def current_workspace(context: Context) -> Workspace | None:
    """Give the workspace that this request looks at; None where nobody is signed in."""
    request = context.get("request")
    if request is None or not getattr(request, "user", None) or not request.user.is_authenticated:
        return None
    return workspace_current(request)


@register.simple_tag(takes_context=True)
def current_if(context: Context, *names: str) -> SafeString | str:
    """Mark a link of the navigation as the current page where the address is one of ``names``."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    if match is None or match.url_name not in names:
        return ""
    return format_html('aria-current="{}"', "page")


@register.filter
def item(mapping: Mapping[str, Any], key: str) -> Any:
    """Look a key up that is held in a variable."""
    return mapping.get(key)


@register.filter(name="credits")
def credits_text(amount: Decimal | float | None) -> str:
    """Write credits without trailing zeros: 12.5, 0.3, 4."""
    if amount is None:
        return NOTHING
    text = f"{Decimal(str(amount)):.4f}".rstrip("0").rstrip(".")
    return text or "0"


def _whole_percent(share: float) -> int:
    """Round, but say 100 only of everything and 0 only of nothing."""
    percent = round(share * 100)
    if percent == 100 and share < 1:
        return 99
    if percent == 0 and share > 0:
        return 1
    return percent
