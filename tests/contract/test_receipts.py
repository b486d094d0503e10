"""The ``Receipts`` and ``Signals`` ports: work that happens once, waits, and what is asked of a run."""

from __future__ import annotations

import asyncio

import pytest

from runtime.errors import HostFailed
from runtime.ports import Boundary, ChildCall
from tests.contract.test_rows import loaded
from tests.contract.worlds import World

CLAIMED = {"state": "claimed", "output": None, "error": ""}


LIMITS = {"max_play_calls_per_row": 0, "max_child_play_calls_per_row": 0}
CHILD: ChildCall = {"play": "child", "parent": "find"}


def boundary(name: str, seconds: float, event: str | None = None) -> Boundary:
    return {
        "name": name,
        "seconds": seconds,
        "event": event,
        "frame": None,
        "position": None,
        "message": "approve?",
        "form": {"fields": ["ok"]},
    }


async def test_claimed_work_that_completed_gives_its_output_ever_after(world: World) -> None:
    # rule 11.1, 11.3
    ports = await world.join()
    assert await ports.receipts.claim("fetch", "d") == CLAIMED
    await ports.receipts.complete("fetch", {"n": [1, None]})
    again = await (await world.join()).receipts.claim("fetch", "d")
    assert again == {"state": "completed", "output": {"n": [1, None]}, "error": ""}


async def test_work_in_progress_is_refused_to_a_second_call(world: World) -> None:
    # rule 11.4
    ports = await world.join()
    await ports.receipts.claim("fetch", "d")
    second = await ports.receipts.claim("fetch", "d")
    assert second["state"] == "refused"
    assert "running already" in second["error"]


async def test_another_input_under_a_done_name_is_refused(world: World) -> None:
    # rule 11.4
    ports = await world.join()
    await ports.receipts.claim("fetch", "d")
    await ports.receipts.complete("fetch", 1)
    refused = await ports.receipts.claim("fetch", "other")
    assert refused["state"] == "refused"
    assert "another input" in refused["error"]


async def test_failed_work_may_be_tried_again(world: World) -> None:
    # rule 11.4
    ports = await world.join()
    await ports.receipts.claim("fetch", "d")
    await ports.receipts.fail("fetch", {"type": "ToolFailed", "message": "down"})
    assert await ports.receipts.claim("fetch", "d") == CLAIMED


async def test_work_of_a_dead_participant_is_claimed_by_the_next(world: World) -> None:
    # rule 11.4
    first = await world.join()
    await first.receipts.claim("fetch", "d")
    second = await world.join()
    assert await second.receipts.claim("fetch", "d") == CLAIMED
    with pytest.raises(HostFailed):
        await first.receipts.complete("fetch", 1)
    await second.receipts.complete("fetch", 2)
    assert (await second.receipts.claim("fetch", "d"))["output"] == 2


async def test_a_claimed_child_play_counts_once_however_often_it_is_claimed(world: World) -> None:
    # rule 13.5
    ports = await world.join()
    await world.limit("one", max_play_call_count=1, **LIMITS)
    assert await ports.receipts.claim("child-1", "d", CHILD) == CLAIMED
    await ports.receipts.fail("child-1", {"type": "ChildFailed", "message": "m"})
    again = await world.join()
    assert await again.receipts.claim("child-1", "d", CHILD) == CLAIMED


@pytest.mark.parametrize(
    ("limit", "others"),
    [
        ("max_play_call_count", {}),
        ("max_descendants", {"max_descendants_per_row": 0}),
        ("max_child_play_calls_per_parent", {}),
    ],
)
async def test_a_used_up_limit_refuses_a_child_and_counts_nothing(
    world: World, limit: str, others: dict[str, int]
) -> None:
    # rule 4.1, 4.2, 13.5, 13.8
    ports = await world.join()
    await world.limit("one", **{limit: 2}, **LIMITS, **others)
    for name in ("child-1", "child-2"):
        assert await ports.receipts.claim(name, "d", CHILD) == CLAIMED
    for _ in range(2):
        refused = await ports.receipts.claim("child-3", "d", CHILD)
        assert refused["state"] == "limit"
        assert f"the limit {limit} (2 " in refused["error"]
        assert "'child'" in refused["error"]
    await world.limit("one", **{limit: 3}, **LIMITS, **others)
    assert await ports.receipts.claim("child-3", "d", CHILD) == CLAIMED


async def test_the_limit_of_a_parent_is_its_own(world: World) -> None:
    # rule 13.5
    ports = await world.join()
    await world.limit("one", max_child_play_calls_per_parent=1, **LIMITS)
    other: ChildCall = {"play": "child", "parent": "find/play/child"}
    assert await ports.receipts.claim("child-1", "d", CHILD) == CLAIMED
    assert await ports.receipts.claim("child-2", "d", other) == CLAIMED
    assert (await ports.receipts.claim("child-3", "d", CHILD))["state"] == "limit"


