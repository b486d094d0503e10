"""Maps: what may be written, which rows run, and what a map's dataset holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from runtime import steps
from runtime.context import Context
from runtime.errors import DuplicateStep, KeyInvalid
from runtime.events import RunStatus
from runtime.memory import MemoryPorts
from tests.unit.runtime.loading_cases import checked, in_play
from tests.unit.runtime.programs import mapped, rows_of, top


def retried(here: Any, **selection: Any) -> MemoryPorts:
    """The ports of a run that retries this world's run."""
    ports: MemoryPorts = here.ports.next("retry", selection=selection, retry_of=here.ports.run.id)
    return ports


def returning(*named: tuple[str, Any], rows: Any, key: Any = None) -> Any:
    """A play of one map that gives the rows of its dataset."""

    @top
    async def program(ctx: Context) -> Any:
        table = ctx.map("rows", rows, key=key)
        for name, resolver in named:
            table = table.step(name, resolver)
        return await rows_of(await table.run())

    return program


def test_a_map_inside_a_row_is_told_at_upload() -> None:
    # rule 5.1
    inner = "return await ctx.map('t', []).step('a', lambda row, ctx: ctx.map('u', [])).run()"
    assert "maps cannot be nested" in checked(in_play(inner)).problems[0].message


async def test_a_program_reaches_a_map_as_a_step_and_never_as_a_third_argument(world: Any) -> None:
    # rule 5.3
    nested = steps().step("a", 1)

    @top
    async def third(ctx: Context) -> Any:
        return ctx.map("t", [], nested)  # type: ignore[misc]

    outcome = await world().run(third)
    assert outcome.status is RunStatus.FAILED
    assert "positional arguments" in outcome.error["message"]
    named = await world().run(returning(("program", nested), rows=[{}]))
    assert named.result == {"value": [{"program": {"a": 1}}]}


@pytest.mark.parametrize("name", ["", "  "])
async def test_a_blank_step_name_is_refused(world: Any, name: str) -> None:
    # rule 5.4
    with pytest.raises(KeyInvalid, match=r"step\(\) needs a non-empty name"):
        steps().step(name, 1)
    outcome = await world().run(returning((name, 1), rows=[]))
    assert outcome.error["type"] == "KeyInvalid"


async def test_no_step_of_a_map_takes_the_place_of_another(world: Any) -> None:
    # rule 5.4
    ran: list[int] = []
    outcome = await world().run(
        returning(("a", lambda row: ran.append(1)), ("a", lambda row: ran.append(2)), rows=[{}])
    )
    assert outcome.error["type"] == DuplicateStep.__name__
    assert ran == []


async def test_run_takes_a_description_and_what_a_failed_row_does_and_nothing_else(
    world: Any,
) -> None:
    # rule 5.5
    @top
    async def right(ctx: Context) -> Any:
        table = ctx.map("t", [{}]).step("a", 1)
        return await (await table.run(description=" All ", on_row_error="fail")).count()

    @top
    async def option(ctx: Context) -> Any:
        await ctx.map("t", [{}]).step("a", 1).run(key="n")  # type: ignore[call-arg]

    @top
    async def value(ctx: Context) -> Any:
        await ctx.map("t", [{}]).step("a", 1).run(on_row_error="ignore")  # type: ignore[arg-type]

    here = world()
    assert (await here.run(right)).result == {"value": 1}
    assert here.frames[0].form["description"] == "All"
    assert "unexpected keyword argument 'key'" in (await world().run(option)).error["message"]
    assert "'isolate' or 'fail'" in (await world().run(value)).error["message"]


async def test_a_map_runs_once(world: Any) -> None:
    # rule 5.6
    @top
    async def twice(ctx: Context) -> Any:
        table = ctx.map("t", [{}]).step("a", 1)
        await table.run()
        await table.run()

    here = world()
    assert "two maps of this play have the table 't'" in (await here.run(twice)).error["message"]
    assert len(here.frames) == 1


async def test_a_map_that_failed_does_not_run_again_under_its_name(world: Any) -> None:
    # rule 5.7
    read: list[str] = []

    async def broken() -> AsyncIterator[Any]:
        read.append("broken")
        raise ValueError("the source is gone")
        yield

    async def whole() -> AsyncIterator[Any]:
        read.append("whole")
        yield {"n": 1}

    @top
    async def again(ctx: Context) -> Any:
        try:
            await ctx.map("t", broken()).step("a", 1).run()
        except ValueError:
            await ctx.map("t", whole()).step("a", 1).run()

    assert "two maps of this play" in (await world().run(again)).error["message"]
    assert read == ["broken"]


async def test_a_key_function_gets_the_true_index_on_every_page_and_in_messages(world: Any) -> None:
    # rule 5.8
    rows = [{"n": 0}] * 2_500
    seen: list[int] = []

    def by_index(row: Any, index: int) -> int:
        seen.append(index)
        return index if index < 2_400 else 2_400

    outcome = await world().run(returning(("a", 1), rows=rows, key=by_index))
    assert sorted(set(seen)) == list(range(2_500))
    assert "(2400) in rows 2401, 2402" in outcome.error["message"]
    distinct = await world().run(
        returning(("a", 1), rows=rows, key=lambda row, index: [row["n"], index])
    )
    assert len(distinct.result["value"]) == 2_500


