"""The key of a call: what makes two calls the same to the ledger. Pure."""

from __future__ import annotations

from runtime.tools import ToolSpec
from runtime.values import Json, digest, sanitise


def call_key(workspace_id: int, spec: ToolSpec, version: str, name: str, call_input: Json) -> str:
    """Give the key of a call, as 64 hexadecimal digits.

    Of a repeatable tool it follows from the input, so that equal inputs, later runs and retries share one
    paid answer. Of any other tool it follows from the durable name, which must say which run it belongs to:
    two wishes for an effect are two effects.
    """
    if spec.repeatable:
        return digest([workspace_id, spec.id, version, "input", sanitise(call_input)[0]])
    return digest([workspace_id, spec.id, version, "name", sanitise(name)[0]])
