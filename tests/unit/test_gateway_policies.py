"""What holds for a tool: what its folder says, under what administrators set."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from plays.tools import catalogue
from plays.tools.definitions import Tool
from plays.tools.policies import COLUMNS, Bucket, Policies, PolicyInvalid

FINDER = catalogue().tool("sandbox_a_email_finder")
assert FINDER


def row(provider: str, tool: str = "", **columns: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(COLUMNS)
    return {
        **nothing, "provider": provider, "tool": tool, "is_enabled": True, "windows": [], **columns,
    }  # fmt: skip


def test_without_policies_the_folders_own_values_hold() -> None:
    policy = Policies().policy(FINDER)

    assert (policy.price, policy.batch_size, policy.unusable) == (0.2, 100, "")
    assert (policy.hit_life_seconds, policy.miss_life_seconds) == (None, None)
    assert policy.buckets == (Bucket("sandbox_a"),)


def test_the_narrower_level_wins_column_by_column() -> None:
    policies = Policies(
        [
            row("sandbox", price=Decimal("9"), hit_life_seconds=90, batch_size=70),
            row("sandbox_a", price=Decimal("5"), hit_life_seconds=50),
            row("sandbox_a", FINDER.id, price=Decimal("0")),
        ]
    )
    policy = policies.policy(FINDER)

    assert (policy.price, policy.hit_life_seconds, policy.batch_size) == (0.0, 50, 70)


def test_a_batch_is_never_made_larger_than_its_provider_takes() -> None:
    assert Policies([row("sandbox_a", batch_size=500)]).policy(FINDER).batch_size == 100
    assert Policies([row("sandbox_a", batch_size=0)]).policy(FINDER).batch_size == 1


def test_windows_count_at_the_level_that_sets_them() -> None:
    policies = Policies(
        [
            row("sandbox_a", windows=[[100, 60]], concurrency=4),
            row("sandbox_a", FINDER.id, windows=[[5, 1], [1000, 86400]]),
        ]
    )

    assert set(policies.policy(FINDER).buckets) == {
        Bucket("sandbox_a", ((100, 60.0),), 4),
        Bucket(FINDER.id, ((5, 1.0), (1000, 86400.0))),
    }


def test_a_policy_of_a_provider_replaces_the_windows_of_its_folder() -> None:
    tool = replace(FINDER, windows=((10, 1.0),), concurrency=3)

    assert Policies().policy(tool).buckets == (Bucket("sandbox_a", ((10, 1.0),), 3),)
    policy = Policies([row("sandbox_a", windows=[[20, 1]])]).policy(tool)
    assert policy.buckets == (Bucket("sandbox_a", ((20, 1.0),), 3),)


@pytest.mark.parametrize(
    "off", [row("sandbox"), row("sandbox_a"), row("sandbox_a", "sandbox_a_email_finder")]
)
def test_a_tool_can_be_switched_off_at_any_level(off: dict[str, Any]) -> None:
    spec = Policies([{**off, "is_enabled": False}]).spec(FINDER)

    assert spec.unusable.startswith("sandbox_a_email_finder is switched off")


@pytest.mark.parametrize(
    "windows", ["fast", [5], [[5]], [[0, 1]], [[5, 0]], [[5, -1]], [["x", 1]], [[5, float("inf")]]]
)
def test_windows_that_cannot_be_read_are_not_guessed_at(windows: Any) -> None:
    with pytest.raises(PolicyInvalid, match="the windows of the tool policy sandbox_a"):
        Policies([row("sandbox_a", windows=windows)]).policy(FINDER)


def test_the_specification_that_the_engine_gets_follows_the_policy() -> None:
    spec = Policies(
        [row("sandbox_a", price=Decimal("1.5"), batch_size=10, linger_seconds=0.5)]
    ).spec(FINDER)

    assert (spec.price, spec.linger_seconds) == (1.5, 0.5)
    assert spec.batch is not None
    assert spec.batch.size == 10


def test_a_tool_may_have_a_bucket_of_its_own() -> None:
    tool: Tool | None = catalogue().tool("test_rate_limit")
    assert tool

    assert Policies().policy(tool).buckets == (Bucket("test_rate_limit"),)
