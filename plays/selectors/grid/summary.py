"""A run as the head of its page shows it: status, counts that add up, spending and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from plays.exports import cell_text
from plays.models import MapFrame, Run, RunRequest, RunStatus, RunUsage, ToolCall
from plays.selectors.grid.columns import frame_columns, is_hidden
from plays.selectors.grid.query import NOT_STARTED
from plays.selectors.waits import waits_summary
from runtime.events import StopReason
from runtime.halt import STOPPING

PAUSABLE = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)

VALUE_CHARACTERS = 20_000
"""A value that a run returned is shown up to here."""


def run_state(run: Run) -> dict[str, Any]:
    """Give what changes of a run while it lives, its maps apart; times in ISO 8601."""
    return {
        "id": str(run.pk),
        "status": run.status,
        "requested": run.requested,
        "stop_reason": run.stop_reason,
        "stop_message": run.stop_message,
        "stopped_by": stopping_provider(run),
        "left_out": run.left_out,
        "is_live": run.is_live,
        "sequence": run.sequence,
        "counters": run.counters,
        "error": run.error,
        "result": _result(run),
        "may": run_possible(run),
        "created_at": _iso(run.created_at),
        "started_at": _iso(run.started_at),
        "finished_at": _iso(run.finished_at),
        "gauges": run_gauges(run),
        "isolation": _isolation(run),
        "waits": waits_summary(run),
    }


def stopping_provider(run: Run) -> str:
    """Give the provider for whose refusal the run is paused, as its newest calls tell, or ""."""
    if run.status != RunStatus.PAUSED or run.stop_reason != StopReason.PROVIDER:
        return ""
    refusals = [category for category, why in STOPPING.items() if why is StopReason.PROVIDER]
    refused = ToolCall.objects.filter(run=run, status="failed", error__category__in=refusals)
    newest = refused.order_by("-finished_at").values_list("provider", flat=True).first()
    return newest or ""


def _isolation(run: Run) -> str:
    """Give what keeps the play apart from its machine, or "" where no worker has begun it."""
    told = run.participants.filter(role="engine").values_list("isolation", flat=True)
    return told.first() or ""


def run_possible(run: Run) -> dict[str, bool]:
    """Give what may be done to a run as it stands, by the name of the action."""
    is_held = run.status == RunStatus.RUNNING and run.requested != RunRequest.NONE
    return {
        "pause": run.status in PAUSABLE and not is_held,
        "resume": run.status == RunStatus.PAUSED,
        "resume_without": stopping_provider(run) not in ("", *run.left_out),
        "cancel": run.is_live and run.requested != RunRequest.CANCEL,
        "retry": not run.is_live,
    }


def run_gauges(run: Run) -> list[dict[str, Any]]:
    """Give what the run's tree has spent, each with its limit; null is no limit.

    Limits that grow with the rows are given as they stand for the rows sealed so far.
    """
    root = run if run.root_id in (None, run.pk) else run.root
    assert root is not None
    usage = RunUsage.objects.filter(run=root).first() or RunUsage(run=root)
    limits = root.limits
    rows = root.counters.get("rows", 0)
    return [
        _gauge("credits", usage.credits_spent, limits.get("max_credits"), usage.credits_reserved),
        _gauge("tool_calls", usage.tool_calls, _growing(limits, "tool_call", rows)),
        _gauge("retries", usage.retries, _growing(limits, "retry", rows)),
        _gauge("requests", usage.requests, None),
    ]


def run_frames(run: Run) -> list[dict[str, Any]]:
    """Give the run's maps in the order in which they were opened, with their totals."""
    return [frame_state(frame) for frame in MapFrame.objects.filter(run=run).order_by("id")]


def frame_state(frame: MapFrame) -> dict[str, Any]:
    """Give a map: its columns, and counts by status of rows and of every field's cells.

    Each adds up to ``total``: rows not counted are pending, cells not counted are not started.
    """
    names = [field["name"] for field in frame.fields if not is_hidden(field["name"])]
    return {
        "id": frame.pk,
        "title": frame.title or frame.table,
        "table": frame.table,
        "description": frame.description,
        "key": frame.key,
        "is_sealed": frame.is_sealed,
        "total": frame.total,
        "columns": [
            {"name": column.name, "kind": column.kind, "parent": column.parent}
            for column in frame_columns(frame.columns, frame.fields)
        ],
        "rows": _adding_up(frame.row_totals, frame.total, "pending"),
        "fields": {
            name: _adding_up(frame.totals.get(name, {}), frame.total, NOT_STARTED) for name in names
        },
    }


def _adding_up(counted: Mapping[str, int], total: int, rest: str) -> dict[str, int]:
    counts = {status: count for status, count in counted.items() if count}
    missing = total - sum(counts.values())
    if missing > 0:
        counts[rest] = counts.get(rest, 0) + missing
    return counts


def _result(run: Run) -> dict[str, Any] | None:
    """Give what the run returned: a table without its columns, or a value as JSON text."""
    if run.result is None:
        return None
    table = run.result.get("dataset")
    if table is None:
        text = cell_text(run.result.get("value"))
        return {"kind": "value", "text": text[:VALUE_CHARACTERS], "length": len(text)}
    return {"kind": table.get("kind"), "frame": table.get("frame"), "count": table.get("count")}


def _growing(limits: Mapping[str, Any], what: str, rows: int) -> int | None:
    fixed = limits.get(f"max_{what}_count")
    plural = "retries" if what == "retry" else f"{what}s"
    return None if fixed is None else fixed + limits.get(f"max_{plural}_per_row", 0) * rows


def _gauge(
    name: str, used: Decimal | int, limit: Any, reserved: Decimal | int = 0
) -> dict[str, Any]:
    return {
        "name": name,
        "used": float(used),
        "reserved": float(reserved),
        "limit": None if limit is None else float(limit),
    }


def _iso(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat()
