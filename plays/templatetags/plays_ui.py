"""Template tags and filters that all pages share. They draw; they decide nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from plays.models import Workspace
from plays.selectors.access import workspaces_of
from plays.views.workspace import workspace_current

register = template.Library()

NOTHING = "\N{EN DASH}"
"""Stands where a number would be."""

SEPARATOR_NAMES = {
    ",": "comma",
    ";": "semicolon",
    "|": "bar",
    "\t": "tab",
    " ": "space",
    '"': "double quote",
    "'": "apostrophe",
}


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


@register.simple_tag
def ago(moment: datetime | None) -> SafeString:
    """Write how long ago something was, with the exact time at hand; None is a dash."""
    if moment is None:
        return format_html('<span class="muted">{}</span>', NOTHING)
    exact = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        exact.isoformat(timespec="seconds"),
        f"{exact:%Y-%m-%d %H:%M:%S}",
        _ago((timezone.now() - moment).total_seconds(), exact),
    )


@register.simple_tag
def lasted(start: datetime | None, end: datetime | None) -> str:
    """Write how long something took, or takes until now."""
    if start is None:
        return NOTHING
    seconds = int(((end or timezone.now()) - start).total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


@register.simple_tag(takes_context=True)
def current_workspace(context: Context) -> Workspace | None:
    """Give the workspace that this request looks at; None where nobody is signed in."""
    request = context.get("request")
    if request is None or not getattr(request, "user", None) or not request.user.is_authenticated:
        return None
    return workspace_current(request)


@register.simple_tag(takes_context=True)
def workspaces(context: Context) -> list[Workspace]:
    """Give the workspaces that the signed-in person may choose from."""
    return list(workspaces_of(context["request"].user))


@register.simple_tag(takes_context=True)
def current_if(context: Context, *names: str) -> SafeString | str:
    """Mark a link of the navigation as the current page where the address is one of ``names``."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    if match is None or match.url_name not in names:
        return ""
    return format_html('aria-current="{}"', "page")


@register.filter
def encoding_name(encoding: str) -> str:
    """Write an encoding as people do: UTF-8, UTF-16, Windows-1252."""
    name = encoding.upper().replace("-LE", "").replace("-BE", "")
    return name.replace("WINDOWS", "Windows")


@register.filter
def separator_name(character: str) -> str:
    """Write a delimiter or quote as a word, because the characters are too small to be seen."""
    return SEPARATOR_NAMES.get(character, character)


@register.filter(name="credits")
def credits_text(amount: Decimal | float | None) -> str:
    """Write credits without trailing zeros: 12.5, 0.3, 4."""
    if amount is None:
        return NOTHING
    text = f"{Decimal(str(amount)):.4f}".rstrip("0").rstrip(".")
    return text or "0"


def _ago(seconds: float, exact: datetime) -> str:
    if seconds < 45:
        return "just now"
    if seconds < 3600:
        return f"{max(1, round(seconds / 60))} min ago"
    if seconds < 24 * 3600:
        return f"{round(seconds / 3600)} h ago"
    if seconds < 7 * 24 * 3600:
        days = max(1, round(seconds / 86_400))
        return "yesterday" if days == 1 else f"{days} days ago"
    return f"{exact:%-d %b %Y}"


def _whole_percent(share: float) -> int:
    """Round, but say 100 only of everything and 0 only of nothing."""
    percent = round(share * 100)
    if percent == 100 and share < 1:
        return 99
    if percent == 0 and share > 0:
        return 1
    return percent
