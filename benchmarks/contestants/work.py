"""The work that every contestant does: rows through two providers in turn, 32 requests in flight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import aiohttp
import orjson

Json = Any

IN_FLIGHT = 32
FIRST, SECOND = "sandbox_a_email_finder", "sandbox_b_email_finder"
BATCH_SIZES = {FIRST: 100, SECOND: 50}


def rows(tag: str, n: int) -> Iterator[dict[str, str]]:
    """Give ``n`` people that no other tag has, so that nothing is known of them."""
    for i in range(n):
        yield {"first_name": f"first{i}", "last_name": tag, "domain": f"company{i}.example"}


class Provider:
    """The sandbox over HTTP, by the client that the gateway uses. For ``async with``."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    async def __aenter__(self) -> Provider:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, tool: str, given: Json) -> Json:
        """Ask about one row; None is a miss."""
        return await self._post(tool, given)

    async def ask_all(self, tool: str, given: list[Json]) -> list[Json]:
        """Ask about many rows in one request; the results in order."""
        told = await self._post(f"{tool}_batch", {"requests": given})
        results: list[Json] = told["results"]
        return results

    async def _post(self, operation: str, body: Json) -> Json:
        async with self._session.post(
            f"{self._url}/sandbox/{operation}",
            data=orjson.dumps(body),
            headers={"content-type": "application/json"},
        ) as reply:
            content = await reply.read()
            if reply.status != 200:
                raise RuntimeError(f"{operation}: HTTP {reply.status}")
            return orjson.loads(content)
