"""Where runs wait, and the answers that came: waits are answered or ended here, the rest is to look at."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from plays.admin.confirming import Change, ChangingAdmin
from plays.admin.display import detail_address, mark, preview
from plays.admin.engine_owned import EngineOwnedAdmin
from plays.admin.execution import RUN_OR_NUMBER
from plays.admin.filters import ByRun, StatusWithinRun
from plays.forms import AnswerForm
from plays.models import Boundary, EarlyAnswer, LateAnswer
from plays.selectors.waits import wait_status
from plays.services.refusals import InputInvalid, Refused
from plays.services.waits import wait_answer, wait_end


def _is_open(wait: Boundary) -> bool:
    return wait.event is not None and wait_status(wait) == Boundary.Status.OPEN


END = Change(
    name="end",
    label="End now",
    consequence=(
        "The play goes on at once as if the deadline had come. An answer that comes later is late: it is"
        " kept to be seen and changes nothing."
    ),
    done="Ended before its deadline.",
    do=wait_end,
    suits=_is_open,
)


@admin.register(Boundary)
class BoundaryAdmin(ChangingAdmin):
    """Sleeps, and waits for an event, each with its deadline; the run is the root of its tree."""

    changes = (END,)
    list_display = ("id", "run", preview("name"), "event", "state", "due_at", "answered_at")
    list_filter = (ByRun, StatusWithinRun)
    list_select_related = ("run__play",)
    previews = ("name",)
    left_out_of_list = ("message", "form", "payload")
    search_fields = ("id", "run")
    search_help_text = RUN_OR_NUMBER
    fieldsets = (
        (None, {"fields": ("run", "name", "event", "state", "frame", "position")}),
        ("When", {"fields": ("created_at", "due_at", "answered_at", "answered_by")}),
        ("Asked and answered", {"fields": ("message", "form", "payload")}),
    )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(partial(answer_view, self))
        return [
            path("<path:object_id>/answer/", view, name="plays_boundary_answer"),
            *super().get_urls(),
        ]

    def buttons(self, record: Boundary) -> list[tuple[str, str]]:
        buttons = super().buttons(record)
        if _is_open(record):
            buttons.append(("Answer", reverse("admin:plays_boundary_answer", args=(record.pk,))))
        return buttons

    @admin.display(description="status")
    def state(self, wait: Boundary) -> SafeString:
        """Show the status as it is now: one whose deadline has come may not be marked so yet."""
        status = wait_status(wait)
        return mark(status, status.replace("_", " "))


@admin.register(EarlyAnswer)
class EarlyAnswerAdmin(EngineOwnedAdmin):
    """Events that came before anything waited for them; the next wait for one takes the oldest."""

    list_display = ("id", "run", "event", preview("payload"), "at", "by")
    list_filter = (ByRun,)
    list_select_related = ("run__play", "by")
    previews = ("payload",)
    search_fields = ("id", "run")
    search_help_text = RUN_OR_NUMBER
    fields = ("run", "event", "at", "by", "payload")


@admin.register(LateAnswer)
class LateAnswerAdmin(EngineOwnedAdmin):
    """Answers that came too late. They satisfied nothing and never will."""

    list_display = ("id", "run", "event", preview("why"), preview("payload"), "at", "by")
    list_filter = (ByRun,)
    list_select_related = ("run__play", "by")
    previews = ("why", "payload")
    search_fields = ("id", "run")
    search_help_text = RUN_OR_NUMBER
    fields = ("run", "boundary", "event", "why", "at", "by", "payload")


def answer_view(page: ChangingAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show what is asked, and take the answer; who answered is logged, the answer itself is not."""
    wait: Boundary = page.operable(request, object_id)
    form = AnswerForm(wait, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid() and _answered(page, request, wait, form):
        return HttpResponseRedirect(detail_address(wait))
    context: dict[str, Any] = {
        **page.admin_site.each_context(request),
        "title": "Answer",
        "subtitle": str(wait),
        "opts": page.opts,
        "wait": wait,
        "form": form,
        "back": detail_address(wait),
    }
    return TemplateResponse(request, "admin/plays/boundary/answer.html", context)


def _answered(page: ChangingAdmin, request: HttpRequest, wait: Boundary, form: AnswerForm) -> bool:
    """Answer and log; False where the payload does not fit, which the form then says."""
    by = cast("AbstractBaseUser", request.user)
    try:
        with transaction.atomic():
            answered = wait_answer(wait, form.payload(), by=by)
            if answered.waits:
                page.log_change(request, wait, "Answered.")
    except InputInvalid as invalid:
        form.tell(invalid.problems)
        return False
    except Refused as refusal:
        page.message_user(request, str(refusal), messages.WARNING)
        return True
    level = messages.SUCCESS if answered.is_accepted else messages.WARNING
    page.message_user(request, answered.sentence, level)
    return True
