"""The conditions of structured definitions. Pure.

A condition is a template, which holds where its value is meaningful; a comparison of a ``value``; or
conditions put together by ``all``, ``any`` and ``not``. Files hold text, so text that is a number
counts as that number wherever a number is compared with. What cannot be compared does not hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.loading.templates import Roots, TemplateError, read_templates, render
from runtime.values import Json, is_meaningful

GROUPS = ("all", "any", "not")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value, and what it must be: the name of a comparison with what it is compared to."""

    value: Json
    tests: Mapping[str, Json]

    def holds(self, roots: Roots) -> bool:
        """Whether every test holds for the value; without tests, whether it is meaningful."""
        value = render(self.value, roots)
        if not self.tests:
            return is_meaningful(value)
        return all(COMPARISONS[name](value, render(to, roots)) for name, to in self.tests.items())


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions of which all, any or not one must hold."""

    kind: str
    conditions: tuple[Condition, ...]

    def holds(self, roots: Roots) -> bool:
        """Whether the group holds for a row."""
        found = (each.holds(roots) for each in self.conditions)
        return all(found) if self.kind == "all" else any(found) != (self.kind == "not")


Condition = Comparison | Group


def read_condition(told: Any) -> Condition:
    """Read a condition that fits the schema. Raises TemplateError for one that says two things."""
    if isinstance(told, str):
        return Comparison(read_templates(told), {})
    groups = [name for name in GROUPS if name in told]
    if len(groups) == 1 and len(told) == 1:
        inside = told[groups[0]] if groups != ["not"] else [told["not"]]
        return Group(groups[0], tuple(map(read_condition, inside)))
    tests = {name: read_templates(to) for name, to in told.items() if name != "value"}
    if groups or "value" not in told or not tests:
        raise TemplateError(
            "a condition is a template, a 'value' with a comparison such as at_least, or exactly one of"
            " all, any and not"
        )
    return Comparison(read_templates(told["value"]), tests)


def parts_of(condition: Condition) -> list[Json]:
    """Give everything in a condition that may hold templates."""
    if isinstance(condition, Comparison):
        return [condition.value, dict(condition.tests)]
    return [part for each in condition.conditions for part in parts_of(each)]


def _like(value: Json, other: Json) -> Json:
    """Give ``value`` as a number where ``other`` is one and it reads as one."""
    if isinstance(value, str) and _is_number(other):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(value: Json, other: Json) -> bool:
    like = _like(value, other)
    return isinstance(like, bool) == isinstance(other, bool) and bool(like == other)


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Json, Json], bool]:
    def holds(value: Json, other: Json) -> bool:
        one, another = _like(value, 0), _like(other, 0)
        return _is_number(one) and _is_number(another) and bool(compare(one, another))

    return holds


def _contains(value: Json, other: Json) -> bool:
    if isinstance(value, list):
        return any(_equal(each, other) for each in value)
    return isinstance(value, str) and isinstance(other, str) and other.lower() in value.lower()


COMPARISONS: Mapping[str, Callable[[Json, Json], bool]] = {
    "equals": _equal,
    "not_equals": lambda value, other: not _equal(value, other),
    "one_of": lambda value, others: any(_equal(value, each) for each in others),
    "at_least": _ordered(operator.ge),
    "at_most": _ordered(operator.le),
    "above": _ordered(operator.gt),
    "below": _ordered(operator.lt),
    "contains": _contains,
}
