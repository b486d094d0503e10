"""Paging through tables of any size without counting them.

Django's own paginator begins each list with a COUNT(*) over the table, which takes seconds where the
gateway's ledger or the rows of maps have millions of lines. Here the size of a whole table is the planner's
estimate, and whatever is narrowed down is counted up to a bound. Knows querysets; knows no model.
"""

from __future__ import annotations

from functools import cached_property
from math import ceil
from typing import Any

from django.core.paginator import Paginator
from django.db import connections
from django.db.models import QuerySet

BOUND = 10_000
"""Rows that are counted, and that can be paged through: OFFSET reads all that it skips."""


class BoundedPaginator(Paginator[Any]):
    """Pages the first ``BOUND`` rows of a queryset; further ones are reached by filter and search."""

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        """How many rows there are: exact up to ``BOUND``, beyond it an estimate, or ``BOUND`` + 1."""
        return self._estimate or self._counted

    @cached_property
    def num_pages(self) -> int:
        return max(1, ceil(min(self.count, BOUND) / self.per_page))

    @cached_property
    def note(self) -> str:
        """What a list says about a count that is not exact; empty where it is."""
        if self.count <= BOUND:
            return ""
        size = f"About {self.count:,}" if self._estimate else f"More than {BOUND:,}"
        return (
            f"{size}. The first {BOUND:,} can be paged through; filters and search reach the rest."
        )

    @cached_property
    def _estimate(self) -> int:
        """The planner's idea of the whole table; 0 where it is filtered or perhaps small.

        A small or stale estimate is never used: a list that believed it would load the table whole.
        """
        if self.object_list.query.where:
            return 0
        estimate = table_estimate(self.object_list)
        return estimate if estimate > BOUND else 0

    @cached_property
    def _counted(self) -> int:
        return self.object_list.order_by().values("pk")[: BOUND + 1].count()


def table_estimate(rows: QuerySet[Any]) -> int:
    """Return how many rows PostgreSQL believes the queryset's table to have; -1: never analysed."""
    connection = connections[rows.db]
    table = connection.ops.quote_name(rows.model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [table])
        found: tuple[int] = cursor.fetchone()
    return found[0]
