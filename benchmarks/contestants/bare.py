"""The least that the work costs: a loop with the same batches, with or without a committed upsert each.

``python -m benchmarks.contestants.bare <plain|upsert> <provider> <tag> <rows> <database>``
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from itertools import islice

import orjson
import psycopg
from psycopg_pool import AsyncConnectionPool

from benchmarks.contestants.work import BATCH_SIZES, FIRST, IN_FLIGHT, SECOND, Json, Provider, rows

POOL_SIZE = 4

TABLE = """
CREATE TABLE IF NOT EXISTS found (
    tag text, position int, tool text, result jsonb, PRIMARY KEY (tag, position)
)
"""
UPSERT = """
INSERT INTO found (tag, position, tool, result)
SELECT %(tag)s, f.position, %(tool)s, f.result
FROM jsonb_to_recordset(%(found)s::jsonb) AS f (position int, result jsonb)
ON CONFLICT (tag, position) DO UPDATE SET tool = excluded.tool, result = excluded.result
"""

Member = tuple[int, Json]


class Loop:
    """One pass over the rows; what missed at the first provider goes on to the second."""

    def __init__(self, provider: Provider, tag: str, pool: AsyncConnectionPool | None) -> None:
        self._provider = provider
        self._tag = tag
        self._pool = pool
        self._permits = asyncio.Semaphore(IN_FLIGHT)
        self._missed: list[Member] = []

    async def run(self, n: int) -> None:
        members = enumerate(rows(self._tag, n))
        async with asyncio.TaskGroup() as tasks:
            while batch := list(islice(members, BATCH_SIZES[FIRST])):
                await self._permits.acquire()
                tasks.create_task(self._first(tasks, batch))
        for start in range(0, len(self._missed), BATCH_SIZES[SECOND]):
            await self._permits.acquire()
            await self._second(self._missed[start : start + BATCH_SIZES[SECOND]])

    async def _first(self, tasks: asyncio.TaskGroup, batch: list[Member]) -> None:
        results = await self._request(FIRST, batch)
        self._missed += [
            member for member, result in zip(batch, results, strict=True) if result is None
        ]
        while len(self._missed) >= BATCH_SIZES[SECOND]:
            full, self._missed = _cut(self._missed)
            await self._permits.acquire()
            tasks.create_task(self._second(full))

    async def _second(self, batch: list[Member]) -> None:
        await self._request(SECOND, batch)

    async def _request(self, tool: str, batch: list[Member]) -> list[Json]:
        try:
            results = await self._provider.ask_all(tool, [given for _, given in batch])
        finally:
            self._permits.release()
        if self._pool is not None:
            await self._upsert(self._pool, tool, batch, results)
        return results

    async def _upsert(
        self, pool: AsyncConnectionPool, tool: str, batch: list[Member], results: list[Json]
    ) -> None:
        found = [
            {"position": position, "result": result}
            for (position, _), result in zip(batch, results, strict=True)
        ]
        told = {"tag": self._tag, "tool": tool, "found": orjson.dumps(found).decode()}
        async with pool.connection() as connection:
            await connection.execute(UPSERT, told)


def _cut(missed: list[Member]) -> tuple[list[Member], list[Member]]:
    return missed[: BATCH_SIZES[SECOND]], missed[BATCH_SIZES[SECOND] :]


async def main() -> None:
    kind, url, tag, n, database = sys.argv[1:]
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(Provider(url))
        pool = None
        if kind == "upsert":
            async with await psycopg.AsyncConnection.connect(database) as connection:
                await connection.execute(TABLE)
            pool = AsyncConnectionPool(
                database, min_size=POOL_SIZE, kwargs={"autocommit": True}, open=False
            )
            await stack.enter_async_context(pool)
            await pool.wait()
        began = time.monotonic()
        await Loop(provider, tag, pool).run(int(n))
        print(orjson.dumps({"seconds": time.monotonic() - began}).decode())


if __name__ == "__main__":
    asyncio.run(main())
