"""The static pipeline: what is taken from a play's text, and what is left to a run."""

from __future__ import annotations

from typing import Any

from tests.unit.runtime.loading_cases import checked, in_definition, in_play, in_step


def pipeline(source: str, filename: str = "p.py") -> dict[str, Any]:
    """Give the pipeline of a source that has no problems."""
    found = checked(source, filename)
    assert found.problems == []
    return found.pipeline


def calls_of(resolver: str) -> list[dict[str, Any]]:
    """Give the calls of the one step that has this resolver."""
    found: list[dict[str, Any]] = step_of(resolver)["calls"]
    return found


def step_of(resolver: str) -> dict[str, Any]:
    """Give the one step that has this resolver."""
    step: dict[str, Any] = pipeline(in_step(resolver))["maps"][0]["steps"][0]
    return step


def test_a_map_with_everything() -> None:
    source = in_play(
        """
leads = await ctx.csv(input["leads"])
return await (
    ctx.map("leads", leads, key=["first", "domain"])
    .step("_site", lambda row: row["domain"].lower())
    .step("email", lambda row, ctx: ctx.waterfall(
        "email_finder", {"domain": row["_site"]}, providers=["sandbox_a", "sandbox_b"],
    ))
    .step("kind", "lead")
    .step("verdict", when(lambda row: row["email"], run=lambda row, ctx: ctx.tool(
        id="verify", tool="sandbox_email_verifier", input={"email": row["email"]},
    )))
    .run(description="Find e-mails")
)
"""
    )
    assert pipeline(source) == {
        "name": "p",
        "description": "",
        "line": 5,
        "inputs": [{"name": "leads", "line": 6, "kind": "csv"}],
        "calls": [{"kind": "csv", "key": "leads", "line": 6}],
        "maps": [
            {
                "table": "leads",
                "line": 8,
                "key": ["first", "domain"],
                "description": "Find e-mails",
                "source": "input:leads",
                "steps": [
                    {
                        "name": "_site",
                        "line": 9,
                        "hidden": True,
                        "kind": "code",
                        "condition": False,
                        "calls": [],
                    },
                    {
                        "name": "email",
                        "line": 10,
                        "hidden": False,
                        "kind": "code",
                        "condition": False,
                        "calls": [
                            {
                                "kind": "waterfall",
                                "key": "email_finder",
                                "line": 10,
                                "providers": ["sandbox_a", "sandbox_b"],
                            }
                        ],
                    },
                    {
                        "name": "kind",
                        "line": 13,
                        "hidden": False,
                        "kind": "value",
                        "condition": False,
                        "calls": [],
                    },
                    {
                        "name": "verdict",
                        "line": 14,
                        "hidden": False,
                        "kind": "when",
                        "condition": True,
                        "calls": [
                            {
                                "kind": "tool",
                                "key": "verify",
                                "line": 14,
                                "tool": "sandbox_email_verifier",
                            }
                        ],
                    },
                ],
            }
        ],
    }


def test_what_is_asked_outside_maps() -> None:
    source = in_play(
        """
await ctx.step("now", lambda: 1)
await ctx.tools.execute(id="a", tool="test_rate_limit", input={})
await ctx.fetch("b", "https://x.test")
await ctx.sleep(1)
await ctx.wait_for_event("c", event="approved", timeout_seconds=60)
await ctx.tool(id="d", tool="event_wait", input={})
await ctx.run_play("e", "other play", {})
await ctx.waterfall("email_finder", {}, providers=["sandbox_a"])
ctx.log("done")
return ctx.extract_list({}, "x")
"""
    )
    assert pipeline(source)["calls"] == [
        {"kind": "step", "key": "now", "line": 6},
        {"kind": "tool", "key": "a", "line": 7, "tool": "test_rate_limit"},
        {"kind": "fetch", "key": "b", "line": 8},
        {"kind": "sleep", "key": None, "line": 9},
        {"kind": "wait", "key": "c", "line": 10},
        {"kind": "wait", "key": "d", "line": 11, "tool": "event_wait"},
        {"kind": "play", "key": "e", "line": 12, "play": "other play"},
        {"kind": "waterfall", "key": "email_finder", "line": 13, "providers": ["sandbox_a"]},
    ]


def test_an_inline_waterfall_shows_its_steps_and_what_its_code_asks() -> None:
    source = in_play(
        """
async def look(given, ctx):
    found = await ctx.tools.execute(id="look", tool="test_company_search", input=given)
    return found.value()

finder = waterfall(
    id="finder",
    output="email",
    steps=[
        tool_step("first", "sandbox_a_email_finder", lambda given: given),
        code_step("second", look),
    ],
)
return await ctx.map("t", []).step("a", lambda row, ctx: ctx.waterfall(finder, {})).run()
"""
    )
    assert pipeline(source)["maps"][0]["steps"][0]["calls"] == [
        {
            "kind": "waterfall",
            "key": "finder",
            "line": 18,
            "output": "email",
            "steps": [
                {"id": "first", "kind": "tool", "tool": "sandbox_a_email_finder", "line": 14},
                {"id": "second", "kind": "code", "line": 15},
            ],
        },
        {"kind": "tool", "key": "look", "line": 7, "tool": "test_company_search"},
    ]


