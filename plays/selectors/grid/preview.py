"""Previews: what a grid shows of a value, made by PostgreSQL so that no long value leaves it.

A preview is the value itself where it is short: text up to 200 characters, a number that a browser
holds exactly, a boolean, null. An integer beyond 2^53 is text. Whatever else (long text, objects,
lists) is an object with ``preview`` (its first characters), ``kind`` (``string``, ``object`` or
``array``) and ``length`` in characters; no value is an object by itself, so the two are never
confused.
"""

from __future__ import annotations

PREVIEW_CHARACTERS = 200

_TEXT = "(value #>> '{}')"

PREVIEW = f"""
    CASE jsonb_typeof(value)
    WHEN 'string' THEN
        CASE WHEN length({_TEXT}) <= {PREVIEW_CHARACTERS} THEN value
        ELSE jsonb_build_object(
            'preview', left({_TEXT}, {PREVIEW_CHARACTERS}),
            'kind', 'string', 'length', length({_TEXT})
        ) END
    WHEN 'number' THEN
        CASE WHEN abs(value::numeric) > 9007199254740991 THEN to_jsonb({_TEXT}) ELSE value END
    WHEN 'boolean' THEN value
    WHEN 'null' THEN value
    ELSE jsonb_build_object(
        'preview', left({_TEXT}, {PREVIEW_CHARACTERS}),
        'kind', jsonb_typeof(value), 'length', length({_TEXT})
    ) END
"""
"""SQL that gives the preview of a jsonb expression called ``value``."""


def previews(column: str) -> str:
    """Give SQL for an object of previews of a jsonb object column, as text; ``{}`` where empty."""
    each = f"SELECT jsonb_object_agg(key, {PREVIEW}) FROM jsonb_each({column})"  # noqa: S608
    return f"coalesce(({each}), '{{}}')::text"
