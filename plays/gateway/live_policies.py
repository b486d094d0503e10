"""Tool policies as they are now: read again when they are older than a moment."""

from __future__ import annotations

import asyncio
import time

from plays.gateway.ledger import Ledger
from plays.tools.definitions import Tool
from plays.tools.policies import Policies, Policy


class LivePolicies:
    """What administrators set, never older than ``age_seconds``."""

    def __init__(self, ledger: Ledger, age_seconds: float) -> None:
        self._ledger = ledger
        self._age = age_seconds
        self._policies = Policies()
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def policy(self, tool: Tool) -> Policy:
        """Give what holds for a tool now. Raises PolicyInvalid."""
        if time.monotonic() - self._read_at >= self._age:
            await self._read()
        return self._policies.policy(tool)

    async def _read(self) -> None:
        async with self._reading:
            started = time.monotonic()
            if started - self._read_at >= self._age:
                self._policies = Policies(await self._ledger.policies())
                self._read_at = started
