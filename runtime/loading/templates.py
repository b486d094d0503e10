"""The templates of structured definitions: ``{{row.domain | strip | lower}}``. Pure.

A template reads ``row`` (the columns of the row and the fields computed before) or ``input`` (the
run's input) by a path, and may send the value through filters. A text that is one template alone is
the value itself, with its type; in a longer text the value is put in as text. A path that ends early
has no value: the template is then null, and so is a text around it, so that nothing half-made is sent
to a tool; ``default`` gives it one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.values import Json, canonical_json, is_meaningful

ROOTS = ("row", "input")
HOLE = re.compile(r'\{\{((?:"(?:\\.|[^"\\])*"|[^"{}])*)\}\}')
PATH = re.compile(r'\s*(\w+)((?:\.[\w-]+|\[\d+\]|\["(?:\\.|[^"\\])*"\])*)\s*')
PART = re.compile(r'\.([\w-]+)|\[(\d+)\]|\[("(?:\\.|[^"\\])*")\]')
FILTER = re.compile(r'\|\s*(\w+)\s*(?::\s*("(?:\\.|[^"\\])*"|[^\s|"]+))?\s*')

Roots = Mapping[str, Mapping[str, Json]]


class TemplateError(Exception):
    """A template that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """What stands between the braces."""

    root: str
    path: tuple[str | int, ...]
    filters: tuple[tuple[str, Json], ...] = ()

    @property
    def name(self) -> str:
        """The column, field or input that is read."""
        return str(self.path[0])

    def value(self, roots: Roots) -> Json:
        """Read the value; None where the path ends early."""
        found: Json = roots[self.root].get(self.name)
        for part in self.path[1:]:
            found = _part_of(found, part)
        for name, argument in self.filters:
            found = FILTERS[name](found, argument)
        return found


@dataclass(frozen=True, slots=True)
class Template:
    """A text with expressions in it."""

    parts: tuple[str | Expression, ...]

    def value(self, roots: Roots) -> Json:
        """Give the value of one expression alone, or the text; None where one of several has none."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Expression):
            return self.parts[0].value(roots)
        texts = []
        for part in self.parts:
            value = part.value(roots) if isinstance(part, Expression) else part
            if value is None:
                return None
            texts.append(value if isinstance(value, str) else canonical_json(value))
        return "".join(texts)


def read_template(text: str) -> str | Template:
    """Read a text; one without templates is given back. Raises TemplateError."""
    parts: list[str | Expression] = []
    done = 0
    for hole in HOLE.finditer(text):
        parts += [text[done : hole.start()], _expression(hole[1])]
        done = hole.end()
    parts.append(text[done:])
    if any(isinstance(part, str) and "{{" in part for part in parts):
        raise TemplateError("a template that begins with {{ does not end with }}")
    if len(parts) == 1:
        return text
    return Template(tuple(part for part in parts if part != ""))


def read_templates(value: Json) -> Json:
    """Read all texts in a JSON value. Raises TemplateError."""
    if isinstance(value, str):
        return read_template(value)
    if isinstance(value, dict):
        return {key: read_templates(each) for key, each in value.items()}
    if isinstance(value, list):
        return [read_templates(each) for each in value]
    return value


def render(value: Json, roots: Roots) -> Json:
    """Give what :func:`read_templates` gave, with the templates' values in place."""
    if isinstance(value, Template):
        return value.value(roots)
    if isinstance(value, dict):
        return {key: render(each, roots) for key, each in value.items()}
    if isinstance(value, list):
        return [render(each, roots) for each in value]
    return value


def expressions_in(value: Json) -> Iterator[Expression]:
    """Give every expression in a value that :func:`read_templates` gave."""
    if isinstance(value, Template):
        yield from (part for part in value.parts if isinstance(part, Expression))
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from expressions_in(each)


def _expression(text: str) -> Expression:
    found = PATH.match(text)
    if found is None:
        raise TemplateError(
            f"{{{{{text}}}}} is no path: write {{{{row.column}}}} or {{{{input.name}}}}"
        )
    root, path = found[1], tuple(_part(part) for part in PART.finditer(found[2]))
    if root not in ROOTS:
        raise TemplateError(
            f"{{{{{text}}}}} begins with {root!r}: a template reads 'row' or 'input'"
        )
    if not path or not isinstance(path[0], str):
        raise TemplateError(f"{{{{{text}}}}} names nothing of {root!r}: write {{{{{root}.name}}}}")
    filters = []
    end = found.end()
    while end < len(text):
        each = FILTER.match(text, end)
        if each is None:
            raise TemplateError(f"{{{{{text}}}}} cannot be read from {text[end:].strip()!r} on")
        filters.append(_filter(each[1], each[2]))
        end = each.end()
    return Expression(root, path, tuple(filters))


def _part(part: re.Match[str]) -> str | int:
    if part[1] is not None:
        return int(part[1]) if part[1].isdecimal() else part[1]
    return int(part[2]) if part[2] is not None else _json(part[3])


def _filter(name: str, argument: str | None) -> tuple[str, Json]:
    if name not in FILTERS:
        raise TemplateError(f"there is no filter {name!r}: use {', '.join(FILTERS)}")
    if (argument is not None) != (name == "default"):
        how = 'default: "text"' if name == "default" else name
        raise TemplateError(f"the filter {name!r} is written | {how}")
    return name, _json(argument) if argument is not None else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise TemplateError(f'{text} is no value: write text in quotes, as in "{text}"') from None


def _part_of(value: Json, part: str | int) -> Json:
    if isinstance(value, Mapping):
        return value.get(str(part))
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


FILTERS: Mapping[str, Callable[[Json, Json], Json]] = {
    "lower": lambda value, _: value.lower() if isinstance(value, str) else value,
    "upper": lambda value, _: value.upper() if isinstance(value, str) else value,
    "strip": lambda value, _: value.strip() if isinstance(value, str) else value,
    "default": lambda value, argument: value if is_meaningful(value) else argument,
}
