"""The socket of a run: snapshot, patches of what is shown, totals of the rest, strangers."""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import psutil
import pytest
import pytest_asyncio
from channels.db import database_sync_to_async
from django.contrib.auth.models import User

from plays.live import ahint, readers
from plays.models import Membership, Role, Workspace
from plays.selectors.grid import RowsQuery, rows_page
from tests.fake_runs import FakeRun, make_run
from tests.integration.cast import make_person
from tests.integration.run_sockets import RunSocket

pytestmark = pytest.mark.django_db(transaction=True)

Open = Callable[[], Any]


def build() -> tuple[FakeRun, User, User]:
    workspace = Workspace.objects.create(name="Acme")
    elsewhere = Workspace.objects.create(name="Elsewhere")
    fake = make_run(workspace)
    fake.add_map(1_000)
    return (
        fake,
        make_person("alice", workspace, Role.ADMIN),
        make_person("charlie", elsewhere, Role.ADMIN),
    )


@pytest_asyncio.fixture
async def world() -> tuple[FakeRun, User, User]:
    return await database_sync_to_async(build)()


@pytest_asyncio.fixture
async def fake(world: tuple[FakeRun, User, User]) -> FakeRun:
    return world[0]


@pytest_asyncio.fixture
async def open_socket(world: tuple[FakeRun, User, User]) -> AsyncIterator[Open]:
    """Open sockets of Alice's to the run; afterwards no reader may be left."""
    opened: list[RunSocket] = []

    async def open_one() -> RunSocket:
        opened.append(await RunSocket.open(world[1], world[0].run))
        return opened[-1]

    yield open_one
    for socket in opened:
        await socket.close()
    assert len(readers()) == 0


async def write(fake: FakeRun, name: str, *args: Any, **known: Any) -> int:
    """Write as a worker does, and hint."""
    sequence: int = await database_sync_to_async(getattr(fake, name))(*args, **known)
    await ahint(fake.run.pk, sequence)
    return sequence


async def show(socket: RunSocket, fake: FakeRun, first: int, last: int) -> None:
    """Read a page as the browser does, then say that it is shown."""
    page = await database_sync_to_async(rows_page)(fake.frame, RowsQuery(), first, last - first + 1)
    socket.mirror.load(page)
    await socket.until_viewed(await socket.show(fake.frame, first, last, page.sequence))


async def test_the_first_message_is_the_run_as_it_is(fake: FakeRun, open_socket: Open) -> None:
    await write(fake, "log", "began")
    socket = await open_socket()
    first = socket.messages[0]
    assert first["sequence"] == first["run"]["sequence"] == fake.run.sequence
    assert first["run"]["status"] == "running"
    assert first["frames"][0]["rows"] == {"pending": 1_000}
    assert [line["text"] for line in first["logs"]] == ["began"]


async def test_rows_in_sight_are_patched_and_the_rest_only_counted(
    fake: FakeRun, open_socket: Open
) -> None:
    socket = await open_socket()
    await show(socket, fake, 10, 20)

    await write(fake, "cell", 500, "email", "completed", "far@acme.example")
    await write(fake, "cell", 15, "email", "completed", "near@acme.example", provider="sandbox_a")
    await socket.until(lambda mirror: "email" in mirror.rows[15]["cells"])

    patches = [row["position"] for message in socket.messages for row in message.get("rows", [])]
    assert patches == [15]
    assert socket.mirror.rows[15]["cells"]["email"]["value"] == "near@acme.example"
    counts = socket.mirror.frames[0]["fields"]["email"]
    assert counts == {"completed": 2, "not_started": 998}


async def test_a_new_view_is_told_what_it_missed(fake: FakeRun, open_socket: Open) -> None:
    socket = await open_socket()
    await show(socket, fake, 0, 10)
    since = socket.mirror.sequence
    await write(fake, "cell", 500, "email", "missed", None)
    page = await database_sync_to_async(rows_page)(fake.frame, RowsQuery(), 500, 1)
    page.rows[0]["cells"] = {}
    socket.mirror.load(page)

    view = await socket.say(frame=fake.frame.pk, rows=[500], since=since)
    await socket.until_viewed(view)

    assert socket.mirror.rows[500]["cells"]["email"]["status"] == "missed"