def test_nested_programs_show_their_steps() -> None:
    step = step_of(
        "when(lambda row: 1, run=steps()"
        ".step('x', lambda row, ctx: ctx.sleep(1))"
        ".step('y', steps().step('z', 3))"
        ".returns(lambda row, ctx: ctx.run_play('k', 'q', {})))"
    )
    assert (step["kind"], step["condition"]) == ("when", True)
    assert [call["kind"] for call in step["calls"]] == ["play"]
    x, y = step["steps"]
    assert (x["name"], x["kind"], [call["kind"] for call in x["calls"]]) == ("x", "code", ["sleep"])
    assert (y["name"], y["kind"], [z["kind"] for z in y["steps"]]) == ("y", "steps", ["value"])


def test_names_that_are_computed_are_null() -> None:
    source = in_play(
        """
name = input["name"]
builder = ctx.map(name, await ctx.csv(name), key=lambda row, index: row["x"])
builder = builder.step(f"{name}_x", lambda row, ctx: ctx.tool(id=name, tool=name, input={}))
builder = builder.step("w", lambda row, ctx: ctx.waterfall(name, {}, providers=input["list"]))
return await builder.run(description=name)
"""
    )
    (found,) = pipeline(source)["maps"]
    assert (found["table"], found["key"], found["description"]) == (None, None, "")
    assert found["source"] == "input:name"
    first, second = found["steps"]
    assert first["name"] is None
    assert first["calls"] == [{"kind": "tool", "key": None, "line": 8, "tool": None}]
    assert second["calls"] == [{"kind": "waterfall", "key": None, "line": 9, "providers": None}]


def test_the_usual_providers_are_those_that_are_here() -> None:
    from runtime.loading import check

    tools = ["hunter_email_finder", "peopledatalabs_email_finder", "sandbox_a_email_finder"]
    source = in_step("lambda row, ctx: ctx.waterfall('email_finder', {})")
    found = check("p.py", source.encode(), known_tools=tools)
    (call,) = found.pipeline["maps"][0]["steps"][0]["calls"]
    assert (found.problems, call["providers"]) == ([], ["hunter", "pdl"])


def test_functions_are_followed_wherever_they_are_called() -> None:
    ask = "ctx.tool(id='i', tool='test_rate_limit', input={})"
    for resolver in (
        f"lambda row: {ask}",
        f"lambda row: [{ask} for _ in row]",
        f"lambda row: (lambda: {ask})()",
        f"lambda row: list(map(lambda x: {ask}, row))",
        f"lambda row: row['x'] or {ask}",
        f"lambda row: {ask} if row['x'] else None",
        f"lambda row: {{'a': {ask}}}",
        f"lambda row: str({ask})",
    ):
        assert [call["key"] for call in calls_of(resolver)] == ["i"], resolver


def test_a_function_that_makes_resolvers_is_followed() -> None:
    source = in_play(
        """
import functools

def asking(tool):
    async def ask(row, context):
        return await context.tools.execute(id="i", tool=tool, input={})
    return ask

def ask(tool, row, ctx):
    return ctx.tool(id="j", tool=tool, input={})

return await (
    ctx.map("t", [])
    .step("a", asking("test_rate_limit"))
    .step("b", asking("test_company_search"))
    .step("c", functools.partial(ask, "test_transient_500"))
    .run()
)
"""
    )
    asked = [step["calls"][0]["tool"] for step in pipeline(source)["maps"][0]["steps"]]
    assert asked == ["test_rate_limit", "test_company_search", "test_transient_500"]


def test_rows_are_traced_to_where_they_come_from() -> None:
    source = in_play(
        """
def flat(companies):
    for company in companies:
        yield company

def pages(rows):
    return [rows[:10], rows[10:]]

first = await ctx.map("first", await ctx.csv(input["a"])).step("x", 1).run()
await ctx.map("second", first).step("x", 1).run()
await ctx.map("third", flat(first)).step("x", 1).run()
await ctx.map("fourth", [row for row in await first.materialize()]).step("x", 1).run()
gathered = []
async for row in first:
    gathered.append({"x": row["x"]})
await ctx.map("fifth", gathered).step("x", 1).run()
await ctx.map("sixth", input["b"]).step("x", 1).run()
await ctx.map("seventh", pages(await first.peek())[0]).step("x", 1).run()
return await ctx.map("eighth", [{"x": 1}]).step("x", 1).run()
"""
    )
    assert [each["source"] for each in pipeline(source)["maps"]] == [
        *("input:a", "map:first", "map:first", "map:first"),
        *("map:first", "input:b", "map:first", None),
    ]


