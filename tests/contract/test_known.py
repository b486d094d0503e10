"""What sealing takes over from earlier runs of the same table."""

from __future__ import annotations

from typing import Any

from runtime.ports import Cell, FrameForm, NewRow
from tests.contract.forms import change, done, field_form, frame_form, group, new_rows
from tests.contract.worlds import Joined, World

EMAIL, VERDICT = field_form("email"), field_form("verdict")


async def first_run(world: World, run: str = "first") -> None:
    """Store a run of rows a to e: done, missed, failed, cancelled, never begun."""
    ports = await world.join(run)
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b", "c", "d", "e")
    await ports.rows.claim(frame, 4)
    entry = {"name": "map/c/verdict/step", "frame": frame, "position": 2, "value": 7}
    await ports.records.commit(
        group(
            change(frame, 0, "completed", values={"email": "a@x", "verdict": "v"}, cells=both()),
            change(
                frame,
                1,
                "completed",
                values={"email": None, "verdict": "none"},
                cells={"email": done(status="missed"), "verdict": done()},
            ),
            change(
                frame,
                2,
                "failed",
                values={"email": "c@x"},
                cells={"email": done(), "verdict": {"status": "failed", "reason": "down"}},
            ),
            change(frame, 3, "cancelled", cells={"email": {"status": "cancelled"}}),
            entries=[entry],
        )
    )


def both() -> dict[str, Cell]:
    return {"email": done(), "verdict": done()}


async def seal(ports: Joined, form: FrameForm, *keys: str) -> int:
    opened = await ports.rows.open_map(form)
    await ports.rows.add_page(opened["frame"], new_rows(*keys))
    assert (await ports.rows.seal(opened["frame"]))["duplicate_keys"] == 0
    return opened["frame"]


async def claimed(ports: Joined, frame: int) -> dict[str, dict[str, Any]]:
    """Claim all rows; give the known values by row key and field."""
    rows = await ports.rows.claim(frame, 100)
    return {row["key"]: row["values"] for row in rows}


async def test_known_cells_come_with_a_pending_row(world: World) -> None:
    await first_run(world)
    ports = await world.join("second")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "new", "b", "a")
    rows = {row["key"]: row for row in await ports.rows.claim(frame, 10)}
    assert rows["new"]["values"] == {}
    assert rows["a"]["values"] == {"email": "a@x", "verdict": "v"}
    assert rows["b"]["values"] == {"email": None, "verdict": "none"}
    assert rows["b"]["cells"]["email"]["status"] == "missed"
    assert rows["b"]["cells"]["email"]["origin"]
    assert (await world.frame("second")).adds_up()


async def test_a_copied_cell_has_no_sequence_of_this_run(world: World) -> None:
    await first_run(world)
    ports = await world.join("second")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a")
    (row,) = await ports.rows.claim(frame, 1)
    assert "sequence" not in row["cells"]["email"]


async def test_failed_and_cancelled_cells_are_not_known(world: World) -> None:
    await first_run(world)
    ports = await world.join("second")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "c", "d", "e")
    assert await claimed(ports, frame) == {"c": {"email": "c@x"}, "d": {}, "e": {}}


async def test_a_changed_step_is_not_known(world: World) -> None:
    await first_run(world)
    ports = await world.join("second")
    form = frame_form(EMAIL, field_form("verdict", "another digest"))
    assert await claimed(ports, await seal(ports, form, "a")) == {"a": {"email": "a@x"}}


async def test_a_step_without_a_digest_is_never_known(world: World) -> None:
    ports = await world.join("first")
    frame = await seal(ports, frame_form(field_form("email", "")), "a")
    await ports.rows.claim(frame, 1)
    cell = done(digest="")
    await ports.records.commit(
        group(change(frame, 0, "completed", values={"email": 1}, cells={"email": cell}))
    )
    ports = await world.join("second")
    frame = await seal(ports, frame_form(field_form("email", "")), "a")
    assert await claimed(ports, frame) == {"a": {}}


async def test_stale_cells_are_not_known(world: World) -> None:
    ports = await world.join("first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a")
    await ports.rows.claim(frame, 1)
    old: dict[str, Cell] = {"email": done(at=1_000.0), "verdict": done(at=1_000.0)}
    values = {"email": "old", "verdict": "old"}
    await ports.records.commit(group(change(frame, 0, "completed", values=values, cells=old)))
    ports = await world.join("second")
    form = frame_form(field_form("email", life=60.0), field_form("verdict", life=9e9))
    assert await claimed(ports, await seal(ports, form, "a")) == {"a": {"verdict": "old"}}


async def test_a_life_of_nothing_is_always_stale(world: World) -> None:
    ports = await world.join("first")
    form = frame_form(field_form("email", life=0.0))
    frame = await seal(ports, form, "a")
    await ports.rows.claim(frame, 1)
    just_now: dict[str, Cell] = {"email": done(at=1_699_999_999.0)}
    await ports.records.commit(
        group(change(frame, 0, "completed", values={"email": "x"}, cells=just_now))
    )
    ports = await world.join("second")
    assert await claimed(ports, await seal(ports, form, "a")) == {"a": {}}


async def test_manual_cells_are_known_whatever_the_step(world: World) -> None:
    ports = await world.join("first")
    frame = await seal(ports, frame_form(EMAIL), "a")
    await ports.rows.claim(frame, 1)
    by_hand: Cell = {"status": "manual"}
    await ports.records.commit(
        group(change(frame, 0, "completed", values={"email": "m@x"}, cells={"email": by_hand}))
    )
    ports = await world.join("second")
    frame = await seal(ports, frame_form(field_form("email", "changed")), "a")
    assert await claimed(ports, frame) == {"a": {"email": "m@x"}}


