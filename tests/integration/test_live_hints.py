"""Hints and the readers that they wake: folded, lost, late, and without a server to carry them."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from channels.layers import channel_layers
from django.db import DatabaseError, transaction
from django.test import override_settings

from plays import live
from plays.live import Readers, ahint, hint, readers

pytestmark = pytest.mark.django_db(transaction=True)

RUN = uuid.UUID(int=7)


@dataclass(frozen=True)
class Glance:
    """A look that holds nothing but its number."""

    sequence: int
    is_live: bool = True


@dataclass
class Story:
    """A run as a reader may look at it: ``sequence`` is what the next look finds."""

    sequence: int = 1
    is_live: bool = True
    looks: list[int] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    is_looked_at: threading.Event = field(default_factory=threading.Event)
    failures: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    def fetch(self, run_id: uuid.UUID, since: int, shown: frozenset[int]) -> Glance:
        self.looks.append(since)
        self.is_looked_at.set()
        found = Glance(self.sequence, self.is_live)
        self.gate.wait(10)
        if self.failures:
            self.failures -= 1
            raise DatabaseError("the server is away")
        return found


class Window:
    """A watcher that keeps what it is given."""

    def __init__(self) -> None:
        self.shown: frozenset[int] = frozenset()
        self.taken: list[int] = []
        self._took = asyncio.Event()

    def take(self, look: Any) -> None:
        self.taken.append(look.sequence)
        self._took.set()

    async def until(self, sequence: int) -> None:
        async with asyncio.timeout(10):
            while sequence not in self.taken:
                self._took.clear()
                await self._took.wait()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "REST_SECONDS", 0.01)
    monkeypatch.setattr(live, "MEND_SECONDS", 0.02)


@pytest.fixture
def nobody_carries() -> Iterator[None]:
    """Point the channel layer at a port on which nobody listens."""
    layers = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    with override_settings(CHANNEL_LAYERS=layers):
        channel_layers.backends.clear()
        yield
    channel_layers.backends.clear()


# case W6
def test_a_thousand_hints_from_loops_that_end_raise_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        for sequence in range(1_000):
            asyncio.run(ahint(RUN, sequence))
        for sequence in range(50):
            hint(RUN, sequence)
    assert caplog.records == []


def test_a_hint_that_nobody_carries_is_logged_and_fails_nobody(
    nobody_carries: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        hint(RUN, 1)
        asyncio.run(ahint(RUN, 2))
    lost = [record.getMessage() for record in caplog.records if record.name == "plays.live"]
    assert lost == [f"The hint that run {RUN} changed was lost: ConnectionError"] * 2


def test_a_hint_waits_for_its_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []

    async def send(run_id: uuid.UUID, sequence: int) -> None:
        sent.append(sequence)

    monkeypatch.setattr(live, "ahint", send)
    with transaction.atomic():
        hint(RUN, 5)
        assert sent == []
    assert sent == [5]


async def test_a_hint_brings_one_look_and_no_hint_none(quick: None) -> None:
    story, window = Story(), Window()
    reader = readers().join(RUN, window, story.fetch)
    await reader.catch_up(window, 0)
    assert window.taken == [1]

    story.sequence = 2
    await asyncio.sleep(0.1)
    looks = len(story.looks)
    await asyncio.sleep(0.1)
    assert len(story.looks) == looks
    story.sequence = 3
    await ahint(RUN, 3)
    await window.until(3)
    await readers().leave(reader, window)
    assert len(readers()) == 0


async def test_hints_during_a_look_fold_into_one(quick: None) -> None:
    story, window = Story(), Window()
    reader = readers().join(RUN, window, story.fetch)
    await reader.catch_up(window, 0)
    await asyncio.sleep(0.1)
    story.gate.clear()
    story.is_looked_at.clear()
    story.sequence = 2
    await ahint(RUN, 2)
    await asyncio.to_thread(story.is_looked_at.wait, 10)
    looks = len(story.looks)

    for sequence in range(3, 103):
        await ahint(RUN, sequence)
    story.sequence = 102
    await asyncio.sleep(0.1)
    story.gate.set()
    await window.until(102)

    assert len(story.looks) <= looks + 2
    await readers().leave(reader, window)


async def test_a_lost_hint_costs_delay_only(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SAFETY_SECONDS", 0.1)
    story, window = Story(), Window()
    reader = readers().join(RUN, window, story.fetch)
    await reader.catch_up(window, 0)

    story.sequence = 2
    await window.until(2)
    await readers().leave(reader, window)


async def test_a_run_that_is_over_is_not_looked_at_by_the_clock(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SAFETY_SECONDS", 0.02)
    story, window = Story(is_live=False), Window()
    reader = readers().join(RUN, window, story.fetch)
    await reader.catch_up(window, 0)
    await asyncio.sleep(0.1)
    looks = len(story.looks)
    await asyncio.sleep(0.2)
    assert len(story.looks) == looks
    await readers().leave(reader, window)


async def test_a_reader_goes_on_after_the_database_was_away(
    quick: None, caplog: pytest.LogCaptureFixture
) -> None:
    story, window = Story(), Window()
    reader = readers().join(RUN, window, story.fetch)
    await reader.catch_up(window, 0)
    await asyncio.sleep(0.1)
    story.failures = 2
    story.sequence = 2
    await ahint(RUN, 2)
    await window.until(2)
    assert "cannot be read now" in caplog.text
    await readers().leave(reader, window)


async def test_without_hints_a_page_still_shows_the_run(
    quick: None, nobody_carries: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SAFETY_SECONDS", 0.05)
    story, window = Story(), Window()
    reader = readers().join(RUN, window, story.fetch)
    await reader.catch_up(window, 0)
    story.sequence = 2
    await window.until(2)
    await readers().leave(reader, window)


async def test_readers_of_a_run_that_is_left_and_joined_at_once_do_not_mix(quick: None) -> None:
    story, one, other = Story(), Window(), Window()
    registry = Readers()
    first = registry.join(RUN, one, story.fetch)
    leaving = asyncio.create_task(registry.leave(first, one))
    await asyncio.sleep(0)
    second = registry.join(RUN, other, story.fetch)
    await leaving
    assert second is not first
    await second.catch_up(other, 0)
    story.sequence = 2
    await ahint(RUN, 2)
    await other.until(2)
    await registry.leave(second, other)
    assert len(registry) == 0
