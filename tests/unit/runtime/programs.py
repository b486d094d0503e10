"""Small plays that tests are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from runtime import play
from runtime.context import Context
from runtime.program import Play


def mapped(*named: tuple[str, Any], rows: Any = None, **options: Any) -> Play:
    """A play of one map over the uploaded rows (or ``rows``)."""

    @play("mapped")
    async def mapped_play(ctx: Context, given: Any) -> Any:
        source = await ctx.csv(given["rows"]) if rows is None else rows
        table = ctx.map("rows", source, key=options.get("key"))
        for name, resolver in named:
            table = table.step(name, resolver)
        return await table.run(on_row_error=options.get("on_row_error", "isolate"))

    return mapped_play


def top(function: Callable[[Context], Awaitable[Any]]) -> Play:
    """A play without a map, of a function of ``ctx`` alone."""

    @play("top")
    async def top_play(ctx: Context, given: Any) -> Any:
        return await function(ctx)

    return top_play


async def rows_of(dataset: Any) -> Any:
    """What a play returns to show a dataset's rows."""
    return await dataset.materialize()