async def test_the_latest_earlier_row_counts_and_older_ones_fill_in(world: World) -> None:
    await first_run(world)
    ports = await world.join("second")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a")
    await ports.rows.claim(frame, 1)
    values = {"email": "newer", "verdict": "newer"}
    await ports.records.commit(group(change(frame, 0, "completed", values=values, cells=both())))
    ports = await world.join("third")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b")
    known = await claimed(ports, frame)
    assert known["a"]["email"] == "newer"
    assert known["b"]["verdict"] == "none"


async def test_another_table_knows_nothing(world: World) -> None:
    await first_run(world)
    ports = await world.join("second")
    frame = await seal(ports, frame_form(EMAIL, VERDICT, table="find_others"), "a")
    assert await claimed(ports, frame) == {"a": {}}


async def test_the_cells_of_a_waterfalls_steps_come_with_their_field(world: World) -> None:
    ports = await world.join("first")
    frame = await seal(ports, frame_form(EMAIL), "a")
    await ports.rows.claim(frame, 1)
    cells: dict[str, Cell] = {
        "email": done(),
        "finder.hunter": {"status": "missed", "part_of": "email"},
    }
    await ports.records.commit(
        group(change(frame, 0, "completed", values={"email": "e"}, cells=cells))
    )
    ports = await world.join("second")
    frame = await seal(ports, frame_form(EMAIL), "a")
    (row,) = await ports.rows.claim(frame, 1)
    assert row["cells"]["finder.hunter"]["status"] == "missed"
    stored = await world.frame("second")
    assert stored.parts == {"email": ["finder.hunter"]}
    assert stored.adds_up()


async def test_retrying_what_failed_runs_failed_and_unfinished_rows_only(world: World) -> None:
    await first_run(world)
    ports = await world.join("retry", selection={"rows": "failed"}, retry_of="first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b", "c", "d", "e")
    rows = {row["key"]: row for row in await ports.rows.claim(frame, 10)}
    assert sorted(rows) == ["c", "d", "e"]
    assert rows["c"]["values"] == {"email": "c@x"}
    assert rows["c"]["entries"] == {"map/c/verdict/step": 7}
    stored = await world.frame("retry")
    assert stored.rows[0]["status"] == "completed"
    assert stored.rows[0]["values"] == {"email": "a@x", "verdict": "v"}
    assert stored.adds_up()


async def test_sealing_a_retry_tells_how_many_rows_are_over_already(world: World) -> None:
    await first_run(world)
    ports = await world.join("retry", selection={"rows": "failed"}, retry_of="first")
    opened = await ports.rows.open_map(frame_form(EMAIL, VERDICT))
    await ports.rows.add_page(opened["frame"], new_rows("a", "b", "c"))
    assert (await ports.rows.seal(opened["frame"]))["settled"] == {"completed": 2}


async def test_retrying_everything_takes_nothing_over(world: World) -> None:
    await first_run(world)
    ports = await world.join("retry", selection={"rows": "all", "fields": None}, retry_of="first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b")
    assert await claimed(ports, frame) == {"a": {}, "b": {}}


async def test_retrying_one_column_keeps_the_others(world: World) -> None:
    await first_run(world)
    selection = {"rows": "all", "fields": ["verdict"]}
    ports = await world.join("retry", selection=selection, retry_of="first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b")
    assert await claimed(ports, frame) == {"a": {"email": "a@x"}, "b": {"email": None}}


async def test_retrying_one_row_leaves_the_others_as_they_were(world: World) -> None:
    await first_run(world)
    ports = await world.join("retry", selection={"rows": [0]}, retry_of="first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b", "c", "d", "e")
    assert await claimed(ports, frame) == {"a": {}}
    stored = await world.frame("retry")
    assert [stored.rows[n]["status"] for n in range(1, 5)] == [
        "completed",
        "failed",
        "cancelled",
        "cancelled",
    ]
    assert stored.rows[2]["cells"]["verdict"]["reason"] == "down"
    assert stored.adds_up()


async def test_retrying_what_is_empty_asks_misses_again(world: World) -> None:
    await first_run(world)
    ports = await world.join("retry", selection={"rows": "empty"}, retry_of="first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b", "c")
    assert await claimed(ports, frame) == {"b": {"verdict": "none"}, "c": {"email": "c@x"}}


async def test_retrying_an_empty_column_leaves_rows_that_have_it(world: World) -> None:
    await first_run(world)
    selection = {"rows": "empty", "fields": ["verdict"]}
    ports = await world.join("retry", selection=selection, retry_of="first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "a", "b", "c")
    assert sorted(await claimed(ports, frame)) == ["c"]


async def test_a_row_outside_the_selection_with_another_input_is_run(world: World) -> None:
    await first_run(world)
    ports = await world.join("retry", selection={"rows": [1]}, retry_of="first")
    opened = await ports.rows.open_map(frame_form(EMAIL, VERDICT))
    changed: NewRow = {"position": 0, "key": "a", "input": {"name": "a", "more": 1}}
    await ports.rows.add_page(opened["frame"], [changed])
    await ports.rows.seal(opened["frame"])
    assert await claimed(ports, opened["frame"]) == {"a": {"email": "a@x", "verdict": "v"}}


async def test_a_retry_looks_first_at_the_run_that_it_retries(world: World) -> None:
    await first_run(world)
    ports = await world.join("later")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "c")
    await ports.rows.claim(frame, 1)
    values = {"email": "later", "verdict": "later"}
    await ports.records.commit(group(change(frame, 0, "completed", values=values, cells=both())))
    ports = await world.join("retry", selection={"rows": "failed"}, retry_of="first")
    frame = await seal(ports, frame_form(EMAIL, VERDICT), "c")
    assert await claimed(ports, frame) == {"c": {"email": "c@x"}}
