"""Old page + changes since = new page: for every kind of change, and with half of the hints lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plays.models import Workspace
from plays.outbox import Outbox
from plays.selectors.grid import RowsQuery, rows_page, run_look, shown_rows
from runtime.events import CellStatus, RowStatus, RunStatus
from tests.fake_runs import FakeRun, field_form, make_run
from tests.integration.run_sockets import Mirror

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 6
FIELDS = ("_hidden", "email", "verdict")
PART = "email.hunter"

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=6,
)
cells = st.fixed_dictionaries(
    {"status": st.sampled_from(list(CellStatus))},
    optional={
        "provider": st.sampled_from(["sandbox_a", "sandbox_b"]),
        "stage": st.just("sandbox_a_email_finder"),
        "error": st.fixed_dictionaries({"message": st.text("x ", max_size=400)}),
        "reason": st.text("why ", max_size=20),
        "partial": st.booleans(),
        "at": st.floats(1e9, 2e9),
        "attempts": st.just([{"tool": "t", "status": "no_result"}]),
    },
)
names = st.sampled_from([*FIELDS, PART])
# A value is committed with a state of its cell; a state may be committed without one.
changed_cells = st.dictionaries(names, st.tuples(cells, st.none() | st.tuples(values)), max_size=3)
row_changes = st.tuples(
    st.integers(0, ROWS - 1), st.none() | st.sampled_from(list(RowStatus)), changed_cells
)
groups = st.lists(row_changes, min_size=1, max_size=4)
steps = st.one_of(
    st.tuples(st.just("write"), groups),
    st.tuples(st.just("log"), st.lists(st.text("abc", max_size=5), min_size=1, max_size=3)),
    st.tuples(st.just("status"), st.sampled_from(list(RunStatus))),
)
heard = st.booleans()
windows = st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS - 1)).map(sorted)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(story=st.lists(st.tuples(steps, heard, st.none() | windows), min_size=1, max_size=12))
def test_an_old_page_and_the_changes_since_are_the_new_page(
    story: Sequence[tuple[tuple[str, Any], bool, list[int] | None]],
) -> None:

    play_story(story)


def play_story(story: Sequence[tuple[tuple[str, Any], bool, list[int] | None]]) -> None:
    fake = make_run(Workspace.objects.create(name=f"w{Workspace.objects.count()}"))
    fake.add_map(ROWS, fields=["_hidden", field_form("email", [PART]), "verdict"])
    browser = Browser(fake)
    for step, is_heard, window in story:
        take_step(fake, step)
        if is_heard:
            browser.look()
        if window is not None:
            browser.show(*window)
    browser.show(0, ROWS - 1)
    assert browser.rows() == stored_rows(fake)
    newest = run_look(fake.run.pk, 0, frozenset())
    assert orjson.loads(orjson.dumps(newest.state)) == browser.mirror.run
    assert orjson.loads(orjson.dumps(newest.frames)) == browser.mirror.frames
    assert sorted(browser.mirror.logs) == sorted(line["text"] for line in newest.logs)


def take_step(fake: FakeRun, step: tuple[str, Any]) -> None:
    kind, told = step
    if kind == "write":
        fake.write([(position, _change(status, named)) for position, status, named in told])
    elif kind == "log":
        fake.log(*told)
    else:
        fake.set(status=told)


def _change(status: RowStatus | None, named: dict[str, Any]) -> dict[str, Any]:
    return {
        "status": status,
        "cells": {name: cell for name, (cell, _) in named.items()},
        "values": {name: value[0] for name, (_, value) in named.items() if value},
    }


class Browser:
    """A page and its socket, without a network between them."""

    def __init__(self, fake: FakeRun) -> None:
        self.fake = fake
        self.mirror = Mirror()
        self.outbox = Outbox()
        self.fresh: dict[int, int] = {}
        page = rows_page(fake.frame, RowsQuery(), 0, ROWS)
        self.mirror.load(_travelled(page))
        self.fresh = dict.fromkeys(range(ROWS), page.sequence)
        self.shown: list[int] = []
        self.sequence = 0
        self._take(0)

    def look(self) -> None:
        """A hint arrived: take what is above the reader's sequence."""
        self._take(self.sequence)
        self.fresh.update(dict.fromkeys(self.shown, self.sequence))

    def show(self, first: int, last: int) -> None:
        """Scroll: say what is shown, and up to where that is known."""
        self.shown = list(range(first, last + 1))
        self.outbox.show(1, shown_rows(self.fake.frame.pk, first, last))
        self._take(min(self.fresh[position] for position in self.shown))
        self.fresh.update(dict.fromkeys(self.shown, self.sequence))

    def rows(self) -> dict[int, Any]:
        return {
            position: {"status": row["status"], "cells": row["cells"]}
            for position, row in self.mirror.rows.items()
        }

    def _take(self, since: int) -> None:
        look = run_look(self.fake.run.pk, since, self.outbox.shown)
        self.sequence = look.sequence
        self.outbox.take(look)
        self.mirror.apply(orjson.loads(orjson.dumps(_message(self.outbox))))


def _message(outbox: Outbox) -> dict[str, Any]:
    """Take what waits: as the socket does, which never has to wait here."""
    coroutine = outbox.message()
    try:
        coroutine.send(None)
    except StopIteration as given:
        message: dict[str, Any] = given.value
        return message
    raise AssertionError("nothing waits")


def _travelled(page: Any) -> Any:
    """Give the page as it is after its way to the browser."""
    page.rows[:] = orjson.loads(orjson.dumps(page.rows))
    return page


def stored_rows(fake: FakeRun) -> dict[int, Any]:
    page = _travelled(rows_page(fake.frame, RowsQuery(), 0, ROWS))
    return {row["position"]: {"status": row["status"], "cells": row["cells"]} for row in page.rows}
