"""Providers' places in Valkey: what a dead gateway held is free again by itself."""

from __future__ import annotations

import os

from redis.asyncio import Redis

from plays.gateway.windows import Slot, Windows
from plays.tools.policies import Bucket


async def test_a_place_that_nobody_gives_back_is_free_again_when_its_lease_ends(
    key_prefix: str,
) -> None:
    # case C7
    bucket = Bucket("provider", (), 1)
    async with Redis.from_url(os.environ["REDIS_URL"]) as valkey:
        windows = Windows(valkey, key_prefix)
        assert isinstance(await windows.take([bucket], hold=0.0, lasts=0.3), Slot)
        assert await windows.take([bucket], hold=0.0, lasts=0.3) is None
        assert isinstance(await windows.slot([bucket], hold=10.0, lasts=0.3), Slot)
