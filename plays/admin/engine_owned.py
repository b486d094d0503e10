"""The base of every page of a table that the engine, the gateway or a service writes: reading only.

Whatever a person may change of such a record goes through an action that calls a service. The lists are
made for millions of rows: no count, no column that is not shown, order and search by index only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import BinaryField, Field, JSONField, Model, Q, QuerySet, TextField
from django.db.models.fields.related import ForeignKey
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst

from plays.admin.display import pretty, preview_name, start_of, whole_text
from plays.admin.paging import BoundedPaginator

# Django's admin classes take their model as a parameter for the type checker only.
if TYPE_CHECKING:
    Page = admin.ModelAdmin[Any]
    Table = admin.TabularInline[Any, Any]
else:
    Page = admin.ModelAdmin
    Table = admin.TabularInline


class LightList(ChangeList):
    """A list that leaves heavy columns in the database and carries the beginning of some."""

    model_admin: EngineOwnedAdmin

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> QuerySet[Any]:
        page = self.model_admin
        previews = {preview_name(field): start_of(field) for field in page.previews}
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        related = heavy_columns(page.model, page.list_select_related)
        light = rows.defer(*page.previews, *page.left_out_of_list, *related)
        return cast("QuerySet[Any]", light.annotate(**previews))


class ReadOnly:
    """No record is added, changed or deleted here, also not by an action or a crafted request."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class EngineOwnedAdmin(ReadOnly, Page):
    """A read-only page with a list that stays fast.

    ``search_fields`` are compared exactly, each with what it can hold: a run's UUID finds its records in
    a list that also searches by number. ``previews`` are columns of which the list shows the beginning,
    ``left_out_of_list`` those that only the detail page shows.
    """

    previews: ClassVar[tuple[str, ...]] = ()
    left_out_of_list: ClassVar[tuple[str, ...]] = ()

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 100
    list_max_show_all = 100
    sortable_by: ClassVar[tuple[str, ...]] = ()
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    list_select_related: ClassVar[tuple[str, ...]] = ()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = capfirst(str(self.opts.verbose_name_plural))
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LightList

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Give the declared sets, with JSON indented and long texts with their line breaks."""
        return [
            (title, {**options, "fields": [self._shown_whole(name) for name in options["fields"]]})
            for title, options in super().get_fieldsets(request, obj)
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        return (queryset.filter(self.matching(term, request)) if term else queryset), False

    def matching(self, term: str, request: HttpRequest) -> Q:
        """Return the condition that a search stands for; nothing matches what no field can hold."""
        wanted = Q(pk__in=[])
        for name in self.search_fields:
            field = self.opts.get_field(name)
            try:
                wanted |= Q(**{name: _read(field, term)})
            except ValidationError:
                continue
        return wanted

    def _shown_whole(self, name: Any) -> Any:
        field = next((field for field in self.opts.fields if field.name == name), None)
        if isinstance(field, JSONField):
            return pretty(field.name)
        return whole_text(field.name) if isinstance(field, TextField) else name


def heavy_columns(model: type[Model], paths: Any) -> Iterator[str]:
    """Name the columns of related records that a list loads with its own and never shows."""
    for path in paths:
        related: Any = model
        for index, step in enumerate(path.split("__"), start=1):
            related = related._meta.get_field(step).related_model
            place = "__".join(path.split("__")[:index])
            for field in related._meta.concrete_fields:
                if isinstance(field, BinaryField | JSONField | TextField):
                    yield f"{place}__{field.name}"


def _read(field: Any, term: str) -> Any:
    holder: Field[Any, Any] = field.target_field if isinstance(field, ForeignKey) else field
    return holder.to_python(term)


class ReadOnlyTable(ReadOnly, Table):
    """Records that belong to the one shown above."""

    extra = 0
    max_num = 0
    can_delete = False
    classes = ("plays-table",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields or ()
