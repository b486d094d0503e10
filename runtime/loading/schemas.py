"""What makes a JSON Schema fit to build a form from, and to check values with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from runtime.errors import NotJson
from runtime.values import check_json


def schema_problem(schema: Any, what: str = "input_schema") -> str:
    """Give what is wrong with the schema of a form, or ""; ``what`` names it."""
    if not isinstance(schema, dict):
        return f"{what} is a dict that holds a JSON Schema, not {type(schema).__name__}"
    try:
        check_json(schema, what)
        Draft202012Validator.check_schema(schema)
    except NotJson as error:
        return str(error)
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "its top"
        return f"{what} is no valid JSON Schema: at {where}, {error.message}"
    if schema.get("type", "object") != "object":
        return f'{what} describes an object: write {{"type": "object", "properties": {{...}}}}'
    # A reference to elsewhere would be fetched while a form is checked.
    if any(not reference.startswith("#") for reference in _references(schema)):
        return f"{what} refers to another document: write that part out, or use '#/$defs/...'"
    return ""


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield from (str(each[name]) for name in ("$ref", "$dynamicRef") if name in each)
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
