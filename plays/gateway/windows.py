"""The limits of providers, shared by all gateways: windows, concurrency, quotas, and waits asked for.

One script in Valkey decides and takes the slot in the same step, so that no two gateways get the last one.
A slot may lie in the future: its holder waits for it. Inside any span of a window, wherever it begins, no
more slots are given than the window has. A window of a day or longer is a quota, counted in fixed
periods of UTC, because a log of a day's requests would be long.

Keys outlive their newest entry by a margin, because entries are not added in the order of their times.
Knows names and numbers of buckets, nothing of tools, runs or databases.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from plays.tools.policies import Bucket

QUOTA_SPAN_SECONDS = 86_400.0
BUSY_LOOK_SECONDS = 0.05
BUSY_RETRY_SECONDS = 1.0
MICRO = 1_000_000

TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local hold, lease_for, id = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local leases, windows, quotas = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local at = now

local function text(number) return string.format('%.0f', number) end
local function limit(i) return tonumber(ARGV[6 + 2 * i - 1]) end
local function span(i) return tonumber(ARGV[6 + 2 * i]) end

local asked = tonumber(redis.call('GET', KEYS[1]) or '0')
if asked > at then at = asked end

for i = 1, leases do
    local key = KEYS[1 + i]
    redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now))
    if redis.call('ZCARD', key) >= limit(i) then return {'busy', '0'} end
end

local function free_at(key, most, length, from)
    while from - now <= hold do
        local low, high = '(' .. text(from - length), '(' .. text(from + length)
        local taken = redis.call('ZCOUNT', key, low, high)
        if taken < most then return from end
        local last = redis.call('ZRANGEBYSCORE', key, low, high, 'WITHSCORES', 'LIMIT', taken - most, 1)
        from = tonumber(last[2]) + length
    end
    return from
end

local moved = true
while moved and at - now <= hold do
    moved = false
    for i = leases + 1, leases + windows do
        redis.call('ZREMRANGEBYSCORE', KEYS[1 + i], '-inf', text(now - span(i)))
        local free = free_at(KEYS[1 + i], limit(i), span(i), at)
        if free > at then at = free; moved = true end
    end
end
if at - now > hold then return {'later', text(at - now)} end

for i = leases + windows + 1, leases + windows + quotas do
    local period = math.floor(at / span(i))
    local used = tonumber(redis.call('GET', KEYS[1 + i] .. ':' .. text(period)) or '0')
    if used >= limit(i) then return {'quota', text((period + 1) * span(i) - now)} end
end

for i = 1, leases do
    redis.call('ZADD', KEYS[1 + i], text(at + lease_for), id)
    redis.call('PEXPIREAT', KEYS[1 + i], text(math.ceil((at + lease_for) / 1000) + 86400000))
end
for i = leases + 1, leases + windows do
    redis.call('ZADD', KEYS[1 + i], text(at), id)
    redis.call('PEXPIREAT', KEYS[1 + i], text(math.ceil((at + span(i)) / 1000) + 60000))
end
for i = leases + windows + 1, leases + windows + quotas do
    local key = KEYS[1 + i] .. ':' .. text(math.floor(at / span(i)))
    redis.call('INCR', key)
    redis.call('PEXPIREAT', key, text(math.ceil((at + span(i)) / 1000)))
end
return {'taken', text(at - now)}
"""

PENALISE = """
local clock = redis.call('TIME')
local till = clock[1] * 1000000 + clock[2] + tonumber(ARGV[1])
if till > tonumber(redis.call('GET', KEYS[1]) or '0') then
    local text = string.format('%.0f', till)
    redis.call('SET', KEYS[1], text, 'PXAT', string.format('%.0f', math.ceil(till / 1000)))
end
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """The right to send one request ``wait`` seconds from now. Its leases must be given back."""

    id: str
    wait: float
    leases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoSlot:
    """There is no slot soon enough; ``retry_after`` in seconds. ``is_quota``: a day's quota is used up."""

    retry_after: float
    is_quota: bool = False


@dataclass(frozen=True, slots=True)
class _Count:
    key: str
    limit: int
    seconds: float


class Windows:
    """The buckets of all providers, in one Valkey under one prefix."""

    def __init__(self, valkey: Redis, prefix: str) -> None:
        self._valkey = valkey
        self._prefix = f"{prefix}:gateway"
        self._take = valkey.register_script(TAKE)
        self._penalise = valkey.register_script(PENALISE)

    async def slot(self, buckets: Sequence[Bucket], *, hold: float, lasts: float) -> Slot | NoSlot:
        """Take a slot in all buckets and wait for its time; at most ``hold`` seconds.

        The first bucket's penalty counts. ``lasts``: seconds after which the request's leases end by
        themselves, should this gateway die. Raises RedisError where Valkey does not answer.
        """
        deadline = time.monotonic() + hold
        while True:
            left = max(0.0, deadline - time.monotonic())
            taken = await self.take(buckets, hold=left, lasts=lasts)
            if isinstance(taken, NoSlot):
                return taken
            if isinstance(taken, Slot) and not taken.wait:
                return taken
            if taken is None and left < BUSY_LOOK_SECONDS:
                return NoSlot(BUSY_RETRY_SECONDS)
            await asyncio.sleep(taken.wait if taken else BUSY_LOOK_SECONDS)
            if taken and not await self._penalty(buckets[0].name):
                return taken
            if taken:
                await self.give_back(taken)

    async def take(
        self, buckets: Sequence[Bucket], *, hold: float, lasts: float
    ) -> Slot | NoSlot | None:
        """Take a slot that may lie up to ``hold`` seconds ahead. None: all places are in use."""
        leases, windows, quotas = self._counts(buckets)
        slot = uuid.uuid4().hex
        counts = (*leases, *windows, *quotas)
        word, wait = await self._take(
            keys=[self._key(buckets[0].name, "later"), *(count.key for count in counts)],
            args=[
                *(round(hold * MICRO), round(lasts * MICRO), slot),
                *(len(leases), len(windows), len(quotas)),
                *(number for c in counts for number in (c.limit, round(c.seconds * MICRO))),
            ],
        )
        seconds = int(wait) / MICRO
        match word:
            case b"taken":
                return Slot(slot, seconds, tuple(count.key for count in leases))
            case b"busy":
                return None
            case _:
                return NoSlot(seconds, is_quota=word == b"quota")

    async def give_back(self, slot: Slot) -> None:
        """End the leases of a request. Its place in the windows stays taken."""
        for key in slot.leases:
            await self._valkey.zrem(key, slot.id)

    async def penalise(self, bucket: str, seconds: float) -> None:
        """Let nobody send for this bucket for so long; a longer penalty that there is stays."""
        await self._penalise(keys=[self._key(bucket, "later")], args=[round(seconds * MICRO)])

    async def _penalty(self, bucket: str) -> bool:
        return bool(await self._valkey.exists(self._key(bucket, "later")))

    def _counts(self, buckets: Sequence[Bucket]) -> tuple[list[_Count], list[_Count], list[_Count]]:
        leases = [
            _Count(self._key(bucket.name, "leases"), bucket.concurrency, 0.0)
            for bucket in buckets
            if bucket.concurrency is not None
        ]
        spans = [
            _Count(self._key(bucket.name, f"{seconds:g}s"), most, seconds)
            for bucket in buckets
            for most, seconds in bucket.windows
        ]
        windows = [count for count in spans if count.seconds < QUOTA_SPAN_SECONDS]
        return leases, windows, [count for count in spans if count not in windows]

    def _key(self, bucket: str, what: str) -> str:
        return f"{self._prefix}:{{{bucket}}}:{what}"
