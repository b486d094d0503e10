"""The ``Records`` port: groups of changes as one transaction."""

from __future__ import annotations

import pytest

from runtime.errors import HostFailed
from runtime.ports import Cell
from tests.contract.forms import change, done, group, trace_change, trace_results
from tests.contract.test_rows import loaded
from tests.contract.worlds import World


async def test_a_group_changes_rows_counters_and_the_sequence(world: World) -> None:
    # rule 14.7
    ports = await world.join()
    frame = await loaded(ports, "a", "b")
    await ports.rows.claim(frame, 2)
    before = (await world.run("one"))["sequence"]
    sequence = await ports.records.commit(
        group(
            change(frame, 0, "completed", values={"email": "x"}, cells={"email": done()}),
            change(frame, 1, cells={"email": {"status": "running", "stage": "asking a"}}),
            counters={"requests": 2, "members": 5},
        )
    )
    run = await world.run("one")
    assert sequence == run["sequence"] == before + 1
    assert run["counters"] == {"rows": 2, "requests": 2, "members": 5}
    stored = await world.frame("one")
    assert stored.rows[0]["values"] == {"email": "x"}
    assert stored.rows[0]["cells"]["email"] == {**done(), "sequence": sequence}
    assert stored.rows[1]["cells"]["email"]["stage"] == "asking a"
    assert stored.rows[1]["status"] == "running"
    assert stored.row_totals == {"completed": 1, "running": 1}
    assert stored.totals == {"email": {"completed": 1, "running": 1}}


async def test_counters_are_added_up(world: World) -> None:
    ports = await world.join()
    await ports.records.commit(group(counters={"requests": 2}))
    await ports.records.commit(group(counters={"requests": 3, "members": 1}))
    assert (await world.run("one"))["counters"] == {"requests": 5, "members": 1}


async def test_counts_follow_every_change_of_a_cell(world: World) -> None:
    # rule 14.7
    ports = await world.join()
    frame = await loaded(ports, "a", "b", "c")
    await ports.rows.claim(frame, 3)
    for status in ("queued", "running", "missed"):
        await ports.records.commit(
            group(*(change(frame, n, cells={"email": {"status": status}}) for n in range(3)))
        )
    await ports.records.commit(
        group(
            change(frame, 0, "completed"),
            change(frame, 1, "failed", cells={"verdict": {"status": "failed"}}),
            change(frame, 2, "cancelled", cells={"email": {"status": "cancelled"}}),
        )
    )
    stored = await world.frame("one")
    assert stored.totals == {"email": {"missed": 2, "cancelled": 1}, "verdict": {"failed": 1}}
    assert stored.row_totals == {"completed": 1, "failed": 1, "cancelled": 1}
    assert stored.adds_up()


async def test_a_change_replaces_only_the_cells_and_values_it_names(world: World) -> None:
    # case E5
    ports = await world.join()
    frame = await loaded(ports, "a")
    await ports.rows.claim(frame, 1)
    first = group(change(frame, 0, values={"email": 1}, cells={"email": done()}))
    await ports.records.commit(first)
    await ports.records.commit(
        group(change(frame, 0, values={"verdict": 2}, cells={"verdict": {"status": "running"}}))
    )
    stored = (await world.frame("one")).rows[0]
    assert stored["values"] == {"email": 1, "verdict": 2}
    assert stored["cells"]["email"]["status"] == "completed"
    assert stored["cells"]["email"]["sequence"] < stored["cells"]["verdict"]["sequence"]


async def test_two_changes_of_one_row_in_a_group_are_applied_in_order(world: World) -> None:
    # rule 14.7
    ports = await world.join()
    frame = await loaded(ports, "a")
    await ports.rows.claim(frame, 1)
    await ports.records.commit(
        group(
            change(frame, 0, "completed", values={"email": 1}, cells={"email": done()}),
            change(frame, 0, values={"email": 2, "verdict": 3}),
        )
    )
    stored = await world.frame("one")
    assert stored.rows[0]["values"] == {"email": 2, "verdict": 3}
    assert stored.rows[0]["status"] == "completed"
    assert stored.adds_up()


