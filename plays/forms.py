"""Forms of the pages: how to read a file, and a run's inputs as its play's JSON Schema names them.

A form gives plain JSON values; whether they fit the play is judged by ``services.inputs``, for
pages, API and command line alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from plays.models import Boundary, Revision
from plays.schemacheck import form_or_none, ordered_properties
from plays.services.inputs import csv_inputs, is_required

ENCODINGS = (
    ("", "As it looks"),
    ("utf-8", "UTF-8"),
    ("utf-16", "UTF-16"),
    ("windows-1252", "Windows-1252 (Western)"),
    ("iso-8859-1", "ISO-8859-1 (Latin 1)"),
    ("iso-8859-15", "ISO-8859-15 (Latin 9)"),
    ("windows-1250", "Windows-1250 (Central European)"),
    ("windows-1251", "Windows-1251 (Cyrillic)"),
    ("koi8-r", "KOI8-R (Russian)"),
    ("mac-roman", "Mac Roman"),
    ("shift_jis", "Shift JIS (Japanese)"),
    ("euc_jp", "EUC-JP (Japanese)"),
    ("gb18030", "GB 18030 (Chinese)"),
    ("big5", "Big5 (Chinese)"),
    ("euc_kr", "EUC-KR (Korean)"),
)
DELIMITERS = (
    ("", "As it looks"),
    (",", "Comma ,"),
    (";", "Semicolon ;"),
    ("tab", "Tab"),
    ("|", "Bar |"),
)
LONG_TEXT = 200
"""A text that may be longer than this gets a field of several lines."""


FREE = "json"
"""The field of an answer that is any JSON."""


class ReadingForm(forms.Form):
    """How a file is read, where it was not recognised rightly."""

    encoding = forms.ChoiceField(choices=ENCODINGS, required=False)
    delimiter = forms.ChoiceField(choices=DELIMITERS, required=False)
    first_line = forms.ChoiceField(
        choices=(("header", "Holds the headers"), ("record", "Is a record")), required=False
    )

    def clean_delimiter(self) -> str:
        """Give the character that the choice stands for."""
        chosen: str = self.cleaned_data["delimiter"]
        return "\t" if chosen == "tab" else chosen


class JsonField(forms.CharField):
    """A form field whose text is JSON: lists and objects, which have no form field of their own."""

    widget = forms.Textarea(attrs={"rows": 4, "class": "code", "spellcheck": "false"})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            raise forms.ValidationError(f"This is no JSON: {error}.") from None


class SchemaForm(forms.Form):
    """A form with one field per property of a JSON Schema."""

    def given(self) -> dict[str, Any]:
        """Give what was filled in as JSON; what was left empty is left out."""
        cleaned = self.cleaned_data.items()
        return {name: value for name, value in cleaned if value is not None and value != ""}


class InputForm(SchemaForm):
    """A run's inputs other than files: one form field per property of the play's schema.

    Without a schema, there is a field for each input that the play's source names, taken as text.
    """

    prefix = "input"

    def __init__(self, revision: Revision, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, schema in _properties(revision).items():
            self.fields[name] = _form_field(name, schema, is_required(revision, name))


class AnswerForm(SchemaForm):
    """The answer to a wait: its form's properties, or one field of JSON where it names none."""

    def __init__(self, wait: Boundary, data: QueryDict | None = None) -> None:
        super().__init__(data, prefix=f"wait-{wait.pk}")
        schema = form_or_none(wait.form) or {}
        self.is_free = not schema.get("properties")
        required = schema.get("required", [])
        for name, part in ordered_properties(schema).items():
            about = part if isinstance(part, dict) else {}
            self.fields[name] = _form_field(name, about, name in required)
        if self.is_free:
            self.fields[FREE] = JsonField(label="Answer (JSON)", required=False)

    def payload(self) -> Any:
        """Give the payload that was filled in."""
        return self.cleaned_data[FREE] if self.is_free else self.given()

    def tell(self, problems: Mapping[str, str]) -> None:
        """Show what is wrong with the payload beside the fields that it speaks of."""
        for name, sentence in problems.items():
            self.add_error(name if name in self.fields else None, sentence)


def _properties(revision: Revision) -> dict[str, Mapping[str, Any]]:
    """Give the schema of each input that is no file, in the order of schema or source."""
    files = set(csv_inputs(revision))
    schema = revision.input_schema
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        order = revision.pipeline.get("properties", [])
        known = schema["properties"]
        known = {name: known[name] for name in dict.fromkeys([*order, *known]) if name in known}
    else:
        known = {entry["name"]: {} for entry in revision.pipeline.get("inputs", [])}
    return {
        name: part if isinstance(part, dict) else {}
        for name, part in known.items()
        if name not in files
    }


def _form_field(name: str, schema: Mapping[str, Any], required: bool) -> forms.Field:
    about: dict[str, Any] = {
        "label": str(schema.get("title") or name),
        "help_text": str(schema.get("description") or ""),
        "initial": schema.get("default"),
    }
    if isinstance(schema.get("enum"), list):
        return _choice(schema["enum"], about, required)
    kind = schema.get("type")
    if kind == "boolean":
        return forms.BooleanField(required=False, **about)
    if kind == "integer":
        return forms.IntegerField(required=required, **_bounds(schema), **about)
    if kind == "number":
        return forms.FloatField(required=required, **_bounds(schema), **about)
    if kind in (None, "string"):
        return _text(schema, about, required)
    if about["initial"] is not None:
        about["initial"] = json.dumps(about["initial"])
    return JsonField(required=required, **about)


def _choice(values: list[Any], about: dict[str, Any], required: bool) -> forms.Field:
    """Offer the values of an enum; they travel as JSON, so that 1 and "1" stay different."""
    choices = [(json.dumps(value), str(value)) for value in values]
    initial = about.pop("initial")
    return forms.TypedChoiceField(
        choices=choices if required else [("", ""), *choices],
        coerce=json.loads,
        required=required,
        empty_value=None,
        initial=None if initial is None else json.dumps(initial),
        **about,
    )


def _text(schema: Mapping[str, Any], about: dict[str, Any], required: bool) -> forms.Field:
    longest = schema.get("maxLength")
    longest = longest if isinstance(longest, int) else None
    is_long = longest is not None and longest > LONG_TEXT
    widget = forms.Textarea(attrs={"rows": 4}) if is_long else forms.TextInput()
    return forms.CharField(required=required, widget=widget, max_length=longest, **about)


def _bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    bounds = {"min_value": schema.get("minimum"), "max_value": schema.get("maximum")}
    return {name: bound for name, bound in bounds.items() if isinstance(bound, int | float)}
