"""Reads the calls of the context: what each asks for, and whether it may stand where it does."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from runtime.errors import KeyInvalid
from runtime.identity import safe_name
from runtime.loading import maps
from runtime.loading.abstract import (
    UNKNOWN,
    Awaiting,
    Const,
    Ctx,
    CtxTools,
    InputItem,
    Items,
    Method,
    Rows,
    Scope,
    Spec,
    Unknown,
    Value,
    first_source,
    source_of,
    text_of,
)
from runtime.loading.problems import did_you_mean, listed
from runtime.loading.readcalls import ReadCall, read_call
from runtime.loading.surface import CTX, CTX_NAMES, EXECUTE
from runtime.loading.toolnames import ENGINE_TOOLS, repeated
from runtime.loading.waterfallspecs import run_spec

if TYPE_CHECKING:
    from runtime.loading.reading import Reader

UPLOAD_PREFIX = "upload:"
REPEATABLE_METHODS = ("GET", "HEAD", "OPTIONS")
IDEMPOTENCY_KEYS = ("idempotency-key", "x-idempotency-key")
TOP_LEVEL_ONLY = {
    "csv": "read the file before the map, and give its dataset to ctx.map",
    "fetch": "ask a tool there instead, whose calls are batched, limited and paid once",
}
"""What a row's function may not do, and what to do instead. ``ctx.map`` has a sentence of its own."""


def attribute(reader: Reader, node: ast.Attribute, scope: Scope) -> Value:
    """Tell what ``ctx.<name>`` is."""
    if node.attr == "tools":
        return CtxTools()
    if node.attr not in CTX:
        near = did_you_mean(node.attr, CTX_NAMES)
        reader.problem(node, scope, f"ctx has no {node.attr!r}{near}")
        return UNKNOWN
    return Method(Ctx(), node.attr)


def call_tools(reader: Reader, name: str, node: ast.Call, scope: Scope) -> Value:
    """Read ``ctx.tools.<name>(...)``."""
    if name != "execute":
        reader.problem(node, scope, f"ctx.tools has no {name!r}: write {EXECUTE}")
        return UNKNOWN
    asked = read_call(reader, EXECUTE, node, scope)
    return _tool(asked) if asked else Awaiting(UNKNOWN, EXECUTE.name)


def call(reader: Reader, name: str, node: ast.Call, scope: Scope) -> Value:
    """Read ``ctx.<name>(...)``; give what it stands for."""
    if reader.row is not None and name in TOP_LEVEL_ONLY:
        told = f"ctx.{name} cannot be called inside {reader.row}: {TOP_LEVEL_ONLY[name]}"
        reader.problem(node, scope, told)
    asked = read_call(reader, CTX[name], node, scope)
    if asked is None:
        return UNKNOWN if name in NOT_AWAITED else Awaiting(UNKNOWN, f"ctx.{name}()")
    return CALLS[name](asked)


def _csv(asked: ReadCall) -> Value:
    ref = asked.get("ref")
    text = text_of(ref)
    if isinstance(ref, InputItem):
        asked.reader.note.note_input(ref.name, asked.place, is_csv=True)
        asked.note("csv", ref.name)
    elif text is not None and not text.startswith(UPLOAD_PREFIX):
        asked.problem(
            f"ctx.csv opens uploads that the run is given, and {text!r} is none:"
            ' write ctx.csv(input["leads"])',
            "ref",
        )
    else:
        asked.note("csv", text)
    return Awaiting(Rows(source_of(ref)), "ctx.csv()")


def _tool(asked: ReadCall) -> Value:
    key = asked.name("id")
    tool = asked.name("tool")
    if tool is not None and (told := asked.reader.tools.problem(tool)):
        asked.problem(told, "tool")
    _check_input(asked)
    asked.note("wait" if tool in ENGINE_TOOLS else "tool", key, {"tool": tool})
    return Awaiting(UNKNOWN, f"{asked.form.name}()")


def _check_input(asked: ReadCall) -> None:
    value, is_known = asked.literal("input")
    if is_known and not isinstance(value, dict):
        asked.problem(f"{asked.form.name} needs a dict as its input, not {value!r}", "input")


def _waterfall(asked: ReadCall) -> Value:
    _check_input(asked)
    spec = asked.get("name_or_spec")
    if isinstance(spec, Spec):
        if asked.has("providers"):
            asked.problem(
                "providers belong to named waterfalls: this one has steps of its own", "providers"
            )
        asked.note("waterfall", spec.note.id, spec.note.to_json())
        run_spec(asked.reader, spec)
    else:
        name = asked.name("name_or_spec")
        asked.note("waterfall", name, {"providers": _providers(asked, name)})
    return Awaiting(UNKNOWN, "ctx.waterfall()")


