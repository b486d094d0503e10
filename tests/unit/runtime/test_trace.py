"""The trace and the samples in the log: what stands where, counted once, bounded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import code_step, play, tool_step, waterfall
from runtime.context import Context
from runtime.errors import RowsFailed
from runtime.memory import failed, hit, miss
from runtime.program import Play
from runtime.tracesteps import trace_tree, value_preview
from tests.unit.runtime.programs import mapped, top

Step = dict[str, Any]


def numbered(count: int) -> list[dict[str, int]]:
    return [{"n": n} for n in range(count)]


def found(step: Step, kind: str) -> list[Step]:
    """The steps of this kind that stand below a step."""
    return [below for below in step["steps"] if below["kind"] == kind]


def part(step: Step, name: str) -> Step:
    (part,) = (below for below in step["steps"] if below["id"] == name)
    return part


def asking(tool: str) -> Any:
    async def ask(row: Any, ctx: Context) -> Any:
        return await ctx.tools.execute(id="ask", tool=tool, input={"n": row["n"]})

    return ask


def find(providers: list[str]) -> Any:
    return lambda row, ctx: ctx.waterfall("email", {"n": row["n"]}, providers=providers)


def every_third(call: Any) -> Any:
    """Misses, fails and finds in turn."""
    wrong = failed("no such domain", category="validation")
    return (miss(), wrong, hit({"email": str(call["n"])}))[call["n"] % 3]


async def test_a_tool_stands_below_its_map_with_its_first_25_results(
    world: Any, make_tool: Any
) -> None:
    # rule 1.8, 10.13, 14.2
    here = world({make_tool("look", output="x"): lambda call: hit({"x": call["n"]})})
    await here.run(mapped(("a", asking("look")), rows=numbered(60)))
    map_step, returned = here.trace()
    (step,) = found(map_step, "tool")
    assert step["tool"] == "look"
    assert step["counts"] == {"completed": 60}
    assert len(step["results"]) == 25
    assert all(result["value"] == {"x": result["row"] - 1} for result in step["results"])
    assert {result["provider"] for result in step["results"]} == {"look"}
    assert returned["kind"] == "return"


async def test_a_map_tells_its_rows_fields_and_description(world: Any) -> None:
    # rule 2.11, 14.4
    @play("described")
    async def described(ctx: Context, given: Any) -> Any:
        table = (
            ctx.map("Leads", numbered(40)).step("_hidden", 1).step("b", lambda row: 9 / row["n"])
        )
        return await table.run(description="  Find them \n")

    @play("blank")
    async def blank(ctx: Context, given: Any) -> Any:
        return await ctx.map("leads", numbered(1)).step("a", 1).run(description=" ")

    here = world()
    await here.run(described)
    step = here.trace()[0]
    assert {name: step[name] for name in ("title", "table", "items", "fields", "description")} == {
        "title": "Leads",
        "table": "described_leads",
        "items": 40,
        "fields": ["b"],
        "description": "Find them",
    }
    assert step["counts"] == {"completed": 39, "failed": 1}
    assert step["status"] == "completed"
    here = world()
    await here.run(blank)
    assert here.trace()[0]["description"] == ""


def told(row: int) -> dict[str, Any]:
    """The result that ``every_third`` gives a row."""
    status = ("missed", "failed", "completed")[(row - 1) % 3]
    return {
        "row": row,
        "status": status,
        "value": str(row - 1) if status == "completed" else None,
        "provider": "a",
        "error": "no such domain" if status == "failed" else "",
    }


async def test_a_named_waterfall_counts_every_row_by_provider(world: Any, make_tool: Any) -> None:
    # rule 9.12, 9.14, 14.4
    here = world(
        {
            make_tool("a_email", provider="a"): every_third,
            make_tool("b_email", provider="b"): lambda call: miss(),
        }
    )
    await here.run(mapped(("email", find(["a", "b"])), rows=numbered(90)))
    (step,) = found(here.trace()[0], "waterfall")
    assert step["counts"] == {"completed": 30, "missed": 30, "failed": 30}
    assert part(step, "a")["tool"] == "a_email"
    assert part(step, "a")["counts"] == {"completed": 30, "missed": 30, "failed": 30}
    assert part(step, "b")["counts"] == {"missed": 60, "skipped": 30}
    assert [len(each["results"]) for each in (step, *step["steps"])] == [25, 25, 25]
    assert all(result == told(result["row"]) for result in part(step, "a")["results"])


async def test_a_row_that_has_enough_shows_as_skipped_in_later_steps(
    world: Any, make_tool: Any
) -> None:
    # rule 9.11, 9.12
    here = world({make_tool("look", output="name"): lambda call: hit({"name": "x"})})
    spec = waterfall(
        id="names",
        output="name",
        min_results=1,
        steps=[code_step("own", lambda given, ctx: "me" if given["n"] < 40 else None),
               tool_step("asked", "look")],
    )  # fmt: skip
    resolver = ("a", lambda row, ctx: ctx.waterfall(spec, {"n": row["n"]}))
    await here.run(mapped(resolver, rows=numbered(50)))
    (step,) = found(here.trace()[0], "waterfall")
    assert (step["id"], step["output"], step["min_results"]) == ("names", "name", 1)
    assert [(each["id"], each["tool"]) for each in step["steps"]] == [
        ("own", None),
        ("asked", "look"),
    ]
    assert step["steps"][0]["counts"] == {"completed": 40, "missed": 10}
    assert step["steps"][1]["counts"] == {"skipped": 40, "completed": 10}
    skipped = [each for each in step["steps"][1]["results"] if each["status"] == "skipped"]
    assert skipped
    assert all(each["value"] is None for each in skipped)


async def test_a_failed_call_shows_as_failed_with_its_reason(world: Any, make_tool: Any) -> None:
    # rule 10.12
    here = world({make_tool("look"): lambda call: failed("no such domain", category="validation")})
    await here.run(mapped(("a", asking("look")), rows=numbered(1)))
    (step,) = found(here.trace()[0], "tool")
    (result,) = step["results"]
    assert (result["status"], result["row"], result["provider"]) == ("failed", 1, "look")
    assert "no such domain" in result["error"]


async def test_what_the_top_level_asks_stands_beside_its_maps(world: Any, make_tool: Any) -> None:
    # rule 6.4, 10.13, 14.2, 14.3
    async def asks(ctx: Context) -> Any:
        await ctx.step("prepare", lambda: {"a": 1})
        leads = await ctx.map("leads", numbered(3)).step("a", 1).run()
        await ctx.tools.execute(id="one", tool="look", input={"n": 2})
        await ctx.sleep(5)
        return leads

    here = world({make_tool("look"): every_third})
    await here.run(top(asks))
    steps = here.trace()
    assert [step["kind"] for step in steps] == [
        "step", "map", "tool", "sleep", "return",
    ]  # fmt: skip
    assert steps[0]["results"][0]["value"] == {"a": 1}
    assert steps[2]["counts"] == {"completed": 1}
    assert steps[-1]["rows"] == 3


async def test_a_failed_map_ends_and_what_comes_after_stands_beside_it(
    world: Any, make_tool: Any
) -> None:
    # rule 6.4
    async def goes_on(ctx: Context) -> Any:
        table = ctx.map("leads", numbered(3)).step("a", lambda row: 1 / row["n"])
        try:
            await table.run(on_row_error="fail")
        except RowsFailed:
            return await ctx.waterfall("email", {"n": 2}, providers=["a"])

    here = world({make_tool("a_email", provider="a"): every_third})
    await here.run(top(goes_on))
    map_step, asked, _ = here.trace()
    assert (map_step["status"], map_step["steps"]) == ("failed", [])
    assert "1 of 3 rows failed" in map_step["error"]
    assert asked["kind"] == "waterfall"
    assert part(asked, "a")["results"][0]["value"] == "2"


async def test_each_call_of_the_top_level_is_a_step_of_its_own(world: Any, make_tool: Any) -> None:
    # rule 14.2
    async def asks(ctx: Context) -> Any:
        for n in (0, 2):
            await ctx.tools.execute(id="ask", tool="look", input={"n": n})

    here = world({make_tool("look"): every_third})
    await here.run(top(asks))
    assert [step["counts"] for step in here.trace()[:-1]] == [{"missed": 1}, {"completed": 1}]


@pytest.mark.parametrize(("value", "rows"), [([1, 2], 2), ({"a": 1}, 0), ("text", 0), (None, 0)])
async def test_the_trace_ends_with_the_rows_that_were_returned(
    world: Any, value: Any, rows: int
) -> None:
    # rule 14.3
    async def gives(ctx: Context) -> Any:
        return value

    here = world()
    await here.run(top(gives))
    assert [(step["kind"], step["rows"]) for step in here.trace()] == [("return", rows)]


def child_play() -> Play:
    @play("child")
    async def child(ctx: Context, given: Any) -> Any:
        found = await ctx.tools.execute(id="ask", tool="look", input=given)
        return found.value("email")

    return child


async def test_a_childs_steps_stand_below_its_call(world: Any, make_tool: Any) -> None:
    # rule 13.10
    async def calls(ctx: Context) -> Any:
        return await ctx.run_play("one", "child", {"n": 2})

    here = world({make_tool("look"): every_third}, plays={"child": {"play": child_play()}})
    await here.run(top(calls))
    call, _ = here.trace()
    assert (call["kind"], call["play"], call["results"][0]["value"]) == ("play_call", "child", "2")
    assert [step["tool"] for step in call["steps"]] == ["look"]


async def test_the_children_of_rows_are_counted_together(world: Any, make_tool: Any) -> None:
    # rule 13.10, 14.2, 14.4
    async def calls(row: Any, ctx: Context) -> Any:
        return await ctx.run_play("one", "child", {"n": 3 * row["n"] + 2})

    here = world(
        {make_tool("look"): every_third},
        plays={"child": {"play": child_play()}},
        limits={"max_play_calls": 100, "max_child_plays_per_parent": 100, "max_descendants": 100},
    )
    await here.run(mapped(("a", calls), rows=numbered(30)))
    (call,) = here.trace()[0]["steps"]
    assert (call["kind"], call["counts"]) == ("play_call", {"completed": 30})
    (step,) = call["steps"]
    assert (step["kind"], step["counts"]) == ("tool", {"completed": 30})
    assert {result["row"] for result in step["results"]} <= set(range(1, 31))


async def test_a_run_that_goes_on_counts_nothing_twice(world: Any, make_tool: Any) -> None:
    # rule 14.4
    async def asks(row: Any, ctx: Context) -> Any:
        found = await ctx.tools.execute(id="ask", tool="look", input={"n": 2})
        if row["n"] >= 3 and is_first:
            await asyncio.Event().wait()
        return found.value("email")

    async def both(ctx: Context) -> Any:
        await ctx.tools.execute(id="top", tool="look", input={"n": 2})
        return await ctx.map("leads", numbered(6)).step("a", asks).run()

    is_first = True
    here = world({make_tool("look"): every_third})
    running = asyncio.ensure_future(here.run(top(both)))
    await here.ports.clock.sleep(60)
    here.ports.signals.request("pause")
    await running
    is_first = False
    here.ports = here.ports.next()
    await here.run(top(both))
    once, map_step, returned = here.trace()
    assert once["counts"] == {"completed": 1}
    assert map_step["counts"] == {"completed": 6}
    (step,) = map_step["steps"]
    assert step["counts"] == {"completed": 6}
    assert sorted(result["row"] for result in step["results"]) == [1, 2, 3, 4, 5, 6]
    assert returned["rows"] == 6


async def test_counts_belong_to_one_map(world: Any, make_tool: Any) -> None:
    # rule 6.3, 6.10, 14.2
    async def two(ctx: Context) -> Any:
        await ctx.map("many", numbered(30)).step("a", asking("look")).run()
        return await ctx.map("few", numbered(2)).step("a", asking("look")).run()

    here = world({make_tool("look"): lambda call: hit({"email": "x"})})
    await here.run(top(two))
    many, few, _ = here.trace()
    assert (many["counts"], few["counts"]) == ({"completed": 30}, {"completed": 2})
    assert here.ports.run.counters["rows"] == here.ports.run.counters["rows_done"] == 32
    assert [step["counts"] for step in few["steps"]] == [{"completed": 2}]
    assert here.logs()[-2:] == [
        "map 'few': 2 rows, 1 field, table top_few",
        "map 'few': 2 rows ran, 0 settled already",
    ]


async def test_the_trace_is_bounded_and_says_so(
    world: Any, make_tool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def many(ctx: Context) -> Any:
        for n in range(20):
            await ctx.step(f"step {n}", lambda: 1)

    monkeypatch.setattr("runtime.trace.MOST_STEPS", 10)
    here = world()
    await here.run(top(many))
    assert len(here.trace()) == 10
    assert here.logs() == ["the trace shows the first 10 steps"]


async def test_a_maps_first_and_last_lines_tell_its_rows(world: Any) -> None:
    # rule 6.2, 6.18
    here = world(rows=[{"n": "1"}, {"n": "x"}, {"n": "3"}])
    await here.run(mapped(("_b", 1), ("a", lambda row: int(row["n"]))))
    assert here.logs() == [
        "map 'rows': 3 rows, 1 field, table mapped_rows",
        "map 'rows': 3 rows ran (1 failed), 0 settled already",
    ]
    here.ports = here.ports.next("retry", selection={"rows": "failed"}, retry_of="run-1")
    await here.run(mapped(("_b", 1), ("a", 0)))
    assert here.logs() == [
        "map 'rows': 3 rows, 1 field, table mapped_rows, 2 settled already",
        "map 'rows': 1 row ran, 2 settled already",
    ]


async def test_a_waterfall_logs_ten_hits_and_then_every_thousandth(
    world: Any, make_tool: Any
) -> None:
    # rule 1.9
    async def two(ctx: Context) -> Any:
        for name in ("first", "second"):
            await ctx.map(name, numbered(1_005)).step("email", find(["a"])).run()

    here = world({make_tool("a_email", provider="a"): lambda call: hit({"email": "secret"})})
    await here.run(top(two))
    lines = [line for line in here.logs() if line.startswith("waterfall")]
    assert len(lines) == 12
    assert lines[0] == "waterfall 'email': row 1 found by a"
    assert lines[9].endswith("from here on a line for every 1,000")
    assert lines[10:] == ["waterfall 'email': 1,000 found", "waterfall 'email': 2,000 found"]
    assert not any("secret" in line for line in here.logs())


async def test_a_map_logs_the_sizes_of_its_first_ten_batches(world: Any, make_tool: Any) -> None:
    # rule 1.10
    here = world(
        {
            make_tool("a_email", provider="a", size=10): lambda call: miss(),
            make_tool("b_email", provider="b"): lambda call: hit({"email": "x"}),
        }
    )
    await here.run(mapped(("email", find(["a", "b"])), rows=numbered(125)))
    lines = [line for line in here.logs() if "batches" in line]
    sizes = ", ".join(["10"] * 10)
    assert lines == [f"map 'rows': batches to a_email of {sizes} and 3 more"]


def test_a_preview_keeps_25_of_a_list_and_the_beginning_of_what_is_long() -> None:
    # rule 2.2
    assert value_preview(list(range(25))) == list(range(25))
    assert value_preview(list(range(26))) == list(range(25))
    assert value_preview({"a": [1]}) == {"a": [1]}
    assert value_preview("x" * 3_000) == "x" * 2_000 + "…"
    assert value_preview({"a": "x" * 3_000}).endswith("x…")


def test_a_step_whose_parent_was_left_out_stands_at_the_top() -> None:
    told: Any = {"key": "b", "parent": "a", "told": {"kind": "tool"}, "counts": {}, "results": []}
    assert [step["key"] for step in trace_tree([told])] == ["b"]
