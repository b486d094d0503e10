"""What of a value does not fit a JSON Schema that an author wrote, told by the name of each part."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from runtime.loading.schemas import schema_problem

Json = Any

PROBLEMS_SHOWN = 20
ORDER = "x-order"


def schema_problems(schema: Json, given: Json) -> list[tuple[str, str]]:
    """Give the name of a property and a sentence for each problem; "" names the value as a whole.

    A schema that is no object asks for nothing.
    """
    if not isinstance(schema, dict):
        return []
    # A registry of its own: the default one would fetch what "$ref" names from the network.
    validator = Draft202012Validator(schema, registry=Registry())
    try:
        errors = sorted(validator.iter_errors(given), key=_place)
    except Unresolvable as error:
        return [("", f"The play's schema refers to {error.ref}, which it does not hold.")]
    return [(_name(error), _sentence(error)) for error in errors[:PROBLEMS_SHOWN]]


def form_or_none(form: Json) -> dict[str, Json] | None:
    """Give a wait's form, or None for what a play process sent that is no schema of an object."""
    return form if isinstance(form, dict) and not schema_problem(form, "form") else None


def with_order(form: Json) -> Json:
    """Note in a form in which order its author wrote the properties, which ``jsonb`` does not keep."""
    if not isinstance(form, dict) or not isinstance(form.get("properties"), dict):
        return form
    return {**form, ORDER: list(form["properties"])}


def ordered_properties(form: dict[str, Json]) -> dict[str, Json]:
    """Give a form's properties in the order in which its author wrote them."""
    properties: dict[str, Json] = form.get("properties", {})
    order = form.get(ORDER)
    first = [str(name) for name in order] if isinstance(order, list) else []
    return {
        name: properties[name]
        for name in dict.fromkeys([*first, *properties])
        if name in properties
    }


def _place(error: ValidationError) -> str:
    return "/".join(str(part) for part in error.absolute_path)


def _name(error: ValidationError) -> str:
    """Give the property that an error speaks of; a missing one is named by the object around it."""
    if error.absolute_path:
        return str(error.absolute_path[0])
    names: Any = error.validator_value
    if error.validator == "required" and isinstance(error.instance, dict):
        return next((name for name in names if name not in error.instance), "")
    return ""


def _sentence(error: ValidationError) -> str:
    if error.validator == "required":
        return "This input is required."
    inner = "/".join(str(part) for part in list(error.absolute_path)[1:])
    told = error.message[:300]
    told = told[0].upper() + told[1:] if told and told[0].isalpha() else told
    return f"At {inner}: {told}." if inner else f"{told}."
