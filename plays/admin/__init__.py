"""The administration: everything recorded, to look at, and what an operator may change.

One module per concern. What the engine, the gateway or a service writes is read-only here
(`engine_owned`); an operator's changes are confirmed and logged (`confirming`) and go through the same
services as those of the pages. Nothing here knows how a run is executed.
"""

from __future__ import annotations

from django.contrib import admin

from plays.admin import (
    access,
    audit,
    durable,
    execution,
    governance,
    grid,
    ledger,
    play,
    policies,
    queues,
    runs,
    uploads,
    waits,
)

__all__ = [
    "access",
    "audit",
    "durable",
    "execution",
    "governance",
    "grid",
    "ledger",
    "play",
    "policies",
    "queues",
    "runs",
    "uploads",
    "waits",
]

admin.site.site_header = "Deepline administration"
admin.site.site_title = "Deepline administration"
admin.site.index_title = "Overview"
