"""The stores against a play process that names what is not its own, and while the server goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from plays.stores import RunWriter, open_pool
from plays.stores.fencing import Turn
from plays.stores.known import _JOIN_WHOLE, _KNOWN, _MATCH
from runtime.errors import HostFailed
from tests.contract.forms import change, frame_form, group, new_rows
from tests.contract.worlds import PostgresWorld

if TYPE_CHECKING:
    from tests.contract.worlds import Joined

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def world() -> AsyncIterator[PostgresWorld]:
    async with PostgresWorld.opened() as opened:
        yield opened


async def mine(world: PostgresWorld) -> tuple[Joined, int]:
    """Give a run's ports and its sealed frame of two rows, the first claimed and with an entry."""
    ports = await world.join("mine")
    opened = await ports.rows.open_map(frame_form())
    await ports.rows.add_page(opened["frame"], new_rows("a", "b"))
    await ports.rows.seal(opened["frame"])
    await ports.rows.claim(opened["frame"], 1)
    entry = {"name": "mine/step", "frame": opened["frame"], "position": 0, "value": 1}
    await ports.records.commit(group(entries=[entry]))
    return ports, opened["frame"]


async def test_another_runs_rows_cannot_be_read_or_claimed(world: PostgresWorld) -> None:
    _, frame = await mine(world)
    other = await world.join("other")
    assert await other.rows.claim(frame, 10) == []
    assert await other.rows.read_page(frame, -1, 10) == []
    with pytest.raises(HostFailed):
        await other.rows.seal(frame)


async def test_another_runs_rows_cannot_be_changed(world: PostgresWorld) -> None:
    _, frame = await mine(world)
    before = await world.frame("mine")
    other = await world.join("other")
    cells = {"email": {"status": "completed"}, "x": {"status": "missed", "part_of": "email"}}
    await other.records.commit(
        group(
            change(frame, 0, "completed", values={"email": "forged"}, cells=cells),  # type: ignore[arg-type]
            entries=[{"name": "forged", "frame": frame, "position": 1, "value": "forged"}],
        )
    )
    assert await world.frame("mine") == before
    assert (await world.run("mine"))["entries"] == {"mine/step": 1}
    assert (await world.run("other"))["entries"] == {}


async def test_another_runs_unsealed_map_takes_no_rows(world: PostgresWorld) -> None:
    ports = await world.join("mine")
    opened = await ports.rows.open_map(frame_form())
    other = await world.join("other")
    with pytest.raises(HostFailed):
        await other.rows.add_page(opened["frame"], new_rows("forged"))
    await ports.rows.add_page(opened["frame"], new_rows("a"))
    assert (await ports.rows.seal(opened["frame"]))["total"] == 1


async def test_a_commit_waits_for_a_server_that_drops_its_connections(world: PostgresWorld) -> None:
    ports, frame = await mine(world)
    for n in range(5):
        dropping = asyncio.ensure_future(world.drop_connections())
        await ports.records.commit(
            group(change(frame, 0, values={"email": n}), counters={"requests": 1})
        )
        await dropping
    assert (await world.run("mine"))["counters"]["requests"] == 5
    assert (await world.frame("mine")).rows[0]["values"] == {"email": 4}


async def test_a_commit_whose_answer_was_lost_is_not_done_twice(
    world: PostgresWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports, _ = await mine(world)
    lost = world.lose_the_answer_of_the_next_commit(monkeypatch)
    await ports.records.commit(group(counters={"requests": 1}))
    assert lost == ["the answer"]
    assert (await world.run("mine"))["counters"]["requests"] == 1


async def test_an_expired_lease_that_nobody_took_is_waited_for(world: PostgresWorld) -> None:
    ports, _ = await mine(world)
    await world.expire("mine")
    await ports.records.commit(group(counters={"requests": 1}))
    assert (await world.run("mine"))["counters"]["requests"] == 1


async def test_what_the_database_refuses_is_told_without_values(world: PostgresWorld) -> None:
    ports = await world.join("mine")
    frame = frame_form(path="made-up-secret" * 100)
    with pytest.raises(HostFailed) as caught:
        await ports.rows.open_map(frame)
    assert "made-up-secret" not in str(caught.value)
    assert "too long" in str(caught.value)


async def test_earlier_rows_are_matched_in_one_pass_whatever_the_planner_believes() -> None:
    # It believes that a frame which was filled a moment ago has one row.
    async with open_pool() as pool, pool.connection() as connection, connection.transaction():
        for statement in (_KNOWN, _JOIN_WHOLE):
            await connection.execute(statement)
        told = {"first": 0, "end": 1, "earlier": 1}
        plan = str(await (await connection.execute(f"EXPLAIN {_MATCH}", told)).fetchall())
    assert "plays_rowstate" in plan
    assert "Nested Loop" not in plan


async def test_a_commit_that_a_crash_undid_is_done_again_whoever_has_its_numbers_now(
    world: PostgresWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    # case C1
    ports, _ = await mine(world)
    commit = psycopg.AsyncTransaction._exit_gen
    others: list[str] = []

    def undone(transaction: Any, *told: Any) -> Any:
        monkeypatch.setattr(psycopg.AsyncTransaction, "_exit_gen", commit)
        yield from commit(transaction, psycopg.OperationalError, psycopg.OperationalError(), None)
        raise psycopg.OperationalError("the server crashed")

    was_committed = RunWriter._was_committed

    async def asked_late(writer: RunWriter, turn: Turn) -> bool:
        await ports.records.commit(group(counters={"others": 1}))
        others.append("took the number")
        return await was_committed(writer, turn)

    monkeypatch.setattr(psycopg.AsyncTransaction, "_exit_gen", undone)
    monkeypatch.setattr(RunWriter, "_was_committed", asked_late)
    await ports.records.commit(group(counters={"requests": 1}))
    assert others == ["took the number"]
    assert (await world.run("mine"))["counters"]["requests"] == 1