async def test_entries_are_kept_until_their_row_is_completed(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b")
    await ports.rows.claim(frame, 2)
    entries = [
        {"name": "a/step", "frame": frame, "position": 0, "value": 1},
        {"name": "b/step", "frame": frame, "position": 1, "value": [None]},
        {"name": "top", "frame": None, "position": None, "value": None},
    ]
    await ports.records.commit(group(entries=entries))
    assert (await world.run("one"))["entries"] == {"a/step": 1, "b/step": [None], "top": None}
    await ports.records.commit(group(change(frame, 0, "completed"), change(frame, 1, "failed")))
    assert (await world.run("one"))["entries"] == {"b/step": [None], "top": None}


async def test_an_entry_written_again_has_its_new_value(world: World) -> None:
    ports = await world.join()
    for value in (1, 2):
        entry = {"name": "top", "frame": None, "position": None, "value": value}
        await ports.records.commit(group(entries=[entry]))
    assert (await world.run("one"))["entries"] == {"top": 2}


async def test_log_lines_keep_their_order(world: World) -> None:
    ports = await world.join()
    lines = [{"at": 1.5, "level": "info", "text": f"line {n}"} for n in range(20)]
    await ports.records.commit(group(logs=lines[:12]))
    await ports.records.commit(group(logs=lines[12:]))
    assert (await world.run("one"))["logs"] == [line["text"] for line in lines]


async def test_what_is_told_of_a_trace_step_adds_up(world: World) -> None:
    # rule 14.4
    ports = await world.join()
    found = {"told": {"kind": "tool"}, "counts": {"completed": 2}, "results": trace_results(1, 2)}
    await ports.records.commit(group(trace=[trace_change("a"), trace_change("b", "a", **found)]))
    more = {"told": {"tool": "x"}, "counts": {"completed": 1, "missed": 4}}
    await ports.records.commit(
        group(trace=[trace_change("b", "a", **more, results=trace_results(3)), trace_change("c")])
    )
    trace = (await world.run("one"))["trace"]
    assert [(step["key"], step["parent"]) for step in trace] == [("a", ""), ("b", "a"), ("c", "")]
    assert trace[1]["told"] == {"kind": "tool", "tool": "x"}
    assert trace[1]["counts"] == {"completed": 3, "missed": 4}
    assert trace[1]["results"] == trace_results(1, 2, 3)


async def test_a_trace_step_keeps_its_first_25_results(world: World) -> None:
    # rule 1.8, 14.4
    ports = await world.join()
    for first in (0, 20, 40):
        told = {"counts": {"completed": 20}, "results": trace_results(*range(first, first + 20))}
        await ports.records.commit(group(trace=[trace_change("a", **told)]))
    (step,) = (await world.run("one"))["trace"]
    assert step["results"] == trace_results(*range(25))
    assert step["counts"] == {"completed": 60}


async def test_a_trace_holds_its_first_thousand_steps(world: World) -> None:
    ports = await world.join()
    for first in (0, 600):
        steps = [trace_change(f"{n}") for n in range(first, first + 600)]
        await ports.records.commit(group(trace=steps))
    trace = (await world.run("one"))["trace"]
    assert [step["key"] for step in trace] == [f"{n}" for n in range(1_000)]


async def test_a_log_keeps_its_newest_ten_thousand_lines(world: World) -> None:
    ports = await world.join()
    for start in (0, 6_000):
        lines = [{"at": 0.0, "level": "info", "text": str(n)} for n in range(start, start + 6_000)]
        await ports.records.commit(group(logs=lines))
    logs = (await world.run("one"))["logs"]
    assert (len(logs), logs[0], logs[-1]) == (10_000, "2000", "11999")


async def test_what_postgresql_cannot_hold_is_replaced_and_counted(world: World) -> None:
    # case J1, J3, J6, B7
    ports = await world.join()
    frame = await loaded(ports, "a")
    await ports.rows.claim(frame, 1)
    cell: Cell = {"status": "failed", "error": {"message": "bad \x00 byte"}}
    await ports.records.commit(
        group(
            change(frame, 0, values={"email": "lone \udc00", "n": 2**80}, cells={"email": cell}),
            logs=[{"at": 0.0, "level": "error", "text": "nul \x00"}],
        )
    )
    stored = (await world.frame("one")).rows[0]
    assert stored["values"] == {"email": "lone \ufffd", "n": 2**80}
    assert stored["cells"]["email"]["error"] == {"message": "bad \ufffd byte"}
    run = await world.run("one")
    assert run["logs"] == ["nul \ufffd"]
    assert run["counters"]["replaced"] == 3


async def test_the_columns_of_a_waterfalls_steps_are_noted_in_their_field(world: World) -> None:
    ports = await world.join()
    frame = await loaded(ports, "a", "b")
    await ports.rows.claim(frame, 2)
    parts: dict[str, Cell] = {
        "finder.hunter": {"status": "missed", "part_of": "email"},
        "finder.code": {"status": "completed", "part_of": "email"},
    }
    await ports.records.commit(
        group(change(frame, 0, cells={"finder.hunter": parts["finder.hunter"]}))
    )
    await ports.records.commit(group(change(frame, 1, cells=parts)))
    stored = await world.frame("one")
    assert {name: sorted(held) for name, held in stored.parts.items()} == {
        "email": ["finder.code", "finder.hunter"],
        "verdict": [],
    }
    assert stored.adds_up()


async def test_a_fenced_participant_writes_nothing(world: World) -> None:
    first = await world.join()
    frame = await loaded(first, "a")
    await first.rows.claim(frame, 1)
    second = await world.join()
    with pytest.raises(HostFailed, match="lease of this run is lost"):
        await first.records.commit(
            group(change(frame, 0, "completed"), counters={"requests": 1}, logs=[])
        )
    stored = await world.frame("one")
    assert stored.rows[0]["status"] == "pending"
    assert (await world.run("one"))["counters"] == {"rows": 1}
    await second.records.commit(group(counters={"requests": 1}))