def _providers(asked: ReadCall, waterfall: str | None) -> list[str] | None:
    given = asked.get("providers")
    tools = asked.reader.tools
    if not asked.has("providers") or (isinstance(given, Const) and given.value is None):
        if waterfall is None:
            return None
        if told := tools.default_problem(waterfall):
            asked.problem(told)
        return tools.usual_providers(waterfall)
    if not isinstance(given, Const):
        _check_known_providers(asked, given)
        return None
    names = given.value
    is_list = isinstance(names, list | tuple) and all(isinstance(each, str) for each in names)
    if not is_list or not names:
        asked.problem("providers is a list of providers' names, with at least one", "providers")
        return None
    if twice := repeated(names):
        asked.problem(f"providers names {listed(twice)} twice", "providers")
    for provider in names if waterfall is not None else ():
        if told := tools.provider_problem(provider, waterfall or ""):
            asked.problem(told, "providers")
    return list(names)


def _check_known_providers(asked: ReadCall, given: Value) -> None:
    """Check those names of a partly computed list that stand in the text."""
    for part in given.parts if isinstance(given, Items) else ():
        name, waterfall = text_of(part), text_of(asked.get("name_or_spec"))
        if name is None or waterfall is None:
            continue
        if told := asked.reader.tools.provider_problem(name, waterfall):
            asked.problem(told, "providers")


def _run_play(asked: ReadCall) -> Value:
    key = asked.name("key")
    play = asked.name("play")
    if play is not None and _same_play(play, asked.reader.note.name):
        asked.problem(f"the play {play!r} calls itself, which would never end", "play")
    asked.note("play", key, {"play": play})
    return Awaiting(UNKNOWN, "ctx.run_play()")


def _same_play(one: str, other: str) -> bool:
    try:
        return safe_name(one) == safe_name(other)
    except KeyInvalid:
        return False


def _step(asked: ReadCall) -> Value:
    key = asked.name("key")
    asked.note("step", key)
    function = asked.function("fn", range(1), "without arguments")
    value, is_known = asked.literal("fn")
    if isinstance(asked.get("fn"), Awaiting):
        asked.problem("ctx.step needs a function that it can call: write lambda: before it", "fn")
    elif is_known:
        asked.problem(f"ctx.step needs a function as its fn, not {value!r}", "fn")
    result = asked.reader.run(function, ()) if function else UNKNOWN
    return Awaiting(Unknown(source_of(result)), "ctx.step()")


def _fetch(asked: ReadCall) -> Value:
    asked.note("fetch", asked.name("key"))
    asked.name("url")
    if asked.has("method") and not _may_be_repeated(asked):
        method = text_of(asked.get("method"))
        asked.problem(
            f"{method} may do something twice after a restart: give headers an Idempotency-Key,"
            ' as in headers={"Idempotency-Key": input["order"]}',
            "method",
        )
    if all(_is_a_value(asked.get(name)) for name in ("json", "data")):
        asked.problem("give ctx.fetch either json or data: a request has one body", "data")
    return Awaiting(UNKNOWN, "ctx.fetch()")


def _is_a_value(given: Value) -> bool:
    """Whether the text shows that this is not None."""
    return isinstance(given, Items) or (isinstance(given, Const) and given.value is not None)


def _may_be_repeated(asked: ReadCall) -> bool:
    """Whether a fetch can be sent again after a crash, so far as the text tells."""
    method = text_of(asked.get("method"))
    if method is None or method.upper() in REPEATABLE_METHODS:
        return True
    headers = asked.arguments.get("headers")
    if headers is None:
        return False
    names = [
        text_of(asked.reader.value(each, asked.scope))
        for each in getattr(headers, "keys", [None])
        if each
    ]
    return not names or any(name is None or name.lower() in IDEMPOTENCY_KEYS for name in names)


def _sleep(asked: ReadCall) -> Value:
    asked.number("seconds")
    asked.note("sleep", None)
    return Awaiting(UNKNOWN, "ctx.sleep()")


def _wait(asked: ReadCall) -> Value:
    key = asked.name("key")
    asked.name("event")
    asked.number("timeout_seconds", may_be_zero=False)
    asked.note("wait", key)
    return Awaiting(UNKNOWN, "ctx.wait_for_event()")


def _extract_list(asked: ReadCall) -> Value:
    return Unknown(first_source(asked.given.values()))


def _log(asked: ReadCall) -> Value:
    return UNKNOWN


NOT_AWAITED = ("map", "extract_list", "log")
CALLS: Mapping[str, Callable[[ReadCall], Value]] = {
    "csv": _csv,
    "map": maps.begin,
    "tool": _tool,
    "waterfall": _waterfall,
    "run_play": _run_play,
    "step": _step,
    "fetch": _fetch,
    "sleep": _sleep,
    "wait_for_event": _wait,
    "extract_list": _extract_list,
    "log": _log,
}


def tool_as_written(node: ast.AST) -> str | None:
    """Give the literal tool of a call that looks like ``x.tools.execute(...)`` or ``x.tool(...)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    is_execute = (
        node.func.attr == "execute" and isinstance(owner, ast.Attribute) and owner.attr == "tools"
    )
    if not is_execute and node.func.attr != "tool":
        return None
    for keyword in node.keywords:
        if keyword.arg == "tool" and isinstance(keyword.value, ast.Constant):
            return keyword.value.value if isinstance(keyword.value.value, str) else None
    return None
