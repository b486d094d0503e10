"""The parts of a gateway put together: what lives from the server's start to its end."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from redis.asyncio import Redis

from plays.gateway.calls import Calls
from plays.gateway.configuration import Configuration
from plays.gateway.execute import Executor
from plays.gateway.ledger import Ledger
from plays.gateway.live_policies import LivePolicies
from plays.gateway.transport import Transport
from plays.gateway.waiting import Hints
from plays.gateway.windows import Windows
from plays.tools import Catalogue
from plays.tools.sandbox import server as sandbox


class Gateway:
    """What lives while the server runs. Made inside its loop."""

    def __init__(self, configuration: Configuration, tools: Catalogue) -> None:
        timing = configuration.timing
        self.configuration = configuration
        self.tools = tools
        self.own_address: tuple[str, int] | None = None
        self.sandbox = sandbox.Application(sandbox.Sandbox.from_environment())
        self.transport = Transport(self.sandbox_url, configuration.allowed_networks)
        self.ledger = Ledger(configuration.database)
        self.policies = LivePolicies(self.ledger, timing.policy)
        self._valkey = Redis.from_url(configuration.redis_url)
        self._hints = Hints(self._valkey, configuration.prefix)
        windows = Windows(self._valkey, configuration.prefix)
        calls = Calls(self.ledger, windows, self.transport, timing)
        self.executor = Executor(self.ledger, calls, self._hints, timing)
        self._ending = AsyncExitStack()

    async def open(self) -> None:
        """Connect to everything. Raises what the database or Valkey raise where they do not answer."""
        self._ending.push_async_callback(self._valkey.aclose)
        await self.ledger.open()
        self._ending.push_async_callback(self.ledger.close)
        await self.transport.open()
        self._ending.push_async_callback(self.transport.close)
        listening = asyncio.create_task(self._hints.listen(), name="gateway hints")
        self._ending.push_async_callback(_cancelled, listening)
        self._ending.push_async_callback(self.executor.finish)

    async def close(self) -> None:
        """Wait for the calls that are under way, then let go of everything."""
        await self._ending.aclose()

    def sandbox_url(self) -> str:
        """Give the sandbox's address: the configured one, else the gateway's own."""
        told = self.configuration
        if told.sandbox_url:
            return told.sandbox_url
        host, port = self.own_address or ("127.0.0.1", told.own_port or 0)
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
