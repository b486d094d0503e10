"""Publishing plays: a text is checked without running it, numbered, and made the live one."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Max

from plays.models import Play, Revision, Workspace
from plays.services.refusals import Refused
from plays.tools import catalogue
from runtime.errors import PlayInvalid
from runtime.loading import Checked, check
from runtime.values import sanitise

MEBIBYTE = 1024 * 1024
SOURCE_LIMIT = 5 * MEBIBYTE
NAME_LIMIT = 200


def revision_publish(
    workspace: Workspace,
    user: AbstractBaseUser | None,
    filename: str,
    source: bytes,
    note: str = "",
) -> Revision:
    """Check a play's text, store it as the next revision of its play, and make it the live one.

    The play is made if the workspace has none of this name. A text that the play already has gives
    that revision, live again: publishing twice gives one. Two people who publish at once get
    consecutive numbers, because the play's row is locked while its revision is numbered.

    Raises PlayInvalid with every problem that can be seen in the text, and Refused where the
    file is too large; nothing is stored then.
    """
    checked = revision_check(filename, source)
    with transaction.atomic():
        play = _locked_play(workspace, checked)
        revision = _revision_of(play, source) or _next_revision(
            play, checked, user=user, filename=filename, source=source, note=note
        )
        _make_live(play, revision, checked.description)
    return revision


def revision_check(filename: str, source: bytes) -> Checked:
    """Read a play's text without running it; raises what :func:`revision_publish` raises."""
    if len(source) > SOURCE_LIMIT:
        raise Refused(
            f"{filename} has {len(source) / MEBIBYTE:.1f} MB;"
            f" a play may have {SOURCE_LIMIT // MEBIBYTE} MB."
        )
    checked = check(filename, source, known_tools=catalogue().ids())
    if checked.problems:
        raise PlayInvalid(checked.problems)
    if len(checked.name) > NAME_LIMIT:
        raise Refused(f"The play's name is longer than {NAME_LIMIT} characters: shorten it.")
    return checked


def revision_set_live(revision: Revision) -> None:
    """Make new runs of the play take this revision; runs that have begun keep theirs."""
    Play.objects.filter(pk=revision.play_id).update(live=revision)


def _locked_play(workspace: Workspace, checked: Checked) -> Play:
    play, _ = Play.objects.get_or_create(
        workspace=workspace, name=checked.name, defaults={"description": checked.description}
    )
    return Play.objects.select_for_update().get(pk=play.pk)


def _revision_of(play: Play, source: bytes) -> Revision | None:
    return play.revisions.filter(digest=_digest(source)).first()


def _next_revision(
    play: Play,
    checked: Checked,
    *,
    user: AbstractBaseUser | None,
    filename: str,
    source: bytes,
    note: str,
) -> Revision:
    last = play.revisions.aggregate(last=Max("number"))["last"] or 0
    return Revision.objects.create(
        play=play,
        number=last + 1,
        format=checked.format,
        filename=sanitise(filename)[0][:255],
        source=source,
        digest=_digest(source),
        pipeline=sanitise(_pipeline(checked))[0],
        input_schema=sanitise(checked.input_schema)[0],
        note=sanitise(note)[0][:500],
        created_by_id=user.pk if user else None,
    )


def _pipeline(checked: Checked) -> dict[str, Any]:
    """Give the pipeline with the order of the schema's properties, which jsonb does not keep."""
    schema = checked.input_schema or {}
    return {**checked.pipeline, "properties": list(schema.get("properties", {}))}


def _make_live(play: Play, revision: Revision, description: str) -> None:
    Play.objects.filter(pk=play.pk).update(live=revision, description=sanitise(description)[0])


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()