async def test_limits_on_children_grow_with_the_rows_of_the_run(world: World) -> None:
    # rule 4.6
    ports = await world.join()
    await world.limit("one", max_play_call_count=0, max_play_calls_per_row=1)
    assert (await ports.receipts.claim("child-1", "d", CHILD))["state"] == "limit"
    await loaded(ports, "a", "b")
    for name in ("child-1", "child-2"):
        assert await ports.receipts.claim(name, "d", CHILD) == CLAIMED
    assert (await ports.receipts.claim("child-3", "d", CHILD))["state"] == "limit"


async def test_a_boundarys_deadline_never_moves(world: World) -> None:
    ports = await world.join()
    first = await ports.receipts.wait(boundary("sleep", 3600.0))
    await world.after(0.01)
    again = await (await world.join()).receipts.wait(boundary("sleep", 7200.0))
    assert first["status"] == again["status"] == "open"
    assert again["due_at"] == pytest.approx(first["due_at"], abs=1e-6)


async def test_a_sleep_is_due_after_its_time(world: World) -> None:
    ports = await world.join()
    await ports.receipts.wait(boundary("sleep", 0.01))
    await world.after(0.05)
    assert (await ports.receipts.wait(boundary("sleep", 0.01)))["status"] == "due"


async def test_an_event_that_does_not_come_times_out(world: World) -> None:
    ports = await world.join()
    await ports.receipts.wait(boundary("approval", 0.01, "approved"))
    await world.after(0.05)
    state = await ports.receipts.wait(boundary("approval", 0.01, "approved"))
    assert (state["status"], state["payload"]) == ("timed_out", None)


async def test_an_answered_event_gives_its_payload(world: World) -> None:
    ports = await world.join()
    await ports.receipts.wait(boundary("approval", 3600.0, "approved"))
    await world.deliver("one", "approved", {"ok": True})
    state = await ports.receipts.wait(boundary("approval", 3600.0, "approved"))
    assert (state["status"], state["payload"]) == ("received", {"ok": True})


async def test_who_waits_for_an_event_is_woken(world: World) -> None:
    ports = await world.join()
    await ports.receipts.wait(boundary("approval", 3600.0, "approved"))
    waiting = asyncio.ensure_future(ports.signals.event("approval"))
    await asyncio.sleep(0)
    assert not waiting.done()
    await world.deliver("one", "approved", None)
    await waiting


async def test_an_event_that_comes_before_its_wait_answers_it(world: World) -> None:
    ports = await world.join()
    await world.deliver("one", "approved", {"ok": True})
    other = await ports.receipts.wait(boundary("other", 3600.0, "refused"))
    state = await ports.receipts.wait(boundary("approval", 3600.0, "approved"))
    again = await ports.receipts.wait(boundary("second", 3600.0, "approved"))
    assert (state["status"], state["payload"]) == ("received", {"ok": True})
    assert other["status"] == again["status"] == "open"


async def test_early_events_are_applied_in_the_order_in_which_they_came(world: World) -> None:
    # case P3
    ports = await world.join()
    for payload in (1, None, 3):
        await world.deliver("one", "step", payload)
    states = [await ports.receipts.wait(boundary(f"wait-{n}", 60.0, "step")) for n in range(3)]
    assert [state["payload"] for state in states] == [1, None, 3]
    assert {state["status"] for state in states} == {"received"}


async def test_one_event_answers_every_open_wait_for_it(world: World) -> None:
    ports = await world.join()
    for name in ("first", "second"):
        await ports.receipts.wait(boundary(name, 60.0, "go"))
    await world.deliver("one", "go", 7)
    states = [await ports.receipts.wait(boundary(name, 60.0, "go")) for name in ("first", "second")]
    assert [state["payload"] for state in states] == [7, 7]
    assert (await ports.receipts.wait(boundary("third", 60.0, "go")))["status"] == "open"


async def test_an_event_after_the_deadline_answers_no_later_wait(world: World) -> None:
    # case S3
    ports = await world.join()
    await ports.receipts.wait(boundary("first", 0.01, "go"))
    await world.after(0.05)
    await world.deliver("one", "go", "late")
    assert (await ports.receipts.wait(boundary("first", 0.01, "go")))["status"] == "timed_out"
    assert (await ports.receipts.wait(boundary("second", 60.0, "go")))["status"] == "open"


async def test_an_answer_of_nothing_is_an_answer(world: World) -> None:
    # rule 12.3
    ports = await world.join()
    await ports.receipts.wait(boundary("approval", 60.0, "go"))
    await world.deliver("one", "go", None)
    for _ in range(2):
        state = await ports.receipts.wait(boundary("approval", 60.0, "go"))
        assert (state["status"], state["payload"]) == ("received", None)
        ports = await world.join()


@pytest.mark.parametrize("what", ["pause", "cancel"])
async def test_what_is_asked_of_a_run_is_heard(world: World, what: str) -> None:
    ports = await world.join()
    waiting = asyncio.ensure_future(ports.signals.requested())
    await world.ask("one", what)
    assert await waiting == what


async def test_a_cancelled_listener_leaves_the_signal_for_the_next(world: World) -> None:
    ports = await world.join()
    waiting = asyncio.ensure_future(ports.signals.requested())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    await world.ask("one", "pause")
    assert await ports.signals.requested() == "pause"
