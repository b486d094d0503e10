"""Header cells -> columns, and the choice of columns that a play asks for.

A column's name is its header without the white space around it, with these exceptions, each told to
the person: an empty header becomes ``column_3`` (its place); a header that occurred before becomes
``name_2``; leading underscores go, because fields named so are hidden from outputs; NUL characters
go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from plays.uploads.shapes import Column, UploadError

_NAMES_SHOWN = 30


def name_columns(headers: Sequence[str]) -> tuple[Column, ...]:
    """Give one column per header cell, all with different names.

    A header that needs no change keeps its name, wherever it stands; so naming names again changes
    nothing.
    """
    wanted = [_clean(header) or f"column_{place}" for place, header in enumerate(headers, 1)]
    taken: set[str] = set()
    reserved = {name for name, header in zip(wanted, headers, strict=True) if name == header}
    columns = []
    for index, (name, header) in enumerate(zip(wanted, headers, strict=True)):
        is_free = name not in taken and (name == header or name not in reserved)
        final = name if is_free else _numbered(name, taken | reserved)
        taken.add(final)
        columns.append(Column(final, header, index, renamed=final != header))
    return tuple(columns)


def _clean(header: str) -> str:
    return header.replace("\ufffd", "").strip().lstrip("_").strip()


def _numbered(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def generated_columns(width: int) -> tuple[Column, ...]:
    """Give ``column_1``, ``column_2``… for a file without a header."""
    names = [f"column_{place}" for place in range(1, width + 1)]
    return tuple(Column(name, "", index, renamed=True) for index, name in enumerate(names))


def choose_columns(
    columns: Sequence[Column],
    *,
    rename: Mapping[str, str] | None = None,
    select: Sequence[str] | None = None,
) -> tuple[Column, ...]:
    """Give the columns that a play reads, under the names it wants, in file order.

    ``rename`` maps a column's name, or its header as written, to a new name; ``select`` holds names
    after renaming, or before. Raises UploadError that lists what there is, for a name that is not
    there; and for new names that are empty, begin with ``_``, or meet another column's.
    """
    renamed = _renamed(columns, rename or {})
    chosen = renamed if select is None else _selected(columns, renamed, select)
    twice = [name for name, count in Counter(column.name for column in chosen).items() if count > 1]
    if twice:
        raise UploadError(f"After renaming, more than one column is called {twice[0]!r}.")
    return chosen


def _renamed(columns: Sequence[Column], rename: Mapping[str, str]) -> tuple[Column, ...]:
    names = {_find(columns, old).index: new for old, new in rename.items()}
    for new in names.values():
        if not new or _clean(new) != new:
            raise UploadError(
                f"A column cannot be called {new!r}: a name is not empty, has no white space around"
                " it and does not begin with an underscore."
            )
    return tuple(
        replace(column, name=names[column.index], renamed=True) if column.index in names else column
        for column in columns
    )


def _selected(
    columns: Sequence[Column], renamed: tuple[Column, ...], select: Sequence[str]
) -> tuple[Column, ...]:
    by_name = {column.name: column.index for column in renamed}
    wanted = {by_name[name] if name in by_name else _find(columns, name).index for name in select}
    return tuple(column for column in renamed if column.index in wanted)


def _find(columns: Sequence[Column], name: str) -> Column:
    """Find a column by its name, or else by its header as written."""
    for column in columns:
        if column.name == name:
            return column
    for column in columns:
        if column.original == name:
            return column
    shown = ", ".join(column.name for column in columns[:_NAMES_SHOWN])
    more = len(columns) - _NAMES_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    raise UploadError(f"The file has no column {name!r}; it has: {shown}{rest}.")