# case W1
async def test_a_burst_of_changes_ends_as_the_database_is(fake: FakeRun, open_socket: Open) -> None:
    socket = await open_socket()
    await show(socket, fake, 0, 99)
    changes = [
        (n % 100, {"cells": {"email": {"status": "running"}}, "values": {"email": f"{n}"}})
        for n in range(2_000)
    ]
    for start in range(0, 2_000, 50):
        await database_sync_to_async(fake.write)(changes[start : start + 50])
        for _ in range(50):
            await ahint(fake.run.pk, 0)
    end = await write(fake, "touch", {})

    await socket.until(lambda mirror: mirror.sequence == end)
    page = await database_sync_to_async(rows_page)(fake.frame, RowsQuery(), 0, 100)
    for row in page.rows:
        assert socket.mirror.rows[row["position"]]["cells"] == row["cells"]


# case W2
async def test_a_stalled_browser_gets_the_newest_state_in_one_message(
    fake: FakeRun, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plays.live.REST_SECONDS", 0.0)
    socket, other = await open_socket(), await open_socket()
    for one in (socket, other):
        await show(one, fake, 0, 9)
    socket.reads.clear()
    for n in range(100):
        end = await write(fake, "cell", n % 10, "email", "completed", f"person{n}@acme.example")
    await other.until(lambda mirror: mirror.sequence == end)
    before = len(socket.messages)

    socket.reads.set()
    await socket.until(lambda mirror: mirror.sequence == end)

    assert len(socket.messages) - before <= 2
    assert socket.mirror.rows == other.mirror.rows


async def test_two_sockets_share_one_reader(fake: FakeRun, open_socket: Open) -> None:
    one, other = await open_socket(), await open_socket()
    assert len(readers()) == 1
    await show(one, fake, 0, 5)
    await show(other, fake, 5, 9)
    await write(fake, "write", [(5, {"status": "running"})])

    for socket in (one, other):
        await socket.until(lambda mirror: mirror.rows[5]["status"] == "running")


async def test_rows_of_another_run_are_never_told(fake: FakeRun, open_socket: Open) -> None:
    def foreign_run() -> FakeRun:
        other = make_run(Workspace.objects.get(name="Elsewhere"))
        other.add_map(10)
        other.cell(0, "email", "completed", "secret@elsewhere.example")
        return other

    other = await database_sync_to_async(foreign_run)()
    socket = await open_socket()
    await socket.until_viewed(await socket.say(frame=other.frame.pk, first=0, last=9, since=0))
    assert all("rows" not in message for message in socket.messages)


@pytest.mark.parametrize("who", ["charlie", "nobody"])
@pytest.mark.parametrize("which", ["real", "made up"])
async def test_strangers_are_told_that_there_is_no_such_run(
    world: tuple[FakeRun, User, User], who: str, which: str
) -> None:
    fake, _, charlie = world
    run_id = fake.run.pk if which == "real" else uuid.uuid4()
    socket = await database_sync_to_async(RunSocket)(charlie if who == "charlie" else None, run_id)
    await socket.connect()
    assert await socket.close_code() == 4404
    assert socket.messages == []
    assert len(readers()) == 0


async def test_a_person_put_out_of_the_workspace_is_closed(
    fake: FakeRun, open_socket: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plays.consumers.ACCESS_SECONDS", 0.0)
    socket = await open_socket()
    await database_sync_to_async(Membership.objects.all().delete)()
    await socket.show(fake.frame, 0, 5)
    assert await socket.close_code() == 4404


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        '{"type": "view"}',
        '{"type": "view", "view": 1, "frame": -1}',
        '{"type": "view", "view": 1, "frame": 1, "first": 99999999999}',
    ],
)
async def test_what_is_no_view_ends_the_socket(open_socket: Open, said: str) -> None:
    socket = await open_socket()
    await socket.send(said)
    assert await socket.close_code() == 4400


# case W8
async def test_many_windows_that_come_and_go_leave_nothing(
    world: tuple[FakeRun, User, User],
) -> None:
    fake, alice, _ = world
    process = psutil.Process()

    async def come_and_go(times: int) -> int:
        for _ in range(times):
            socket = await RunSocket.open(alice, fake.run)
            await socket.close()
        gc.collect()
        return int(process.memory_info().rss)

    before = await come_and_go(20)
    tasks = len(asyncio.all_tasks())
    after = await come_and_go(80)
    assert len(readers()) == 0
    assert len(asyncio.all_tasks()) == tasks
    assert after - before < 20 * 1024 * 1024
