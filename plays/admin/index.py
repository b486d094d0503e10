"""The order of the administration's index: by what a person looks for, not by which package made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

GROUPS: Mapping[str, Sequence[str]] = {
    "Runs": ("Run", "MapFrame", "RowState", "LogLine", "TraceStep", "RunUsage"),
    "Gateway": ("ToolCall", "ToolPolicy"),
    "Plays and files": ("Play", "Revision", "Upload"),
    "Limits": ("GovernanceProfile",),
    "Durability": (
        *("RunParticipant", "CheckpointEntry", "Receipt"),
        *("Boundary", "EarlyAnswer", "LateAnswer"),
    ),
    "Queues and workers": ("Dashboard",),
    "People": ("Workspace", "Membership", "User", "Group"),
    "Audit": ("LogEntry",),
}

TITLES: Mapping[str, str] = {
    "Dashboard": "Queues, jobs and workers",
    "LogEntry": "What administrators did",
}


def grouped(apps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Arrange the index's models in groups; models of other packages keep their own group at the end.

    Takes and gives what ``AdminSite.get_app_list`` gives: apps that each hold their models.
    """
    models = {model["object_name"]: model for app in apps for model in app["models"]}
    named = {name for names in GROUPS.values() for name in names}
    groups = [
        _group(title, [_titled(models[name]) for name in names if name in models])
        for title, names in GROUPS.items()
    ]
    others = [
        {**app, "models": [model for model in app["models"] if model["object_name"] not in named]}
        for app in apps
    ]
    return [group for group in [*groups, *others] if group["models"]]


def _group(title: str, models: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Make a group that looks like an app; its heading leads to its first list."""
    first = models[0]["admin_url"] if models else ""
    return {
        "name": title,
        "app_label": title.split()[0].lower(),
        "app_url": first,
        "models": models,
    }


def _titled(model: Mapping[str, Any]) -> Mapping[str, Any]:
    title = TITLES.get(model["object_name"])
    return {**model, "name": title} if title else model
