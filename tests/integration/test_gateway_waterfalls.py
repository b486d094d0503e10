"""What the gateway counts of a waterfall: each tool that it asks, and no retry."""

from __future__ import annotations

from typing import Any

from tests.integration.gateway_calls import ADA, A, C, key, set_run, usage

WATERFALL = {"x-deepline-waterfall": "1"}


def test_each_tool_asked_is_a_step_and_going_on_spends_no_retry(
    start_calls: Any,
) -> None:
    # rule 8.9, 9.3
    calls = start_calls()
    limits = {"max_retry_count": 0, "max_waterfall_step_executions": 2}
    set_run(calls.run, limits=limits)
    nobody = {**ADA, "domain": "nowhere.example"}
    for number, tool in enumerate((A, C)):
        assert calls.single(tool, nobody, key(number), **WATERFALL).status_code == 200
    third = calls.single(A, {**ADA, "domain": "third.example"}, key(3), **WATERFALL)
    assert "max_waterfall_step_executions" in third.text
    assert calls.single(A, ADA, key(4)).status_code == 200
    used = usage(calls.run)
    assert (used.waterfall_steps, used.retries, used.tool_calls) == (2, 0, 3)
