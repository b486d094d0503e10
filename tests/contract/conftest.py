"""Each suite runs in both worlds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.worlds import MemoryWorld, PostgresWorld, World

POSTGRES = pytest.param("postgres", marks=pytest.mark.django_db(transaction=True))


@pytest.fixture(params=["memory", POSTGRES])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "memory":
        yield MemoryWorld()
        return
    async with PostgresWorld.opened() as opened:
        yield opened
