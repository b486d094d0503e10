"""The ``Gateway`` port: tool calls as HTTP requests to the gateway.

The host adds what a play process must not have: the executor token and the calls' keys. A gateway
that does not answer is waited for, because it restarts; the same keys make repeating harmless.
Everything else that it says becomes one outcome per member.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from httpx_aiohttp import AiohttpTransport

from plays.gateway.keys import call_key
from plays.playhost.library import StoredLibrary
from plays.playhost.outcomes import NoAnswer, member_outcomes
from plays.playhost.ticket import Ticket
from plays.tools import catalogue
from runtime.errors import PlayError
from runtime.ports import Member, MemberOutcome
from runtime.tools import ToolSpec
from runtime.wire import dumps

logger = logging.getLogger(__name__)

Json = Any

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 300.0
FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 5.0


def gateway_client(url: str) -> httpx.AsyncClient:
    """Give the client of one host, for ``async with``.

    aiohttp carries the requests, because httpx' own transport is several times slower with many
    requests in flight.
    """
    return httpx.AsyncClient(
        base_url=url,
        transport=AiohttpTransport(limits=httpx.Limits(max_connections=None)),
        timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
        trust_env=False,
    )


class GatewayCalls:
    """Makes one run's calls. ``say`` gets a sentence when the gateway goes away and comes back."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        ticket: Ticket,
        library: StoredLibrary,
        say: Callable[[str], None],
    ) -> None:
        self._client = client
        self._ticket = ticket
        self._library = library
        self._say = say
        self._is_away = False
        self._headers = {
            "authorization": f"Bearer {ticket.token}",
            "content-type": "application/json",
            "x-deepline-include-tool-metadata": "true",
        }

    async def execute(self, tool: str, members: list[Member]) -> list[MemberOutcome]:
        """Make one request for these calls, and wait for as long as the gateway is away."""
        found = await self._library.specs([tool])
        if not found:
            raise PlayError(f"there is no tool {tool!r}")
        if len(members) > 1 and not found[0].batch:
            raise PlayError(f"calls of {tool} cannot travel together")
        keys = [self._key(found[0], member) for member in members]
        request = self._request(found[0], members, keys)
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                return await self._answer(request, keys)
            except NoAnswer as error:
                self._tell_away(str(error))
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    def _key(self, spec: ToolSpec, member: Member) -> str:
        name = f"{self._ticket.root}/{member['name']}"
        version = catalogue().version(spec.id)
        return call_key(self._ticket.workspace, spec, version, name, member["input"])

    def _request(self, spec: ToolSpec, members: list[Member], keys: list[str]) -> httpx.Request:
        oldest = self._ticket.oldest_answer(members[0].get("stale_after_seconds"))
        body: dict[str, Json] = {"fresh_after": oldest.isoformat()} if oldest else {}
        if len(members) == 1:
            headers = {**self._headers, "idempotency-key": keys[0]}
            if members[0]["waterfall"]:
                headers["x-deepline-waterfall"] = "1"
            return self._post(spec.id, headers, body | {"payload": members[0]["input"]})
        assert spec.batch is not None
        requests = [
            {"key": key, "input": member["input"], "waterfall": member["waterfall"]}
            for key, member in zip(keys, members, strict=True)
        ]
        body["payload"] = {"requests": requests}
        return self._post(spec.batch.operation, self._headers, body)

    def _post(self, name: str, headers: Mapping[str, str], body: Json) -> httpx.Request:
        return self._client.build_request(
            "POST", f"/api/v2/integrations/{name}/execute", headers=headers, content=dumps(body)
        )

    async def _answer(self, request: httpx.Request, keys: list[str]) -> list[MemberOutcome]:
        try:
            answer = await self._client.send(request)
        except httpx.TransportError as error:
            raise NoAnswer(type(error).__name__) from error
        outcomes = member_outcomes(answer.status_code, answer.headers, answer.content, keys)
        if self._is_away:
            self._is_away = False
            self._say("the gateway answers again")
        return outcomes

    def _tell_away(self, why: str) -> None:
        if not self._is_away:
            self._is_away = True
            self._say(f"the gateway does not answer ({why}); calls wait until it does")
