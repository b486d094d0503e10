"""RQ's queues, jobs and workers: django-rq's own pages, for those who may, confirmed and logged.

A queue holds only the ids of runs. Nothing is lost with a job, because the sweeper queues every run again
that should move and does not; what a run did is asked of the run, never of its jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django_rq.admin import QueueAdmin
from django_rq.models import Dashboard
from django_rq.queues import get_queue_by_index
from django_rq.urls import get_admin_urlpatterns, get_api_urlpatterns
from redis.exceptions import ConnectionError as NotReached
from rq.exceptions import NoSuchJobError

View = Callable[..., HttpResponseBase]

PREFIX = "django_rq_"

NOT_THERE = (NoSuchJobError, IndexError, AssertionError)
"""What django-rq raises for a job, a queue or (it asserts it) a worker that is gone."""

UNCONFIRMED = {
    "stop_job": "Its process is killed. The run that it moved goes on later from what is committed.",
    "requeue_job": "The job is put back in its queue.",
    "enqueue_job": "The job is put in its queue now.",
}
"""Pages whose buttons act at once in django-rq, and what they do."""


class QueuesAdmin(QueueAdmin):
    """The queues' pages under this site's login, permission and log.

    django-rq asks for nothing but staff; emptying a queue takes its permission ``django_rq.admin`` here.
    """

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may_operate(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_operate(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def may_operate(self, request: HttpRequest) -> bool:
        """Whether this person may look into the queues and act on them."""
        return request.user.has_perm("django_rq.admin")

    def get_urls(self) -> list[URLPattern]:
        """Give django-rq's pages, and none that would look for the table which its model has not."""
        list_name = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return [
            *get_admin_urlpatterns(name_prefix=PREFIX, view_wrapper=self.guarded),
            *self._figures(),
            path("", self.guarded(self.changelist_view), name=list_name),
        ]

    def _figures(self) -> list[URLPattern]:
        """Give the pages for programs; they follow this site's login, because no token is set."""
        patterns = get_api_urlpatterns(name_prefix=PREFIX)
        for pattern in patterns:
            pattern.callback = self.guarded(pattern.callback)
        return patterns

    def guarded(self, view: View) -> View:
        """Wrap one of django-rq's views."""

        @wraps(view)
        def guard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not self.may_operate(request):
                raise PermissionDenied
            request.current_app = self.admin_site.name
            if _must_be_confirmed(request):
                return self._confirmation(request)
            try:
                response = view(request, *args, **kwargs)
            except NOT_THERE as error:
                raise Http404("This job, queue or worker is not there, or gone by now.") from error
            except NotReached:
                return self._not_reached(request)
            if request.method == "POST" and response.status_code == 302:
                _log(request)
            return response

        return self.admin_site.admin_view(guard)

    def _confirmation(self, request: HttpRequest) -> HttpResponse:
        name = _view_name(request)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{_words(name)}?",
            "consequence": UNCONFIRMED[name],
            "subject": _subject(request),
        }
        return TemplateResponse(request, "admin/plays/confirm_job.html", context)

    def _not_reached(self, request: HttpRequest) -> HttpResponse:
        messages.error(request, "Valkey is out of reach, so its queues cannot be shown.")
        return HttpResponseRedirect(reverse("admin:index"))


def _must_be_confirmed(request: HttpRequest) -> bool:
    is_asked = request.method == "POST" and "confirmed" not in request.POST
    return is_asked and _view_name(request) in UNCONFIRMED


def _view_name(request: HttpRequest) -> str:
    match = request.resolver_match
    return (match.url_name or "").removeprefix(PREFIX) if match else ""


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _subject(request: HttpRequest) -> str:
    """Return which job, or which queue, a page is about."""
    match = request.resolver_match
    place: dict[str, Any] = match.kwargs if match else {}
    queue = get_queue_by_index(place["queue_index"]).name
    return f"job {place['job_id']} of {queue}" if "job_id" in place else f"queue {queue}"


def _log(request: HttpRequest) -> None:
    """Write to the log what a page of django-rq has done."""
    jobs = request.POST.getlist("job_ids")
    asked = request.POST.get("action", "") if jobs else _words(_view_name(request))
    LogEntry.objects.create(
        user_id=str(request.user.pk),
        content_type=ContentType.objects.get_for_model(Dashboard),
        object_repr=_subject(request)[:200],
        action_flag=CHANGE,
        change_message=f"{asked.capitalize()}: {', '.join(jobs)}." if jobs else f"{asked}.",
    )


admin.site.unregister(Dashboard)
admin.site.register(Dashboard, QueuesAdmin)
