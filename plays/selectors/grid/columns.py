"""The columns of a map's grid, from its frame. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Field = dict[str, Any]
"""A FieldForm (runtime.ports) as the frame stores it."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column that people see.

    ``kind``: ``input`` is a column of the rows as loaded; ``field`` is computed; ``filled`` is
    both, a step that fills the empty cells of an input column; ``part`` is one step of an inline
    waterfall, shown after the field ``parent`` and never counted as its value.
    """

    name: str
    kind: Literal["input", "field", "filled", "part"]
    parent: str = ""


def is_hidden(name: str) -> bool:
    """Whether a column is computed for later steps only, and left out of outputs."""
    return name.startswith("_")


def frame_columns(inputs: Sequence[str], fields: Sequence[Field]) -> list[Column]:
    """Give the columns in order: the input's as in the file, then visible fields as computed."""
    computed = {field["name"] for field in fields}
    columns = [Column(name, "filled" if name in computed else "input") for name in inputs]
    known = set(inputs)
    for field in fields:
        if is_hidden(field["name"]):
            continue
        if field["name"] not in known:
            columns.append(Column(field["name"], "field"))
        columns += [Column(part, "part", field["name"]) for part in field.get("parts", ())]
    return columns


def output_columns(inputs: Sequence[str], fields: Sequence[Field]) -> list[str]:
    """Give the columns of an output: as :func:`frame_columns`, without parts and hidden ones."""
    columns = frame_columns(inputs, fields)
    return [column.name for column in columns if column.kind != "part"]


def computed_names(fields: Sequence[Field]) -> Iterator[str]:
    """Give every name that cells may have: fields, hidden ones too, each followed by its parts."""
    for field in fields:
        yield field["name"]
        yield from field.get("parts", ())
