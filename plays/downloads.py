"""A table as a file that a browser saves: written while it is sent, a piece at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

from channels.db import database_sync_to_async
from django.http import StreamingHttpResponse

from plays.exports import write_csv
from plays.selectors.grid.tables import Table


def table_response(table: Table, *, spreadsheet_safe: bool, bom: bool) -> StreamingHttpResponse:
    """Give the table as CSV. Memory holds one piece of it, however long it is.

    The pieces are asynchronous, because an ASGI server would gather those of a plain iterator first.
    """
    return StreamingHttpResponse(
        _pieces(table, spreadsheet_safe, bom),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{table.name}.csv"'},
    )


async def _pieces(table: Table, spreadsheet_safe: bool, bom: bool) -> AsyncIterator[bytes]:
    written = write_csv(table.rows, table.columns, spreadsheet_safe=spreadsheet_safe, bom=bom)
    next_piece = database_sync_to_async(partial(next, written, None), thread_sensitive=False)
    while (piece := await next_piece()) is not None:
        yield piece
