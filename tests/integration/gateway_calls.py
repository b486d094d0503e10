"""Requests to a gateway that runs as a process, and what its ledger then holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx

from plays.gateway.tokens import issue

if TYPE_CHECKING:
    from plays.models import Revision

A = "sandbox_a_email_finder"
A_BATCH = f"{A}_batch"
C = "sandbox_c_email_finder"
ADA = {"first_name": "Ada", "last_name": "Stone", "domain": "brook.example"}  # a hit of A
BOB = {"first_name": "Bob", "last_name": "Woods", "domain": "hill.example"}


def person(number: int, suffix: str = "example") -> dict[str, str]:
    return {"first_name": f"Ann{number}", "last_name": "Lee", "domain": f"d{number}.{suffix}"}


class Calls:
    """A run that is running, and requests made in its name."""

    def __init__(self, gateway_url: str, run: UUID | None = None) -> None:
        self.url = gateway_url
        self.run = run or running_run()
        self.token = issue(str(self.run), 1)

    def another_run(self) -> Calls:
        """Give a later run of the same play, in the same workspace."""
        from plays.models import Run

        return Calls(self.url, started(Run.objects.get(pk=self.run).revision))

    def single(self, tool: str, given: Any, key: str, **headers: str) -> httpx.Response:
        told = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key, **headers}
        return self._post(tool, {"payload": given}, told)

    def batch(self, tool: str, members: dict[str, Any], **headers: str) -> httpx.Response:
        requests = [{"key": key, "input": given} for key, given in members.items()]
        told = {"Authorization": f"Bearer {self.token}", **headers}
        return self._post(tool, {"payload": {"requests": requests}}, told)

    def results(self, tool: str, members: dict[str, Any]) -> dict[str, dict[str, Any]]:
        answer = self.batch(tool, members)
        assert answer.status_code == 200, answer.text
        return {result["key"]: result for result in answer.json()["results"]}

    def provider(self, tool: str) -> tuple[int, int]:
        """Give how many requests and members of a tool have reached the provider."""
        tools = httpx.get(f"{self.url}/sandbox/stats").json()["tools"]
        counts = tools.get(tool, {"requests": 0, "members": 0})
        return counts["requests"], counts["members"]

    def _post(self, tool: str, body: Any, headers: dict[str, str]) -> httpx.Response:
        url = f"{self.url}/api/v2/integrations/{tool}/execute"
        return httpx.post(url, json=body, headers=headers, timeout=30)


def running_run() -> UUID:
    """Give a run of a play of its own, in a workspace of its own."""
    from plays.models import Play, Revision, Workspace

    workspace = Workspace.objects.create(name=f"w{time.monotonic_ns()}")
    play = Play.objects.create(workspace=workspace, name="p")
    return started(
        Revision.objects.create(
            play=play,
            number=1,
            format="module",
            filename="p.py",
            source=b"",
            digest="d",
            pipeline={},
        )
    )


def started(revision: Revision) -> UUID:
    from django.db.models.functions import Now

    from plays.models import Run, RunParticipant, RunUsage

    play = revision.play
    run = Run.objects.create(
        workspace=play.workspace, play=play, revision=revision, status="running", limits={}
    )
    RunUsage.objects.create(run=run)
    RunParticipant.objects.create(run=run, epoch=1, lease_until=Now())
    return run.pk


def set_run(run: UUID, **columns: Any) -> None:
    from plays.models import Run

    Run.objects.filter(pk=run).update(**columns)


def usage(run: UUID) -> Any:
    from plays.models import RunUsage

    return RunUsage.objects.get(pk=run)


def ledger(key: str) -> Any:
    from plays.models import ToolCall

    return ToolCall.objects.get(key=key)


def key(number: int) -> str:
    return f"{number:064d}"
