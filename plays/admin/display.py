"""How values look in the administration: JSON, long texts, links and marks, always escaped.

Lists show the beginning of a value, detail pages the whole. The makers here return functions that
Django's admin takes as columns and read-only fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import Model, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Left
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import capfirst

PREVIEW_LENGTH = 100

NOTHING = "-"
"""What stands where there is nothing, as Django's admin has it."""

Column = Callable[[Any], Any]


def pretty(field: str, label: str | None = None) -> Column:
    """Make a read-only field that shows a JSON column whole, indented, its keys as they were stored."""

    @admin.display(description=label or field.replace("_", " "))
    def shown(thing: Model) -> SafeString | str:
        return pretty_json(getattr(thing, field))

    shown.__name__ = field
    return shown


def pretty_json(value: Any) -> SafeString | str:
    """Return JSON as an escaped, scrolling block; a dash for nothing."""
    if value in (None, {}, []):
        return NOTHING
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return format_html('<pre class="plays-json">{}</pre>', text)


def whole_text(field: str, label: str | None = None) -> Column:
    """Make a read-only field that shows a long text with its line breaks."""

    @admin.display(description=label or field.replace("_", " "))
    def shown(thing: Model) -> SafeString | str:
        text = getattr(thing, field)
        return format_html('<pre class="plays-text">{}</pre>', text) if text else NOTHING

    shown.__name__ = field
    return shown


def preview(field: str, label: str | None = None) -> Column:
    """Make a list column of what `start_of` has cut in the database."""

    @admin.display(description=label or field.replace("_", " "))
    def shown(thing: Model) -> SafeString | None:
        text = getattr(thing, preview_name(field))
        return format_html('<span class="plays-cut">{}</span>', cut(text)) if text else None

    shown.__name__ = field
    return shown


def preview_name(field: str) -> str:
    """Return under which name `start_of` is annotated."""
    return f"{field}_start"


def start_of(field: str) -> Combinable:
    """Cut a column in the database, so that a list of large values does not carry them here.

    One character more than a preview shows, which is how `cut` sees that there is more.
    """
    return Left(Cast(field, TextField()), PREVIEW_LENGTH + 1)


def cut(text: str) -> str:
    """Shorten a text to a preview, with an ellipsis where something was left out."""
    return text if len(text) <= PREVIEW_LENGTH else f"{text[:PREVIEW_LENGTH]}…"


def status_mark(field: str = "status") -> Column:
    """Make a column of a status word in its colour."""

    @admin.display(description=field)
    def shown(thing: Model) -> SafeString:
        status = getattr(thing, field)
        words = getattr(thing, f"get_{field}_display")()
        return mark(status, words)

    shown.__name__ = field
    return shown


def mark(status: str, words: str) -> SafeString:
    """Return a status in words, with a dot in its colour."""
    return format_html(
        '<span class="plays-status plays-status-{}">{}</span>', status, capfirst(words)
    )


def link(address: str, text: object) -> SafeString:
    """Return a link."""
    return format_html('<a href="{}">{}</a>', address, text)


def links(*named: tuple[str, str]) -> SafeString:
    """Return links in a row."""
    return format_html_join(" · ", "{}", ((link(address, text),) for text, address in named))


def list_address(model: type[Model], **filters: Any) -> str:
    """Return the address of a model's list, narrowed by the parameters of its filters."""
    return f"{_address(model, 'changelist')}?{urlencode(filters)}"


def detail_address(thing: Model) -> str:
    """Return the address of a record's page in the administration."""
    return _address(type(thing), "change", thing.pk)


def site_address(name: str, *values: object) -> str:
    """Return the address of a page outside the administration; only members of its workspace see it."""
    return reverse(name, args=values)


def _address(model: type[Model], page: str, *values: object) -> str:
    options = model._meta
    return reverse(f"admin:{options.app_label}_{options.model_name}_{page}", args=values)
