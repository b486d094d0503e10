"""Waits without an engine, for tests of what answers and shows them."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from plays.models import Boundary
from plays.services import waittokens
from tests.fake_runs import FakeRun

FORM = {
    "type": "object",
    "required": ["approved"],
    "properties": {
        "approved": {"type": "boolean", "title": "Approve"},
        "note": {"type": "string", "title": "Note", "maxLength": 100},
    },
}
_numbers = itertools.count(1)


def make_wait(
    fake: FakeRun, position: int | None = None, *, seconds: float = 3_600, **columns: Any
) -> Boundary:
    """Register a wait of a run for the event "ok": of a row, or of the top level."""
    told = {"event": "ok", "message": "May it go?"} | columns
    return Boundary.objects.create(
        run=fake.run,
        name=f"wait-{next(_numbers)}",
        frame=None if position is None else fake.frame,
        position=position,
        due_at=timezone.now() + timedelta(seconds=seconds),
        **told,
    )


def post(client: Client, address: str, payload: Any, **headers: str) -> Any:
    """Answer over the API."""
    body = json.dumps({"payload": payload})
    return client.post(address, body, content_type="application/json", headers=headers)


def answer(client: Client, wait: Boundary, payload: Any = True, **headers: str) -> Any:
    """Answer a wait over the API as this client's person."""
    return post(client, f"/api/v1/waits/{wait.pk}", payload, **headers)


def by_token(wait: Boundary, of: Boundary | None = None) -> dict[str, str]:
    """Give the header with a wait's own token, or with another's."""
    return {"Authorization": f"Bearer {waittokens.issue((of or wait).pk)}"}
