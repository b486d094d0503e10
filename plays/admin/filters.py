"""Filters for lists of any size: by the id of what a record belongs to, then by status within it.

A related object's usual filter loads every object there is into a page; a status over a whole table of
millions reads all of it when the status is rare. So the id is typed or followed from a link, and a status
is offered once the list is narrowed to something that has an index.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib.admin import ModelAdmin, SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest


class ByIdentity(SimpleListFilter):
    """A filter that is typed into a box: rows whose foreign key is that id."""

    template = "admin/plays/filter_by_identity.html"
    is_typed = True
    """Whether the box is offered; otherwise the filter shows only where a link has set it."""

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[Any, str]]:
        return []

    def has_output(self) -> bool:
        return self.is_typed or bool(self.value())

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Give what the box's form needs: its value, and the other parameters that it must keep."""
        kept = [
            (name, value)
            for name, values in changelist.get_filters_params().items()
            if name != self.parameter_name
            for value in values
        ]
        yield {
            "name": self.parameter_name,
            "value": self.value() or "",
            "kept": kept,
            "cleared": changelist.get_query_string(remove=[str(self.parameter_name)]),
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        given = (self.value() or "").strip()
        return self.narrow(queryset, given) if given else queryset

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        """Return the rows that belong to what was typed. Raises IncorrectLookupParameters."""
        raise NotImplementedError


class ByRun(ByIdentity):
    """Rows of one run."""

    title = "run"
    parameter_name = "run"

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        return rows.filter(run_id=read_uuid(given))


class ByPlay(ByIdentity):
    """Records of one play, by its number."""

    title = "play"
    parameter_name = "play"
    is_typed = False

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        return rows.filter(play_id=read_number(given))


class ByRevision(ByIdentity):
    """Runs of one revision, by its number in the administration."""

    title = "revision"
    parameter_name = "revision"
    is_typed = False

    def narrow(self, rows: QuerySet[Any], given: str) -> QuerySet[Any]:
        return rows.filter(revision_id=read_number(given))


class Within(SimpleListFilter):
    """A choice that is offered once the list is narrowed to one of ``within``."""

    within: ClassVar[tuple[str, ...]]

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[tuple[Any, str]]:
        if not any(request.GET.get(name) for name in self.within):
            return []
        return self.options(model_admin.model)

    def options(self, model: type[Model]) -> list[tuple[Any, str]]:
        """Return the choices: by default those of the field of the parameter's name."""
        field = model._meta.get_field(str(self.parameter_name))
        return list(getattr(field, "choices", None) or [])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        return queryset.filter(**{str(self.parameter_name): chosen}) if chosen else queryset


class StatusWithinRun(Within):
    """The status of a run's records."""

    title = "status"
    parameter_name = "status"
    within = ("run",)


def read_uuid(given: str) -> uuid.UUID:
    """Return a typed UUID. Raises IncorrectLookupParameters, which shows the list unfiltered."""
    try:
        return uuid.UUID(given)
    except ValueError as error:
        raise IncorrectLookupParameters from error


def read_number(given: str) -> int:
    """Return a typed id. Raises IncorrectLookupParameters, which shows the list unfiltered."""
    try:
        return int(given)
    except ValueError as error:
        raise IncorrectLookupParameters from error


def read_uuid_or_none(given: str) -> uuid.UUID | None:
    """Return a typed UUID, or None where it is none."""
    try:
        return uuid.UUID(given)
    except ValueError:
        return None
