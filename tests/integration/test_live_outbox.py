"""What waits for a slow browser: the newest state, never a queue."""

from __future__ import annotations

from typing import Any

from plays.models.grid import row_id
from plays.outbox import Outbox
from plays.selectors.grid import RunLook

FRAME = 3


def patch(position: int, sequence: int, status: str = "running", **cells: str) -> dict[str, Any]:
    told = {name: {"status": state, "sequence": sequence} for name, state in cells.items()}
    return {
        "frame": FRAME,
        "position": position,
        "status": status,
        "sequence": sequence,
        "cells": told,
    }


def look(sequence: int, *rows: dict[str, Any], logs: int = 0) -> RunLook:
    lines = [{"id": sequence * 1_000 + n, "text": f"{sequence}.{n}"} for n in range(logs)]
    state = {"sequence": sequence}
    patches = {row_id(FRAME, row["position"]): row for row in rows}
    return RunLook(sequence, True, state, [{"id": FRAME, "total": sequence}], patches, lines)


# case W2
async def test_a_browser_that_does_not_read_costs_no_more_than_its_view() -> None:
    outbox = Outbox()
    outbox.show(1, frozenset(row_id(FRAME, position) for position in range(50)))
    for sequence in range(1, 3_001):
        rows = [patch(position, sequence, email="running") for position in range(0, 100, 7)]
        outbox.take(look(sequence, *rows, logs=5))

    message = await outbox.message()

    assert message["sequence"] == 3_000
    assert message["run"] == {"sequence": 3_000}
    assert sorted(row["position"] for row in message["rows"]) == [0, 7, 14, 21, 28, 35, 42, 49]
    assert {row["sequence"] for row in message["rows"]} == {3_000}
    assert len(message["logs"]) == 200
    assert message["logs"][-1]["text"] == "3000.4"


async def test_patches_of_a_row_join_whatever_their_order() -> None:
    outbox = Outbox()
    outbox.show(1, frozenset([row_id(FRAME, 0)]))
    outbox.take(look(9, patch(0, 9, "completed", email="completed")))
    outbox.take(look(9, patch(0, 5, "running", email="queued", verdict="queued")))

    (row,) = (await outbox.message())["rows"]

    assert row["status"] == "completed"
    assert {name: cell["status"] for name, cell in row["cells"].items()} == {
        "email": "completed",
        "verdict": "queued",
    }


async def test_rows_that_are_not_shown_any_more_are_not_sent() -> None:
    outbox = Outbox()
    outbox.show(1, frozenset([row_id(FRAME, 0), row_id(FRAME, 1)]))
    outbox.take(look(2, patch(0, 2), patch(1, 2), patch(2, 2)))
    outbox.show(2, frozenset([row_id(FRAME, 1), row_id(FRAME, 2)]))

    message = await outbox.message()

    assert message["view"] == 2
    assert [row["position"] for row in message["rows"]] == [1]


async def test_what_did_not_change_is_not_sent_again() -> None:
    outbox = Outbox()
    outbox.take(look(2, logs=1))
    await outbox.message()
    outbox.show(1, frozenset())
    outbox.take(look(2, logs=1))
    assert await outbox.message() == {"type": "changes", "sequence": 2, "view": 1}
