"""What the check takes for the play API is what the engine offers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

import pytest

import runtime
from runtime import toolcalls, waterfalls
from runtime.builder import MapBuilder
from runtime.context import Context, Tools
from runtime.loading import surface, toolnames
from runtime.loading.maps import ON_ROW_ERROR
from runtime.program import Steps

OFFERED: dict[str, tuple[surface.Form, Callable[..., Any]]] = {
    **{f"ctx.{name}": (form, getattr(Context, name)) for name, form in surface.CTX.items()},
    **{f"map.{name}": (form, getattr(MapBuilder, name)) for name, form in surface.BUILDER.items()},
    **{f"steps.{name}": (form, getattr(Steps, name)) for name, form in surface.PROGRAM.items()},
    **{name: (form, getattr(runtime, name)) for name, form in surface.PUBLIC.items()},
    "ctx.tools.execute": (surface.EXECUTE, Tools.execute),
}


def shape(signature: inspect.Signature) -> list[tuple[str, Any, bool]]:
    """Give a signature as (name, kind, whether it may be left out), without self."""
    return [
        (
            name if each.kind is Parameter.KEYWORD_ONLY else "",
            each.kind,
            each.default is not Parameter.empty,
        )
        for name, each in signature.parameters.items()
        if name != "self"
    ]


@pytest.mark.parametrize("name", OFFERED)
def test_a_call_takes_what_the_engine_takes(name: str) -> None:
    form, function = OFFERED[name]
    assert shape(form.signature) == shape(inspect.signature(function))


def test_the_context_offers_nothing_that_the_check_does_not_know() -> None:
    offered = {
        name for name, _ in inspect.getmembers(Context, inspect.isfunction) if name[0] != "_"
    }
    assert offered - {"child", "open_table"} == set(surface.CTX)
    assert set(surface.CTX_NAMES) - set(surface.CTX) == {"tools"}


def test_providers_and_refused_tools_are_those_of_the_engine() -> None:
    assert toolnames.DEFAULT_PROVIDERS == waterfalls.DEFAULT_PROVIDERS
    assert toolnames.PROVIDER_ALIASES == waterfalls.PROVIDER_ALIASES
    assert set(toolnames.REFUSED_TOOLS) == {toolcalls.CODE_TOOL}
    assert ON_ROW_ERROR == ("isolate", "fail")
