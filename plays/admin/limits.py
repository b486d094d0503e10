"""Raising limits of one run: a form with what is used and allowed, then a confirmation, then the log.

The gateway reads a run's limits with every reservation, so what is raised acts at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Q, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from plays.admin.confirming import ChangingAdmin
from plays.admin.display import detail_address
from plays.models import GovernanceProfile, MapFrame, Run, RunStatus, RunUsage
from plays.services.limits import Limit, Raised, limits_compared, run_limits_raise
from plays.services.refusals import Refused

USED = {
    "max_tool_call_count": "tool_calls",
    "max_retry_count": "retries",
    "max_waterfall_step_executions": "waterfall_steps",
    "max_play_call_count": "play_calls",
    "max_descendants": "descendants",
    "max_credits": "credits_spent",
}
"""Which of a run's counts a limit holds back."""

PER_ROW = {
    "max_tool_call_count": "max_tool_calls_per_row",
    "max_retry_count": "max_retries_per_row",
    "max_play_call_count": "max_play_calls_per_row",
    "max_descendants": "max_descendants_per_row",
}
"""Which limit is added to another for each row of the run's maps."""


HELD_BY_WORKER = frozenset(
    {
        "max_play_call_depth",
        "max_concurrent_play_calls",
        "max_concurrent_tool_calls",
        "max_runtime_seconds",
    }
)
"""Limits that a worker reads when it takes a run up, not the gateway with each reservation."""

GREATEST = 2**31 - 1
"""The greatest number that a profile can hold, so also a run."""

MAY_BE_ABSENT = frozenset(
    field.name for field in GovernanceProfile._meta.concrete_fields if field.null
)


class LimitsForm(forms.Form):
    """One number per limit of a run; a limit that is not there yet cannot be raised and has none."""

    def __init__(self, run: Run, given: Mapping[str, Any] | None = None) -> None:
        super().__init__(given)
        self.run = run
        self._usage = RunUsage.objects.filter(run=run).first()
        rows = _sealed_rows(run)
        for name in sorted(run.limits, key=_place):
            if run.limits[name] is not None:
                self.fields[name] = _limit_field(name, run.limits[name], rows)

    @property
    def lines(self) -> list[tuple[forms.BoundField, Any]]:
        """The fields, each with how much of its limit is used where that is counted."""
        used = {name: getattr(self._usage, count, None) for name, count in USED.items()}
        return [(self[name], used.get(name)) for name in self.fields]

    @property
    def absent(self) -> list[str]:
        """The names of what this run has no limit for."""
        return [name for name, value in self.run.limits.items() if value is None]

    def clean(self) -> dict[str, Any]:
        """Check by the rules of the service that at least one limit is raised, and none lowered."""
        given = super().clean() or {}
        if self.errors:
            return given
        try:
            raised = limits_compared(self.run, self.limits)
        except Refused as refusal:
            raise forms.ValidationError(str(refusal)) from refusal
        if not raised:
            raise forms.ValidationError(
                "Nothing was raised: give at least one limit a higher value."
            )
        return given

    @property
    def limits(self) -> dict[str, Limit]:
        """The limits as given, each of the kind that the run stores."""
        return {name: _stored(self.cleaned_data[name]) for name in self.fields}

    @property
    def raised(self) -> list[Raised]:
        """What confirming will raise; of a valid form."""
        return limits_compared(self.run, self.limits)


def limits_view(page: ChangingAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the limits of a run, then what would be raised, then raise it."""
    run: Run = page.operable(request, object_id)
    form = LimitsForm(run, request.POST if request.method == "POST" else None)
    is_valid = form.is_bound and form.is_valid()
    if is_valid and "confirmed" in request.POST:
        return _raise(page, request, form)
    context = {
        **page.admin_site.each_context(request),
        "title": "Raise limits",
        "subtitle": str(run),
        "opts": page.opts,
        "run": run,
        "form": form,
        "is_asking": is_valid and "change" not in request.POST,
        "back": detail_address(run),
    }
    return TemplateResponse(request, "admin/plays/run/limits.html", context)


def _raise(page: ChangingAdmin, request: HttpRequest, form: LimitsForm) -> HttpResponse:
    try:
        with transaction.atomic():
            raised = run_limits_raise(form.run, form.limits)
            told = f"Raised {', '.join(map(str, raised))}."
            page.log_change(request, form.run, told)
    except Refused as refusal:
        page.message_user(request, str(refusal), messages.WARNING)
        return HttpResponseRedirect(request.path)
    page.message_user(request, f"{told} It holds from the next reservation on.", messages.SUCCESS)
    _tell_what_next(page, request, form.run)
    return HttpResponseRedirect(detail_address(form.run))


def _tell_what_next(page: ChangingAdmin, request: HttpRequest, run: Run) -> None:
    if run.status == RunStatus.PAUSED:
        why = " for a limit" if run.stop_reason == "limit" else ""
        page.message_user(request, f"This run is paused{why}: it can be resumed now.")


def _limit_field(name: str, value: Limit, rows: int) -> forms.Field:
    kind = forms.IntegerField if isinstance(value, int) else forms.DecimalField
    return kind(
        label=name,
        initial=value,
        min_value=0,
        max_value=GREATEST,
        required=name not in MAY_BE_ABSENT,
        help_text=_told(name, rows),
    )


def _place(name: str) -> tuple[int, str]:
    """Sort as a profile's page does; the database keeps the names of JSON in an order of its own."""
    order = [field.name for field in GovernanceProfile._meta.concrete_fields]
    return (order.index(name) if name in order else len(order), name)


def _sealed_rows(run: Run) -> int:
    """Count what limits per row are multiplied by: the rows of all loaded maps of the run's tree."""
    frames = MapFrame.objects.filter(Q(run=run) | Q(run__root=run), is_sealed=True)
    return frames.aggregate(rows=Sum("total"))["rows"] or 0


def _told(name: str, rows: int) -> str:
    """Return what stands below a limit's name."""
    sentences = []
    if name in PER_ROW:
        sentences.append(f"{PER_ROW[name]} is added for each of {rows:,} rows.")
    if name in HELD_BY_WORKER:
        sentences.append("Acts when a worker next takes the run up.")
    if name in MAY_BE_ABSENT:
        sentences.append("Empty: no limit any more.")
    return " ".join(sentences)


def _stored(given: int | Decimal | None) -> Limit:
    return float(given) if isinstance(given, Decimal) else given
