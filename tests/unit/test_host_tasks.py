"""Ending what runs beside a play."""

from __future__ import annotations

import asyncio

import pytest

from plays.playhost import tasks


async def test_a_task_that_loses_its_cancellation_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "AGAIN_SECONDS", 0.01)
    lost: list[int] = []

    async def forgetful() -> None:
        while True:
            try:
                await asyncio.sleep(1e6)
            except asyncio.CancelledError:
                lost.append(1)
                if len(lost) == 3:
                    raise

    async def broken() -> None:
        raise ValueError("broken")

    running = [asyncio.create_task(forgetful()), asyncio.create_task(broken())]
    await asyncio.sleep(0)
    (error,) = await tasks.end_all(running)
    assert str(error) == "broken"
    assert len(lost) == 3
