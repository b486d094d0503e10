"""Changes that a person asks for from a list or a detail page: confirmed first, then done and logged.

Each is one service called once per record. The service is the judge of whether it may be done now; what it
refuses is shown as its sentence, and only what was done is in the log. Record and log entry are
written in one transaction, so nothing is done without a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from plays.admin.display import detail_address
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.services.refusals import Refused

AT_ONCE = 500
"""Records that one confirmation can stand for: more cannot be read before saying yes."""


@dataclass(frozen=True)
class Change:
    """Something that may be asked for a record.

    ``label`` is the button's word, ``consequence`` what the confirmation says will happen, ``done`` the
    log's sentence. ``do`` raises Refused. ``suits`` tells whether offering it makes sense.
    """

    name: str
    label: str
    consequence: str
    done: str
    do: Callable[[Any], object]
    suits: Callable[[Any], bool]


class ChangingAdmin(EngineOwnedAdmin):
    """A read-only page whose records take some changes, for whoever holds the change permission."""

    changes: ClassVar[tuple[Change, ...]] = ()
    change_form_template = "admin/plays/change_form_with_changes.html"

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Whether this person may ask for changes."""
        options = self.opts
        return request.user.has_perm(f"{options.app_label}.change_{options.model_name}")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        if self.has_operate_permission(request):
            for change in self.changes:
                label = f"{change.label} the selected {self.opts.verbose_name_plural}"
                actions[change.name] = (partial(_from_list, change=change), change.name, label)
        return actions

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_ask"
        view = self.admin_site.admin_view(self.ask)
        return [
            path("<path:object_id>/ask/<slug:change_name>/", view, name=name),
            *super().get_urls(),
        ]

    def ask(self, request: HttpRequest, object_id: str, change_name: str) -> HttpResponse:
        """Show or take the confirmation of a change of one record."""
        record = self.operable(request, object_id)
        change = next((change for change in self.changes if change.name == change_name), None)
        if change is None:
            raise Http404
        return self.confirm(request, change, [record], back=detail_address(record))

    def operable(self, request: HttpRequest, object_id: str) -> Any:
        """Return a record that this person may change. Raises PermissionDenied or Http404."""
        if not self.has_operate_permission(request):
            raise PermissionDenied
        record = self.get_object(request, object_id)
        if record is None:
            raise Http404
        return record

    def confirm(
        self, request: HttpRequest, change: Change, records: Sequence[Any], *, back: str
    ) -> HttpResponse:
        """Do what was confirmed and go back, or ask for confirmation."""
        if request.method == "POST" and "confirmed" in request.POST:
            self._carry_out(request, change, records)
            return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{change.label}?",
            "opts": self.opts,
            "change": change,
            "records": records,
            "checkbox": ACTION_CHECKBOX_NAME,
            "back": back,
        }
        return TemplateResponse(request, "admin/plays/confirm.html", context)

    def _carry_out(self, request: HttpRequest, change: Change, records: Sequence[Any]) -> None:
        for record in records:
            try:
                with transaction.atomic():
                    change.do(record)
                    self.log_change(request, record, change.done)
            except Refused as refusal:
                self.message_user(request, f"{record}: {refusal}", messages.WARNING)
            else:
                self.message_user(request, f"{record}: {change.done}", messages.SUCCESS)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        record = kwargs.get("obj")
        if record is not None and self.has_operate_permission(request):
            context["change_buttons"] = self.buttons(record)
        return super().render_change_form(request, context, *args, **kwargs)

    def buttons(self, record: Any) -> list[tuple[str, str]]:
        """Return the label and address of each change that makes sense for a record now."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_ask"
        return [
            (change.label, reverse(name, args=(record.pk, change.name)))
            for change in self.changes
            if change.suits(record)
        ]


def _from_list(
    page: ChangingAdmin, request: HttpRequest, rows: QuerySet[Any], *, change: Change
) -> HttpResponse | None:
    records = list(rows[: AT_ONCE + 1])
    if len(records) > AT_ONCE:
        page.message_user(request, f"Choose at most {AT_ONCE} at once.", messages.WARNING)
        return None
    return page.confirm(request, change, records, back=request.get_full_path())
