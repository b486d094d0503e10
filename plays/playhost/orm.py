"""Django's ORM from a coroutine: one thread, so one connection, which ends with the host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

Result = TypeVar("Result")

RETRY_SECONDS = 0.5


class OrmThread:
    """Runs blocking reads one after the other, for ``async with``."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="orm")

    async def read(self, work: Callable[[], Result]) -> Result:
        """Run ``work``, which only reads; while the server is away, it is run again."""
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._executor, work)
            except (OperationalError, InterfaceError):
                await self._close()
                await asyncio.sleep(RETRY_SECONDS)

    async def __aenter__(self) -> OrmThread:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()
        self._executor.shutdown()

    async def _close(self) -> None:
        """End the thread's connection; each thread has its own under this name."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, lambda: connection.close())