def test_an_input_is_a_file_where_it_is_opened_as_one() -> None:
    source = in_play(
        """
def first(given):
    return given["one"]

limit = input.get("limit", 3)
await ctx.csv(first(input))
return await ctx.map("t", await ctx.csv(input["two"])).step("a", lambda row: input["three"]).run()
"""
    )
    assert [(each["name"], each["kind"]) for each in pipeline(source)["inputs"]] == [
        ("limit", "value"),
        ("one", "csv"),
        ("two", "csv"),
        ("three", "value"),
    ]


def test_literals_may_stand_in_names_of_the_module() -> None:
    source = (
        "from runtime import play\n"
        "FIELDS = ['first', 'last']\n"
        "PREFIX = 'sandbox_'\n"
        "SCHEMA = {'type': 'object', 'properties': {'limit': {'minimum': -1}}}\n"
        "@play('p', description='One ' 'text', input_schema={**SCHEMA, 'required': ['limit']})\n"
        "async def p(ctx, input):\n"
        "    ask = lambda row, ctx: ctx.waterfall('email_finder', {}, providers=[PREFIX + 'a'])\n"
        "    return await ctx.map('t', [], key=FIELDS + ['domain']).step('a', ask).run()\n"
    )
    found = checked(source)
    assert (found.problems, found.description) == ([], "One text")
    assert found.input_schema == {
        "type": "object",
        "properties": {"limit": {"minimum": -1}},
        "required": ["limit"],
    }
    (told,) = found.pipeline["maps"]
    assert told["key"] == ["first", "last", "domain"]
    assert told["steps"][0]["calls"][0]["providers"] == ["sandbox_a"]


def test_the_names_of_runtime_may_be_imported_in_any_way() -> None:
    for imports, name in (
        ("from runtime import play", "play"),
        ("from runtime import *", "play"),
        ("from runtime import play as task", "task"),
        ("import runtime", "runtime.play"),
        ("import runtime as r", "r.play"),
    ):
        source = f"{imports}\n@{name}('p')\nasync def p(ctx, input): ...\n"
        assert pipeline(source)["name"] == "p"


def test_a_definition_has_the_same_pipeline_as_code() -> None:
    source = in_definition(
        """
- name: _site
  value: "{{row.domain | lower}}"
- name: email
  waterfall: email_finder
  providers: [sandbox_a, sandbox_b]
  input: {domain: "{{row._site}}"}
- name: found
  waterfall:
    id: finder
    output: email
    steps:
      - {id: first, tool: sandbox_a_email_finder}
- name: verdict
  when: "{{row.email}}"
  tool: sandbox_email_verifier
  input: {email: "{{row.email}}", strict: "{{input.strict}}"}
- name: nested
  steps:
    - {name: x, value: 1}
"""
    )
    assert pipeline(source, "p.yaml") == {
        "name": "p",
        "description": "",
        "line": 1,
        "inputs": [
            {"name": "f", "line": 4, "kind": "csv"},
            {"name": "strict", "line": 21, "kind": "value"},
        ],
        "calls": [{"kind": "csv", "key": "f", "line": 4}],
        "maps": [
            {
                "table": "t",
                "line": 3,
                "key": [],
                "description": "",
                "source": "input:f",
                "steps": [
                    {
                        "name": "_site",
                        "line": 6,
                        "hidden": True,
                        "kind": "code",
                        "condition": False,
                        "calls": [],
                    },
                    {
                        "name": "email",
                        "line": 8,
                        "hidden": False,
                        "kind": "code",
                        "condition": False,
                        "calls": [
                            {
                                "kind": "waterfall",
                                "key": "email_finder",
                                "line": 9,
                                "providers": ["sandbox_a", "sandbox_b"],
                            }
                        ],
                    },
                    {
                        "name": "found",
                        "line": 12,
                        "hidden": False,
                        "kind": "code",
                        "condition": False,
                        "calls": [
                            {
                                "kind": "waterfall",
                                "key": "finder",
                                "line": 13,
                                "output": "email",
                                "steps": [
                                    {
                                        "id": "first",
                                        "kind": "tool",
                                        "tool": "sandbox_a_email_finder",
                                        "line": 17,
                                    }
                                ],
                            }
                        ],
                    },
                    {
                        "name": "verdict",
                        "line": 18,
                        "hidden": False,
                        "kind": "when",
                        "condition": True,
                        "calls": [
                            {
                                "kind": "tool",
                                "key": "verdict",
                                "line": 20,
                                "tool": "sandbox_email_verifier",
                            }
                        ],
                    },
                    {
                        "name": "nested",
                        "line": 22,
                        "hidden": False,
                        "kind": "steps",
                        "condition": False,
                        "calls": [],
                        "steps": [
                            {
                                "name": "x",
                                "line": 24,
                                "hidden": False,
                                "kind": "value",
                                "condition": False,
                                "calls": [],
                            }
                        ],
                    },
                ],
            }
        ],
    }
