"""What holds for a tool now: what its folder declares, under what administrators set. Pure but for one read.

Policies apply at three levels, the narrower over the wider: the service (``sandbox``), the provider
(``sandbox_a``), the tool. Windows and concurrency are different: they count at the level that sets them,
so that a provider's window counts all of its tools together and a tool's own window counts besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plays.models import ToolPolicy
from plays.tools import catalogue
from plays.tools.definitions import Tool
from runtime.tools import ToolSpec

Row = Mapping[str, Any]
"""One ToolPolicy by column name."""

COLUMNS = (
    "provider", "tool", "is_enabled", "windows", "concurrency", "batch_size", "linger_seconds", "price",
    "hit_life_seconds", "miss_life_seconds",
)  # fmt: skip


class PolicyInvalid(Exception):
    """A policy that cannot be obeyed, because it cannot be understood."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is counted together: windows of (requests, seconds), and requests at a time (None: any)."""

    name: str
    windows: tuple[tuple[int, float], ...] = ()
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one tool. ``unusable``: why it must not be asked, or ""."""

    price: float
    batch_size: int
    linger_seconds: float | None
    hit_life_seconds: float | None
    miss_life_seconds: float | None
    buckets: tuple[Bucket, ...]
    unusable: str = ""


class Policies:
    """All policies that are set, by the level that they apply to."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._by_tool: dict[str, Row] = {}
        self._by_provider: dict[str, Row] = {}
        for row in rows:
            index = self._by_tool if row["tool"] else self._by_provider
            index[row["tool"] or row["provider"]] = row

    def policy(self, tool: Tool) -> Policy:
        """Give what holds for a tool. Raises PolicyInvalid where its windows cannot be read."""
        rows = self._rows(tool)
        size = tool.spec.batch.size if tool.spec.batch else 1
        off = next((row for row in rows if not row["is_enabled"]), None)
        return Policy(
            price=float(_narrowest(rows, "price", tool.spec.price)),
            batch_size=max(1, min(size, _narrowest(rows, "batch_size", size))),
            linger_seconds=_narrowest(rows, "linger_seconds", tool.spec.linger_seconds),
            hit_life_seconds=_narrowest(rows, "hit_life_seconds", tool.hit_life_seconds),
            miss_life_seconds=_narrowest(rows, "miss_life_seconds", tool.miss_life_seconds),
            buckets=self._buckets(tool, rows),
            unusable=f"{tool.id} is switched off (Tool policies, {_name(off)})" if off else "",
        )

    def spec(self, tool: Tool) -> ToolSpec:
        """Give a tool's specification as it holds now."""
        policy = self.policy(tool)
        form = tool.spec.batch
        return replace(
            tool.spec,
            price=policy.price,
            linger_seconds=policy.linger_seconds,
            unusable=policy.unusable or tool.spec.unusable,
            batch=replace(form, size=policy.batch_size) if form else None,
        )

    def _rows(self, tool: Tool) -> list[Row]:
        """Give the policies of a tool, the narrowest first."""
        levels = (
            self._by_tool.get(tool.id),
            self._by_provider.get(tool.provider),
            self._by_provider.get(tool.service.id) if tool.service.id != tool.provider else None,
        )
        return [row for row in levels if row is not None]

    def _buckets(self, tool: Tool, rows: Sequence[Row]) -> tuple[Bucket, ...]:
        own = Bucket(tool.limits_bucket, tool.windows, tool.concurrency)
        buckets = {own.name: own}
        for row in rows:
            name = _name(row)
            default = buckets.get(name, Bucket(name))
            buckets[name] = Bucket(
                name,
                _windows(row) or default.windows,
                row["concurrency"] if row["concurrency"] is not None else default.concurrency,
            )
        return tuple(buckets.values())


def specs_for(ids: Iterable[str]) -> list[ToolSpec]:
    """Read the policies and give the specifications of those ids that the catalogue holds, in order.

    Uses the ORM, so it blocks. A tool whose policy cannot be understood comes as unusable, with the reason.
    """
    policies = Policies(ToolPolicy.objects.values(*COLUMNS))
    known = catalogue()
    return [_spec(policies, tool) for tool_id in ids if (tool := known.tool(tool_id))]


def _spec(policies: Policies, tool: Tool) -> ToolSpec:
    try:
        return policies.spec(tool)
    except PolicyInvalid as error:
        return replace(tool.spec, unusable=str(error))


def _narrowest(rows: Sequence[Row], column: str, default: Any) -> Any:
    return next((row[column] for row in rows if row[column] is not None), default)


def _name(row: Row) -> str:
    return str(row["tool"] or row["provider"])


def _windows(row: Row) -> tuple[tuple[int, float], ...]:
    try:
        windows = tuple((int(most), float(seconds)) for most, seconds in row["windows"])
    except (TypeError, ValueError) as error:
        raise _unreadable(row) from error
    if any(most < 1 or not 0 < seconds < float("inf") for most, seconds in windows):
        raise _unreadable(row)
    return windows


def _unreadable(row: Row) -> PolicyInvalid:
    return PolicyInvalid(
        f"the windows of the tool policy {_name(row)} cannot be read: give a list of [requests, seconds]"
    )
