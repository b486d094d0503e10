"""What an author may call, and with which arguments: the signatures of the play API.

Read by the static check only, which binds the arguments of a call's syntax to them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import Parameter, Signature

from runtime.loading.problems import did_you_mean, listed


@dataclass(frozen=True, slots=True)
class Form:
    """One callable: how it is written in a sentence, and its signature."""

    name: str
    signature: Signature

    def __str__(self) -> str:
        told, is_keyword = [], False
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is Parameter.KEYWORD_ONLY and not is_keyword:
                is_keyword = True
                told.append("*")
            told.append(name if parameter.default is Parameter.empty else f"{name}=...")
        return f"{self.name}({', '.join(told)})"


@dataclass(frozen=True, slots=True)
class Bound:
    """The arguments of one call by parameter name, and what is wrong with them ("" if nothing).

    ``is_open``: the call unpacks something, so that arguments may be there that the text does not show.
    """

    arguments: Mapping[str, ast.expr] = field(default_factory=dict)
    problem: str = ""
    is_open: bool = False


def _form(name: str, positional: str = "", options: str = "") -> Form:
    """Build a form from names; one that ends in ``?`` may be left out."""
    parameters = [
        *(_parameter(each, Parameter.POSITIONAL_OR_KEYWORD) for each in positional.split()),
        *(_parameter(each, Parameter.KEYWORD_ONLY) for each in options.split()),
    ]
    return Form(name, Signature(parameters))


def _parameter(name: str, kind: inspect._ParameterKind) -> Parameter:
    default = None if name.endswith("?") else Parameter.empty
    return Parameter(name.rstrip("?"), kind, default=default)


CTX: Mapping[str, Form] = {
    "csv": _form("ctx.csv", "ref", "rename? columns? encoding? delimiter?"),
    "map": _form("ctx.map", "table rows", "key? stale_after_seconds?"),
    "tool": _form("ctx.tool", "", "id tool input description?"),
    "waterfall": _form("ctx.waterfall", "name_or_spec input", "providers? description?"),
    "run_play": _form("ctx.run_play", "key play input", "description?"),
    "step": _form("ctx.step", "key fn"),
    "fetch": _form("ctx.fetch", "key url", "method? headers? json? data?"),
    "sleep": _form("ctx.sleep", "seconds"),
    "wait_for_event": _form("ctx.wait_for_event", "key", "event timeout_seconds message? form?"),
    "extract_list": _form("ctx.extract_list", "result path fields?"),
    "log": _form("ctx.log", "message"),
}
CTX_NAMES = (*CTX, "tools")
EXECUTE = _form("ctx.tools.execute", "", "id tool input description?")
BUILDER: Mapping[str, Form] = {
    "step": _form(".step", "name resolver", "stale_after_seconds?"),
    "run": _form(".run", "", "description? on_row_error?"),
}
PROGRAM: Mapping[str, Form] = {
    "step": BUILDER["step"],
    "returns": _form(".returns", "function"),
}
PUBLIC: Mapping[str, Form] = {
    "play": _form("@play", "name", "description? input_schema?"),
    "steps": _form("steps"),
    "when": _form("when", "predicate", "run otherwise?"),
    "waterfall": _form("waterfall", "", "id output steps min_results?"),
    "tool_step": _form("tool_step", "id tool map_input?"),
    "code_step": _form("code_step", "id run"),
}


def bind(form: Form, call: ast.Call) -> Bound:
    """Bind a call's arguments, so far as the text shows them, to a form."""
    positional = [each for each in call.args if not isinstance(each, ast.Starred)]
    named = {each.arg: each.value for each in call.keywords if each.arg}
    is_open = len(positional) < len(call.args) or len(named) < len(call.keywords)
    known = form.signature.parameters
    if unknown := [name for name in named if name not in known]:
        near = did_you_mean(unknown[0], known) or f": write {form}"
        return Bound(named, f"{form.name} has no option {unknown[0]!r}{near}", is_open)
    try:
        arguments = form.signature.bind_partial(*positional, **named).arguments
    except TypeError:
        return Bound(named, f"{form.name} is given too many arguments: write {form}", is_open)
    missing = [
        name
        for name, parameter in known.items()
        if parameter.default is Parameter.empty and name not in arguments
    ]
    if missing and not is_open:
        return Bound(arguments, f"{form.name} needs {listed(missing)}: write {form}")
    return Bound(arguments, "", is_open)
