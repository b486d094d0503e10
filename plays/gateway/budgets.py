"""The sentences of used-up limits. Pure; the arithmetic is in the claim's statement."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from plays.tools.definitions import Failure

COUNTED = {
    "max_tool_call_count": ("tool calls", "max_tool_calls_per_row"),
    "max_retry_count": ("retries", "max_retries_per_row"),
    "max_waterfall_step_executions": ("waterfall steps", None),
    "max_credits": ("credits", None),
}
"""By limit: what it counts, and the limit that adds to it for each row."""


def used_up(limit: str, limits: Mapping[str, Any], rows: int) -> Failure:
    """Give the failure of a call that a limit of its run refuses; ``rows`` are the run's rows so far."""
    counted, per_row = COUNTED[limit]
    value, names = _number(limits[limit]), f"{limit} {_number(limits[limit]):f}"
    each = _number(limits.get(per_row) or 0) if per_row else Decimal(0)
    if each:
        value += each * rows
        names = f"{names} + {per_row} {each:f} x {rows} rows"
    message = (
        f"This run has used up its limit of {value:f} {counted} ({names})."
        f" An administrator can raise {limit} on this run in the admin under Runs;"
        " new runs take it from their governance profile."
    )
    return Failure("limit_reached", "limit", message, was_sent=False)


def _number(value: Any) -> Decimal:
    return Decimal(str(value)).normalize()
