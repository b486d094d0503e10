"""Whether a run's input fits its play: the files that it names, and the play's JSON Schema.

The same rules hold for the page, the API and the command line. Nothing here writes.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

from plays.models import Revision, Upload
from plays.schemacheck import schema_problems
from plays.services.refusals import InputInvalid

REFERENCE = re.compile(r"upload:([0-9a-f-]{36})")


def input_check(revision: Revision, given: Mapping[str, Any]) -> list[Upload]:
    """Check a run's input and give the uploads that it names, locked until the transaction ends.

    The lock keeps an upload from being removed between this look and the run's start. Raises
    InputInvalid with a sentence for each input that does not fit.
    """
    problems: dict[str, str] = {}
    uploads = _uploads(revision, given, problems)
    for name, sentence in schema_problems(revision.input_schema, dict(given)):
        problems.setdefault(name, sentence)
    if problems:
        raise InputInvalid(problems)
    return uploads


def csv_inputs(revision: Revision) -> list[str]:
    """Give the names of the inputs that are CSV files, in the order of the play's source.

    Those are what the play is seen to read as one, and what its schema calls ``format: upload``.
    """
    inputs = revision.pipeline.get("inputs", [])
    read = [entry["name"] for entry in inputs if entry["kind"] == "csv"]
    schema = revision.input_schema if isinstance(revision.input_schema, dict) else {}
    told = [
        name
        for name, part in schema.get("properties", {}).items()
        if isinstance(part, dict) and part.get("format") == "upload"
    ]
    return list(dict.fromkeys([*read, *told]))


def is_required(revision: Revision, name: str) -> bool:
    """Whether an input must be given: what the schema says, and without a schema every input."""
    schema = revision.input_schema
    if not isinstance(schema, dict) or name not in schema.get("properties", {}):
        return not isinstance(schema, dict) or name in csv_inputs(revision)
    return name in schema.get("required", [])


def upload_id_of(value: object) -> uuid.UUID | None:
    """Give the upload that a value of an input names (``upload:<uuid>``), or None."""
    match = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    try:
        return uuid.UUID(match[1]) if match else None
    except ValueError:
        return None


def _uploads(
    revision: Revision, given: Mapping[str, Any], problems: dict[str, str]
) -> list[Upload]:
    """Find the upload of every input that names one; note the files that are missing or unknown."""
    wanted = {name: upload_id_of(value) for name, value in given.items()}
    named = [upload_id for upload_id in wanted.values() if upload_id]
    mine = Upload.objects.filter(pk__in=named, workspace=revision.play.workspace_id)
    found = {upload.pk: upload for upload in mine.order_by("pk").select_for_update()}
    for name, upload_id in wanted.items():
        if upload_id and upload_id not in found:
            problems[name] = "This file is not in the workspace any more: choose another."
    for name in csv_inputs(revision):
        if wanted.get(name) is None and (given.get(name) or is_required(revision, name)):
            problems[name] = "Choose a CSV file."
    return list(found.values())
