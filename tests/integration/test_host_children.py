"""Child plays on the real product: their limit pauses the run, and a raised one lets it go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.product import LiveProduct, StartProduct

if TYPE_CHECKING:
    from plays.models import Run

PARENT = b"""
import asyncio
from runtime import play


@play("parent")
async def parent(ctx, input):
    return await asyncio.gather(
        *(ctx.run_play(f"c{number}", "child", {"n": number}) for number in range(20))
    )
"""

CHILD = b"""
from runtime import play


@play("child")
async def child(ctx, input):
    return await ctx.step("double", lambda: input["n"] * 2)
"""


@pytest.fixture
def product(start_product: StartProduct) -> LiveProduct:
    from tests.integration.host_runs import QUICK

    return start_product(only=("gateway", "worker-1"), **QUICK)


def usage(run: Run) -> list[int]:
    from plays.models import RunUsage

    found = RunUsage.objects.get(run=run)
    return [found.play_calls, found.descendants]


def test_a_used_up_limit_on_children_pauses_the_run_and_counts_each_child_once(
    product: LiveProduct,
) -> None:
    # rule 4.1, 4.2, 13.5
    from plays.models import Workspace
    from plays.services.limits import run_limits_raise
    from plays.services.revisions import revision_publish
    from plays.services.runs import run_resume
    from tests.integration.host_runs import ended, start_run, until

    workspace, _ = Workspace.objects.get_or_create(name="Acme")
    revision_publish(workspace, None, "child.py", CHILD)
    run = start_run(1, source=PARENT)
    until(lambda: paused(run), "the limit")
    assert run.stop_reason == "limit"
    assert "max_child_play_calls_per_parent (16 " in run.stop_message
    assert "'child' would be one more" in run.stop_message
    assert usage(run) == [16, 16]

    run_limits_raise(run, {"max_child_play_calls_per_parent": 20})
    run_resume(run)
    assert ended(run).result == {"value": [number * 2 for number in range(20)]}
    assert usage(run) == [20, 20]


def paused(run: Run) -> bool:
    run.refresh_from_db()
    return run.status == "paused"
