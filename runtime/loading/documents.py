"""Reads JSON and YAML as plain JSON values, each with the line on which it stands.

YAML is read by a small rule of its own, so that a definition means the same in both forms: a plain
scalar is what JSON would make of it (a number, true, false, null) and text otherwise, so ``no`` and
``2024-01-01`` stay text. Tags are refused, and aliases count as often as they are used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from runtime.loading.problems import refusal

Path = tuple[str | int, ...]

MAX_VALUES = 20_000
MAX_DEPTH = 40
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+([eE][+-]\d+)?)?")
"""What is a number in YAML 1.1 and 1.2 alike: 1E5 is text in one of them, and programs write it so."""
DIGITS, DIGITS_SHOWN = 300, 20
WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@dataclass(slots=True)
class Document:
    """A value, and the line of each part of it by its path; keys stand for their values."""

    value: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Give the line of the nearest part that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_document(text: str, filename: str) -> Document:
    """Read a definition's text. Raises PlayInvalid with the line of what cannot be read."""
    if filename.lower().endswith(".json"):
        return _read_json(text)
    return _read_yaml(text)


def _read_json(text: str) -> Document:
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_number, parse_int=_number
        )
    except json.JSONDecodeError as error:
        raise refusal(f"this is no JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError) as error:
        raise refusal(f"the definition cannot be read: {_why(error)}") from None
    return Document(value, dict(_json_lines(text)))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _number(text: str) -> float | int:
    """Read a number as JSON writes it. Raises ValueError for one that is too large."""
    number = (
        float(text) if set(text) & set(".eE") else int(text) if len(text) < DIGITS else math.inf
    )
    if not math.isfinite(number):
        raise ValueError(f"{text[:DIGITS_SHOWN]} is too large a number")
    return number


def _why(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


@dataclass(slots=True)
class _Level:
    """An object or list that is being read: its path, and where in it the reading is."""

    path: Path
    is_list: bool
    index: int = 0
    key: str | None = None
    keys: set[str] = field(default_factory=set)
    value: Any = None
    alias: str | None = None
    size: int = 1

    def next_path(self) -> Path:
        """Give the path of the value that comes next."""
        return (*self.path, self.index if self.is_list else str(self.key))

    def take_key(self, key: str, line: int) -> None:
        """Begin an entry of an object. Raises PlayInvalid for a key that came before."""
        if key in self.keys:
            raise refusal(f"the key {key!r} stands here twice: leave one of them", line)
        self.keys.add(key)
        self.key = key

    def advance(self) -> None:
        """Be done with a value."""
        self.index += 1
        self.key = None


def _json_lines(text: str) -> Iterator[tuple[Path, int]]:
    """Give the line of every value and key of a text that is known to be JSON."""
    levels: list[_Level] = []
    line, done = 1, 0
    for token in TOKEN.finditer(text):
        line, done = line + text.count("\n", done, token.start()), token.start()
        word, level = token[0], levels[-1] if levels else None
        if word in "}]":
            levels.pop()
        if level and not level.is_list and level.key is None and word.startswith('"'):
            level.take_key(json.loads(word), line)
            yield level.next_path(), line
        elif word == "," and level:
            level.advance()
        elif word not in ":,}]":
            path = level.next_path() if level else ()
            if level is None or level.is_list:
                yield path, line
            if word in "{[":
                levels.append(_Level(path, word == "["))
                _check_depth(len(levels), line)


def _check_depth(depth: int, line: int) -> None:
    if depth > MAX_DEPTH:
        raise refusal(f"the definition is nested more than {MAX_DEPTH} levels deep", line)


def _read_yaml(text: str) -> Document:
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    reading = _YamlReading()
    try:
        for event in yaml.parse(text, Loader=loader):
            reading.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refusal(f"this is no YAML: {error.problem}", mark.line + 1 if mark else 0) from None
    except yaml.YAMLError as error:
        raise refusal(f"this is no YAML: {str(error).splitlines()[0]}") from None
    return Document(reading.value, reading.lines)


class _YamlReading:
    """Builds a value out of the events of a YAML text, without recursion and within limits."""

    def __init__(self) -> None:
        self.value: Any = None
        self.lines: dict[Path, int] = {}
        self._levels: list[_Level] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._documents = 0
        self._count = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event. Raises PlayInvalid for what a definition may not hold."""
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise refusal("the file holds several documents: a definition is one", line)
        elif isinstance(event, yaml.AliasEvent):
            self._add(*self._anchored(str(event.anchor), line), line)
        elif isinstance(event, yaml.NodeEvent):
            self._begin(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            level = self._levels.pop()
            self._add(level.value, level.size, line, level.alias, placed=True)

    def _begin(self, event: yaml.NodeEvent, line: int) -> None:
        if getattr(event, "tag", None) not in (None, "!"):
            raise refusal(f"the tag {event.tag} cannot stand in a definition: leave it out", line)  # type: ignore[attr-defined]
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else _plain(event.value, line)
            if self._is_key():
                self._levels[-1].take_key(event.value, line)
                self.lines[self._levels[-1].next_path()] = line
            else:
                self._add(value, 1, line, event.anchor)
            return
        if self._is_key():
            raise refusal("a key is plain text, not a list or a mapping", line)
        path = self._place(line)
        is_list = isinstance(event, yaml.SequenceStartEvent)
        self._levels.append(_Level(path, is_list, value=[] if is_list else {}, alias=event.anchor))
        _check_depth(len(self._levels), line)

    def _is_key(self) -> bool:
        return bool(self._levels) and not self._levels[-1].is_list and self._levels[-1].key is None

    def _place(self, line: int) -> Path:
        """Give the path of the value that begins here, and note its line."""
        path = self._levels[-1].next_path() if self._levels else ()
        self.lines.setdefault(path, line)
        return path

    def _anchored(self, anchor: str, line: int) -> tuple[Any, int]:
        if anchor not in self._anchors or self._is_key():
            raise refusal(f"the alias *{anchor} stands for nothing that is complete here", line)
        return self._anchors[anchor]

    def _add(
        self, value: Any, size: int, line: int, anchor: str | None = None, *, placed: bool = False
    ) -> None:
        """Put a complete value where it belongs; ``size`` counts its parts."""
        self._count += size if not placed else 1
        if self._count > MAX_VALUES:
            raise refusal(f"the definition holds more than {MAX_VALUES:,} values", line)
        if not placed:
            self._place(line)
        if anchor:
            self._anchors[anchor] = value, size
        if not self._levels:
            self.value = value
            return
        level = self._levels[-1]
        level.size += size
        if level.is_list:
            level.value.append(value)
        else:
            level.value[level.key] = value
        level.advance()


def _plain(text: str, line: int) -> Any:
    if text.lower() in WORDS and text in (text.lower(), text.title(), text.upper()):
        return WORDS[text.lower()]
    if not NUMBER.fullmatch(text):
        return text
    try:
        return _number(text)
    except ValueError as error:
        raise refusal(str(error), line) from None