async def test_a_row_that_is_no_mapping_is_a_value_and_the_rows_given_stay_as_they_were(
    world: Any,
) -> None:
    # rule 5.9
    given: list[Any] = [7, "text", None, ["a"], {"value": {"deep": [1]}}]
    outcome = await world().run(
        returning(("size", lambda row: row["value"].append(1) or 1), rows=given)
    )
    assert given == [7, "text", None, ["a"], {"value": {"deep": [1]}}]
    assert [row["value"] for row in outcome.result["value"]][:3] == [7, "text", None]


async def test_once_a_map_is_sealed_the_stored_rows_count(world: Any) -> None:
    # rule 5.10
    class Gone(BaseException):
        """Ends the engine as a kill does."""

    def dies(row: Any) -> Any:
        if row["n"] == 2 and not died:
            died.append(1)
            raise Gone
        return row["n"] * 10

    died: list[int] = []
    here = world()
    with pytest.raises(Gone):
        await here.run(returning(("a", dies), rows=[{"n": 1}, {"n": 2}]))
    here.ports = here.ports.next()
    outcome = await here.run(returning(("a", dies), rows=[{"n": 8}, {"n": 9}, {"n": 10}]))
    assert outcome.result == {"value": [{"n": 1, "a": 10}, {"n": 2, "a": 20}]}


async def test_pending_rows_run_in_input_order(world: Any) -> None:
    # rule 5.11
    ran: list[int] = []
    rows = [{"n": number} for number in range(1_200)]
    await world().run(returning(("a", lambda row: ran.append(row["n"])), rows=rows))
    assert ran == list(range(1_200))


def double_or_fail(bad: set[int]) -> Any:
    def double(row: Any) -> int:
        if row["n"] in bad:
            raise ValueError("not this one")
        return int(row["n"] * 2)

    return double


async def test_the_result_holds_the_rows_that_ran_and_those_that_were_known_in_input_order(
    world: Any,
) -> None:
    # case C11
    # rule 5.12, 5.13
    rows = [{"n": number} for number in range(6)]
    here = world()
    await here.run(returning(("a", double_or_fail({1, 4})), rows=rows))
    here.ports = retried(here, rows="failed")
    ran: list[int] = []

    def again(row: Any) -> int:
        ran.append(row["n"])
        return -1

    outcome = await here.run(returning(("a", again), rows=rows))
    assert ran == [1, 4]
    assert [row["n"] for row in outcome.result["value"]] == list(range(6))
    assert [row["a"] for row in outcome.result["value"]] == [0, -1, 4, 6, -1, 10]


async def test_rows_that_a_retry_leaves_out_are_in_its_result_as_they_were(world: Any) -> None:
    # rule 5.13
    rows = [{"n": number} for number in range(4)]
    here = world()
    await here.run(returning(("a", double_or_fail({3})), rows=rows))
    here.ports = retried(here, rows=[1], fields=None)
    outcome = await here.run(returning(("a", lambda row: "new"), rows=rows))
    assert [row["a"] for row in outcome.result["value"]] == [0, "new", 4, None]
    assert here.row_statuses() == ["completed", "completed", "completed", "failed"]


async def test_a_known_row_comes_with_its_whole_input_and_nothing_hidden(world: Any) -> None:
    # rule 5.15
    steps_of = [("_low", lambda row: row["n"].lower()), ("a", lambda row: row["_low"] * 2)]
    here = world()
    await here.run(returning(*steps_of, rows=[{"n": "A"}], key="n"))
    here.ports = here.ports.next("run-2")
    outcome = await here.run(returning(*steps_of, rows=[{"n": "A", "new": "column"}], key="n"))
    assert here.statuses("a") == ["cached"]
    assert outcome.result == {"value": [{"n": "A", "new": "column", "a": "aa"}]}


async def test_a_maps_counts_by_status_add_up_to_its_total_from_the_start(world: Any) -> None:
    # rule 5.16
    here = world()
    seen: list[dict[str, int]] = []

    def count(row: Any) -> int:
        seen.append(here.frames[0].row_totals())
        return 1

    await here.run(returning(("a", count), rows=[{"n": number} for number in range(20)]))
    seen.append(here.frames[0].row_totals())
    assert {sum(counts.values()) for counts in seen} == {20}
    assert seen[-1] == {"completed": 20}


async def test_a_dataset_is_read_as_often_as_one_likes(world: Any) -> None:
    # rule 5.17
    @top
    async def reading(ctx: Context) -> Any:
        rows = [{"n": number} for number in range(1_100)]
        found = await ctx.map("t", rows).step("a", lambda row: row["n"]).run()
        for _ in range(2):
            assert await found.count() == 1_100
            assert [row["a"] for row in await found.peek(3)] == [0, 1, 2]
            assert await found.peek(-1) == []
            assert len(await found.materialize()) == 1_100
            assert len(await found.materialize(1_050)) == 1_050
            assert [row["a"] async for row in found] == list(range(1_100))

    assert (await world().run(reading)).status is RunStatus.COMPLETED


async def test_where_nothing_is_known_every_row_runs(world: Any) -> None:
    # rule 5.19
    here = world(rows=[{"n": str(number)} for number in range(7)])
    ran: list[str] = []
    await here.run(mapped(("a", lambda row: ran.append(row["n"]))))
    assert sorted(ran) == [str(number) for number in range(7)]
