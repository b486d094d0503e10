"""Checks a definition against its JSON Schema, and says what is wrong in sentences with lines."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from runtime.loading.documents import Document, Path
from runtime.loading.problems import Problems, did_you_mean, listed

KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
}
PATTERNS = {r"\S": "must not be blank", r"\{\{": "has to be a number or a template"}
WORKS = ("value", "tool", "waterfall", "steps")
ROWS = ("csv", "list", "map")


@functools.cache
def definition_schema() -> dict[str, Any]:
    """Give the published JSON Schema of structured definitions."""
    text = files("runtime.loading").joinpath("definition.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@functools.cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(definition_schema())


def check_shape(document: Document, problems: Problems) -> bool:
    """Note where a definition does not fit the schema; tell whether it does."""
    errors = list(_validator().iter_errors(document.value))
    for error in errors:
        path = tuple(error.absolute_path)
        problems.add(
            _line(error, document, path), f"{_place(path, document.value)}{_sentence(error)}"
        )
    return not errors


def _line(error: ValidationError, document: Document, path: Path) -> int:
    if error.validator == "additionalProperties":
        return document.line((*path, _unknown(error)[0]))
    return document.line(path)


def _unknown(error: ValidationError) -> list[str]:
    known = _properties(error)
    return [name for name in _instance(error) if name not in known]


def _properties(error: ValidationError) -> list[str]:
    """Give the keys that the part of the schema knows which the error comes from."""
    schema: Any = error.schema
    return list(schema["properties"])


def _instance(error: ValidationError) -> Any:
    return error.instance


def _expected(error: ValidationError) -> Any:
    """Give what the rule of the schema says that was broken."""
    return error.validator_value


def _place(path: Path, value: Any) -> str:
    """Say in which map and step a path lies: ``the step 'email' of the map 'leads': ``."""
    table, step = "", ""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            break
        if isinstance(value, Mapping):
            table = str(value.get("table") or table)
            step = str(value.get("name") or step)
    if step:
        return f"the step {step!r}{f' of the map {table!r}' if table else ''}: "
    return f"the map {table!r}: " if table else ""


def _sentence(error: ValidationError) -> str:
    say = SENTENCES.get(str(error.validator))
    return say(error) if say else error.message


def _name(error: ValidationError) -> str:
    """Give the key that an error is about."""
    names = [part for part in error.absolute_path if isinstance(part, str)]
    return repr(names[-1]) if names else "the definition"


def _additional(error: ValidationError) -> str:
    name, known = _unknown(error)[0], _properties(error)
    near = did_you_mean(name, known) or f": use {listed(known, 'or')}"
    return f"there is no key {name!r} here{near}"


def _required(error: ValidationError) -> str:
    missing = [name for name in _expected(error) if name not in _instance(error)]
    return f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"


def _type(error: ValidationError) -> str:
    kinds = [_expected(error)] if isinstance(_expected(error), str) else _expected(error)
    return f"{_name(error)} has to be {' or '.join(KINDS.get(kind, kind) for kind in kinds)}"


def _one_of(error: ValidationError) -> str:
    names = WORKS if "value" in _properties(error) else ROWS
    found = [name for name in names if name in _instance(error)]
    told = f"but has {listed(found)}" if found else "but has none"
    return f"it needs exactly one of {listed(names)}, {told}"


def _dependent(error: ValidationError) -> str:
    for name, needed in _expected(error).items():
        if name in _instance(error) and needed[0] not in _instance(error):
            return f"{name!r} belongs to {needed[0]!r}, which is missing"
    return error.message


SENTENCES: Mapping[str, Callable[[ValidationError], str]] = {
    "additionalProperties": _additional,
    "required": _required,
    "type": _type,
    "oneOf": _one_of,
    "dependentRequired": _dependent,
    "pattern": lambda error: f"{_name(error)} {PATTERNS[_expected(error)]}",
    "minLength": lambda error: f"{_name(error)} must not be empty",
    "minItems": lambda error: f"{_name(error)} must not be empty",
    "minProperties": lambda error: f"{_name(error)} must not be empty",
    "maxItems": lambda error: f"{_name(error)} may hold at most {_expected(error)} entries",
    "uniqueItems": lambda error: f"{_name(error)} names something twice",
    "minimum": lambda error: f"{_name(error)} has to be at least {_expected(error)}",
    "enum": lambda error: f"{_name(error)} has to be {listed(_expected(error), 'or')}",
}
