"""The work as DBOS Transact workflows, in the form that is fastest there.

``python -m benchmarks.contestants.with_dbos <rows|batches> <provider> <tag> <rows> <database>``

``rows``: a workflow per row, a step per request. ``batches``: a workflow per hundred rows with a step per
batch, the second of which holds what missed in the first. Workflows are started directly, 32 at a time:
DBOS' queues would add their polling.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Any

import orjson
from dbos import DBOS, SetWorkflowID

from benchmarks.contestants.work import BATCH_SIZES, FIRST, IN_FLIGHT, SECOND, Json, Provider, rows

provider: Provider


@DBOS.step()
async def ask(tool: str, given: Json) -> Json:
    return await provider.ask(tool, given)


@DBOS.step()
async def ask_all(tool: str, given: list[Json]) -> list[Json]:
    return await provider.ask_all(tool, given)


@DBOS.workflow()
async def find_one(row: Json) -> Json:
    found = await ask(FIRST, row)
    return found if found is not None else await ask(SECOND, row)


@DBOS.workflow()
async def find_all(batch: list[Json]) -> list[Json]:
    found = await ask_all(FIRST, batch)
    missed = [i for i, result in enumerate(found) if result is None]
    size = BATCH_SIZES[SECOND]
    for start in range(0, len(missed), size):
        part = missed[start : start + size]
        for i, result in zip(part, await ask_all(SECOND, [batch[i] for i in part]), strict=True):
            found[i] = result
    return found


def batches(source: Iterator[Json]) -> Iterator[list[Json]]:
    while batch := list(islice(source, BATCH_SIZES[FIRST])):
        yield batch


async def run_all(
    workflow: Callable[[Any], Awaitable[Any]], inputs: Iterator[Any], tag: str
) -> None:
    """Run a workflow for each input, 32 at a time."""
    numbered = enumerate(inputs)

    async def worker() -> None:
        for number, given in numbered:
            with SetWorkflowID(f"{tag}-{number}"):
                await workflow(given)

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def main() -> None:
    global provider
    kind, url, tag, n, database = sys.argv[1:]
    DBOS(
        config={
            "name": "bench",
            "system_database_url": database,
            "log_level": "WARNING",
            "console_log_level": "WARNING",
        }
    )
    DBOS.launch()
    async with Provider(url) as provider:
        people = rows(tag, int(n))
        began = time.monotonic()
        if kind == "rows":
            await run_all(find_one, people, tag)
        else:
            await run_all(find_all, batches(people), tag)
        seconds = time.monotonic() - began
    DBOS.destroy()
    print(orjson.dumps({"seconds": seconds}).decode())


if __name__ == "__main__":
    asyncio.run(main())
