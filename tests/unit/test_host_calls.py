"""What a host asks the gateway."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import httpx
import pytest

from plays.playhost import calls
from plays.playhost.calls import GatewayCalls
from plays.playhost.library import StoredLibrary
from plays.playhost.ticket import Ticket
from plays.stores import Participant
from plays.tools import catalogue
from runtime.errors import PlayError
from runtime.ports import Member
from runtime.tools import ToolSpec

A = "sandbox_a_email_finder"
HIT = {"status": "completed", "result": {"email": "a@b.example"}, "credits": 0.2}
RUN = UUID(int=7)


class Library:
    async def specs(self, ids: list[str]) -> list[ToolSpec]:
        return [spec for name in ids if (spec := catalogue().spec(name))]


@dataclass
class Host:
    """A host whose gateway answers from a list; None is an answer that breaks off."""

    answers: list[Any]
    asked: list[httpx.Request] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    async def execute(self, tool: str, *members: Member) -> Any:
        async with httpx.AsyncClient(
            base_url="http://gateway.example", transport=httpx.MockTransport(self._answer)
        ) as client:
            library = cast("StoredLibrary", Library())
            return await GatewayCalls(client, TICKET, library, self.said.append).execute(
                tool, list(members)
            )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        told = self.answers.pop(0)
        if told is None:
            raise httpx.ReadError("the connection broke")
        return httpx.Response(told.get("http", 200), json=told)


TICKET = Ticket(
    participant=Participant(RUN, 3),
    root=RUN,
    workspace=1,
    form={"id": str(RUN), "play": "emails"},
    source={},
    input={},
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
    fresh_after=None,
    token="signed",
)


def member(number: int = 1, **changes: Any) -> Member:
    told = {"name": f"r/{number}", "input": {"n": number}, "waterfall": False, **changes}
    return cast("Member", told)


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "FIRST_WAIT_SECONDS", 0.0)


async def test_a_call_is_a_post_to_the_tools_own_path_with_token_and_key() -> None:
    # rule 1.7, 15.2
    host = Host([HIT, HIT])
    await host.execute(A, member(1))
    await host.execute(A, member(2))
    first, second = host.asked
    assert (first.method, first.url.path) == ("POST", f"/api/v2/integrations/{A}/execute")
    assert first.headers["authorization"] == "Bearer signed"
    assert first.headers["x-deepline-include-tool-metadata"] == "true"
    assert json.loads(first.content) == {"payload": {"n": 1}}
    keys = [request.headers["idempotency-key"] for request in (first, second)]
    assert len(set(keys)) == 2
    assert all(len(key) == 64 for key in keys)


async def test_a_batch_is_a_post_to_its_operation_with_a_key_for_each_member() -> None:
    # rule 1.7, 15.2
    host = Host([{"results": []}])
    outcomes = await host.execute(A, member(1), member(2))
    (request,) = host.asked
    assert request.url.path == f"/api/v2/integrations/{A}_batch/execute"
    assert request.headers["x-deepline-include-tool-metadata"] == "true"
    asked = json.loads(request.content)["payload"]["requests"]
    assert [each["input"] for each in asked] == [{"n": 1}, {"n": 2}]
    assert asked[0]["key"] != asked[1]["key"]
    assert [outcome["kind"] for outcome in outcomes] == ["unattempted"] * 2


async def test_what_a_result_is_called_is_not_taken_from_its_envelope() -> None:
    # rule 10.8
    host = Host([HIT | {"_metadata": {"tool": {"resultIdentityGetters": {"email": ["evil"]}}}}])
    (found,) = await host.execute(A, member())
    assert found["result"] == HIT["result"]


async def test_calls_without_a_batch_form_are_never_sent_together() -> None:
    host = Host([])
    with pytest.raises(PlayError, match="cannot travel together"):
        await host.execute("sandbox_c_email_finder", member(1), member(2))
    assert host.asked == []


async def test_a_gateway_that_is_away_is_waited_for_under_the_same_key() -> None:
    host = Host([None, {"http": 503, "error": {"code": "store_unavailable"}}, HIT])
    (found,) = await host.execute(A, member())
    assert found["kind"] == "hit"
    assert len({request.headers["idempotency-key"] for request in host.asked}) == 1
    assert len(host.said) == 2
