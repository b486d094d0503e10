"""The API of waits: what a run waits for, and answers to it.

A wait is answered by a member who may run plays, or by whoever holds the wait's own token.
"""

from __future__ import annotations

from typing import Annotated, Any, cast
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Router, Status
from ninja.security import APIKeyQuery, HttpBearer, django_auth
from pydantic import Field

from plays.api.schemas import Answer, AnswerableWait, AnswerIn, Refusal, Waits
from plays.models import Boundary, Role
from plays.models import Run as RunRecord
from plays.selectors import waits as selectors
from plays.selectors.access import may, require_role, run_for_user, wait_for_user
from plays.services import waittokens
from plays.services.waits import Answered, event_answer, wait_answer

router = Router(tags=["waits"])
run_router = Router(tags=["waits"])

REFUSED = {403: Refusal, 404: Refusal, 422: Refusal}
BIGGEST = 2**63 - 1


class TokenBearer(HttpBearer):
    """The token of a wait, as ``Authorization: Bearer``."""

    def authenticate(self, request: HttpRequest, token: str) -> int:
        return _wait_of(token)


class TokenQuery(APIKeyQuery):
    """The token of a wait, as ``?token=``."""

    param_name = "token"

    def authenticate(self, request: HttpRequest, key: str | None) -> int | None:
        return None if key is None else _wait_of(key)


BY_TOKEN = [TokenBearer(), TokenQuery(), django_auth]


@router.get("/{int:wait_id}", auth=BY_TOKEN, response={200: AnswerableWait, 404: Refusal})
def wait_detail(request: HttpRequest, wait_id: int) -> dict[str, Any]:
    """Give what is asked: message, form, deadline, status."""
    wait = _wait(request, wait_id)
    state = selectors.wait_state(wait)
    if _token_of(request) is not None:
        is_over = state["status"] != "open"
        return {**state, "place": None} | ({"message": None, "form": None} if is_over else {})
    return _answerable(request, state, may(request.user, wait.run.workspace_id, Role.RUNNER))


@router.post("/{int:wait_id}", auth=BY_TOKEN, response={200: Answer, 409: Answer, **REFUSED})
def answer(request: HttpRequest, wait_id: int, given: AnswerIn) -> Status[dict[str, Any]]:
    """Answer a wait. The same answer may be sent again; another one, or one too late, gets 409."""
    wait = _wait(request, wait_id)
    if _token_of(request) is not None:
        return _told(wait_answer(wait, given.payload))
    require_role(request.user, wait.run.workspace_id, Role.RUNNER)
    return _told(wait_answer(wait, given.payload, by=_person(request)))


@run_router.get("/{uuid:run_id}/waits", response={200: Waits, 404: Refusal})
def waits(
    request: HttpRequest,
    run_id: UUID,
    first: Annotated[int, Field(ge=0, lt=2**31)] = 0,
    count: Annotated[int, Field(ge=0, le=selectors.PAGE_MAX)] = 50,
    only_open: bool = False,
) -> dict[str, Any]:
    """Give what a run waits for, open waits first; with a token each, for those who may answer."""
    run = run_for_user(request.user, run_id)
    may_answer = may(request.user, run.workspace_id, Role.RUNNER)
    found = selectors.waits_listed(run, only_open=only_open)
    states = [selectors.wait_state(wait) for wait in found[first : first + count]]
    return {
        "total": found.count(),
        "first": first,
        "waits": [_answerable(request, state, may_answer) for state in states],
    }


@run_router.post(
    "/{uuid:run_id}/events/{path:event}", response={200: Answer, 409: Answer, **REFUSED}
)
def event(
    request: HttpRequest, run_id: UUID, event: str, given: AnswerIn
) -> Status[dict[str, Any]]:
    """Answer every open wait of the run for this event; without one it is kept for the next."""
    run: RunRecord = run_for_user(request.user, run_id)
    require_role(request.user, run.workspace_id, Role.RUNNER)
    root = selectors.root_of(run)
    return _told(event_answer(root, event, given.payload, by=_person(request)))


def _wait_of(token: str) -> int:
    wait_id = waittokens.read(token)
    if wait_id is None:
        raise Http404
    return wait_id


def _token_of(request: HttpRequest) -> int | None:
    """Give the wait that the request's token opens, None for a person's request."""
    opened = request.auth  # type: ignore[attr-defined]  # what authenticate() gave
    return opened if isinstance(opened, int) else None


def _wait(request: HttpRequest, wait_id: int) -> Boundary:
    """Give a wait that the request's person or token may see. Raises Http404."""
    opened = _token_of(request)
    if opened is None:
        if wait_id > BIGGEST:
            raise Http404
        return wait_for_user(request.user, wait_id)
    wait = selectors.wait_by_id(wait_id) if opened == wait_id else None
    if wait is None:
        raise Http404
    return wait


def _answerable(request: HttpRequest, state: dict[str, Any], may_answer: bool) -> dict[str, Any]:
    """Add how a system outside answers, where this person may hand that on."""
    if not may_answer or state["status"] != "open" or state["event"] is None:
        return state
    token = waittokens.issue(state["id"])
    page = request.build_absolute_uri(reverse("wait-answer", args=[state["id"]]))
    return {
        **state,
        "answer_url": request.build_absolute_uri(reverse("api:answer", args=[state["id"]])),
        "page": f"{page}?token={token}",
        "token": token,
    }


def _told(answered: Answered) -> Status[dict[str, Any]]:
    told = {"detail": answered.sentence, "waits": answered.waits}
    return Status(200 if answered.is_accepted else 409, told)


def _person(request: HttpRequest) -> AbstractBaseUser:
    return cast("AbstractBaseUser", request.user)
