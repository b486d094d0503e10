"""Requests in flight, shared so that no lane starves another."""

from __future__ import annotations

from runtime.permits import Permits


def taken(permits: Permits, lane: str) -> int:
    """Take as many permits as the lane may have."""
    count = 0
    while permits.may_take(lane):
        permits.take(lane)
        count += 1
    return count


def test_one_permit_stays_free_for_a_tool_that_nobody_has_asked_yet() -> None:
    permits = Permits(32)
    assert taken(permits, "hangs") == 31
    assert permits.may_take("other")


def test_a_waiting_lane_keeps_one_permit_from_the_others() -> None:
    permits = Permits(8)
    permits.wants("b", is_waiting=True)
    permits.wants("c", is_waiting=True)
    assert taken(permits, "a") == 5
    for lane in ("b", "c"):
        assert permits.may_take(lane)
        permits.take(lane)
    assert permits.may_take("d")


def test_a_single_permit_goes_to_whoever_has_none() -> None:
    permits = Permits(1)
    permits.wants("b", is_waiting=True)
    assert taken(permits, "a") == 1
    assert not permits.may_take("b")
    permits.release("a")
    assert permits.may_take("b")


def test_two_permits_are_both_of_use_to_a_lane_that_is_alone() -> None:
    permits = Permits(2)
    assert taken(permits, "a") == 1
    assert permits.may_take("b")


def test_released_permits_can_be_taken_again() -> None:
    permits = Permits(4)
    permits.take("a")
    permits.release("a")
    assert permits.in_flight == 0
    assert permits.held("a") == 0
