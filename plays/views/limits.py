"""The limits that a new run will begin with, in words, before it is started."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from plays.models import GovernanceProfile, Upload
from plays.services.governance import profile_default


@dataclass(frozen=True, slots=True)
class LimitLine:
    """One limit: what it counts, how much it allows, and how that comes about."""

    title: str
    allows: str
    rule: str


def limit_lines(uploads: Collection[Upload]) -> list[LimitLine]:
    """Give the limits of a run over these uploads; without one, those per row as a rule."""
    profile = profile_default()
    rows = sum(upload.record_count for upload in uploads) if uploads else None
    return [
        _per_row("Tool calls", profile.max_tool_call_count, profile.max_tool_calls_per_row, rows),
        _per_row("Retries", profile.max_retry_count, profile.max_retries_per_row, rows),
        LimitLine("Requests at once", f"{profile.max_concurrent_tool_calls:,}", ""),
        _credits(profile),
        _time(profile),
    ]


def _per_row(title: str, base: int, each: int, rows: int | None) -> LimitLine:
    rule = f"{base:,} + {each:,} per row"
    if rows is None:
        return LimitLine(title, rule, "")
    return LimitLine(title, f"{base + each * rows:,}", rule)


def _credits(profile: GovernanceProfile) -> LimitLine:
    limit = profile.max_credits
    allows = "No limit" if limit is None else f"{Decimal(limit).normalize():f}"
    return LimitLine("Credits", allows, "")


def _time(profile: GovernanceProfile) -> LimitLine:
    seconds = profile.max_runtime_seconds
    return LimitLine("Time", "No limit" if seconds is None else f"{seconds:,} s", "")
