"""The limits of a run whose profile says nothing."""

from __future__ import annotations

from plays.models import GovernanceProfile
from runtime.childlimits import ChildCounts, refusal


def test_a_profile_that_says_nothing_has_the_documented_limits() -> None:
    # rule 1.11
    profile = GovernanceProfile(name="new")
    assert {
        name: getattr(profile, name)
        for name in (
            "max_play_call_depth",
            "max_play_call_count",
            "max_child_play_calls_per_parent",
            "max_descendants",
            "max_concurrent_play_calls",
            "max_tool_call_count",
            "max_retry_count",
            "max_concurrent_tool_calls",
            "max_waterfall_step_executions",
        )
    } == {
        "max_play_call_depth": 6,
        "max_play_call_count": 32,
        "max_child_play_calls_per_parent": 16,
        "max_descendants": 64,
        "max_concurrent_play_calls": 16,
        "max_tool_call_count": 500,
        "max_retry_count": 200,
        "max_concurrent_tool_calls": 32,
        "max_waterfall_step_executions": None,
    }


def test_child_plays_have_the_same_limits_where_a_run_has_none() -> None:
    # rule 1.11
    for counts, name in (
        (ChildCounts(31, 15, 63), ""),
        (ChildCounts(32, 0, 0), "max_play_call_count (32"),
        (ChildCounts(0, 16, 0), "max_child_play_calls_per_parent (16"),
        (ChildCounts(0, 0, 64), "max_descendants (64"),
    ):
        told = refusal(counts, {}, rows=0, play="child")
        assert name in told
        assert bool(told) == bool(name)
