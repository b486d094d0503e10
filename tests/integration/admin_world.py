"""One record of everything that the administration shows, made straight in the tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from plays.models import (
    Boundary,
    CheckpointEntry,
    EarlyAnswer,
    GovernanceProfile,
    LateAnswer,
    LogLine,
    MapFrame,
    Membership,
    Play,
    Receipt,
    Revision,
    Role,
    RowState,
    Run,
    RunParticipant,
    RunStatus,
    RunUsage,
    ToolCall,
    ToolPolicy,
    TraceStep,
    Upload,
    UploadChunk,
    Workspace,
    row_id,
)
from plays.services.governance import profile_default, profile_limits

SOURCE = b'''"""Finds work addresses."""

import math  # <b>kept as text</b>


def domain(row):
    return row["domain"]
'''

HOSTILE = "<script>alert('in the page')</script>"
PASSWORD = "pbkdf2_sha256$1$salt$made-up-hash"
CLAIM = "11111111-2222-4333-8444-555555555555"
CHUNK = b"first,domain\nAda,acme.example\n"


@dataclass
class World:
    """The records that tests start from."""

    admin: User
    workspace: Workspace
    play: Play
    revision: Revision
    run: Run
    frame: MapFrame
    row: RowState
    profile: GovernanceProfile


def build_world() -> World:
    """Make one record in each table, all of one run."""
    admin = User.objects.create(
        username="olivia", is_staff=True, is_superuser=True, password=PASSWORD
    )
    workspace = Workspace.objects.create(name="Acme")
    Membership.objects.create(workspace=workspace, user=admin, role=Role.ADMIN)
    play = Play.objects.create(workspace=workspace, name="Work addresses")
    revision = make_revision(play, 1, admin)
    Play.objects.filter(pk=play.pk).update(live=revision)
    make_upload(workspace, admin)
    profile = profile_default()
    ToolPolicy.objects.create(provider="sandbox", windows=[[10, 1]])
    run = make_run(revision, admin)
    frame, row = _records(run)
    return World(admin, workspace, play, revision, run, frame, row, profile)


def make_revision(play: Play, number: int, user: User, **columns: Any) -> Revision:
    """Store a revision of a play, not checked."""
    given = {
        "format": Revision.Format.MODULE,
        "filename": "addresses.py",
        "source": SOURCE,
        "digest": f"{number:064x}",
        "pipeline": {"name": play.name, "maps": []},
        "created_by": user,
    }
    return Revision.objects.create(play=play, number=number, **{**given, **columns})


def make_upload(workspace: Workspace, user: User) -> Upload:
    """Store an upload of one record."""
    upload = Upload.objects.create(
        workspace=workspace,
        filename="leads.csv",
        size=len(CHUNK),
        sha256="0" * 64,
        dialect={"delimiter": ","},
        columns=["first", "domain"],
        record_count=1,
        report={"lines": 2},
        created_by=user,
    )
    UploadChunk.objects.create(upload=upload, number=0, first_record=0, content=CHUNK)
    return upload


def make_run(revision: Revision, user: User, **columns: Any) -> Run:
    """Store a run of a revision, its limits copied from the default profile, without queueing it."""
    given = {
        "workspace": revision.play.workspace,
        "play": revision.play,
        "revision": revision,
        "limits": profile_limits(profile_default()),
        "created_by": user,
    }
    run = Run.objects.create(**{**given, **columns})
    RunUsage.objects.create(run=run, tool_calls=500)
    return run


def hold(run: Run, *, seconds: float) -> RunParticipant:
    """Make the run running, under a lease that ends in some seconds, or ended some seconds ago."""
    Run.objects.filter(pk=run.pk).update(status=RunStatus.RUNNING)
    run.refresh_from_db()
    until = timezone.now() + timedelta(seconds=seconds)
    return RunParticipant.objects.update_or_create(
        run=run, role="engine", defaults={"epoch": 7, "lease_until": until, "worker": "w1"}
    )[0]


def signed_in(user: User) -> Client:
    """Give a client whose requests come from this person."""
    client = Client()
    client.force_login(user)
    return client


def _records(run: Run) -> tuple[MapFrame, RowState]:
    frame = MapFrame.objects.create(
        run=run,
        path="leads",
        table="leads",
        title="Leads",
        columns=["first", "domain"],
        fields=[{"name": "email"}],
        is_sealed=True,
        total=25,
        row_totals={"completed": 25},
    )
    row = RowState.objects.create(
        id=row_id(frame.pk, 4),
        frame=frame,
        position=4,
        row_key="key-of-row-5",
        input={"first": HOSTILE, "long_note": "x" * 5000 + "the end"},
        data={"email": "ada@acme.example"},
        cells={"email": {"status": "completed", "provider": "sandbox_a"}},
        status="completed",
    )
    _durable_records(run, frame)
    _gateway_records(run)
    return frame, row


def _durable_records(run: Run, frame: MapFrame) -> None:
    now = timezone.now()
    RunParticipant.objects.create(run=run, epoch=1, worker="w1", claimed_at=now)
    CheckpointEntry.objects.create(
        run=run, frame=frame, position=4, name="leads/step:clean", value={"kept": HOSTILE}
    )
    Receipt.objects.create(run=run, name="play:verify", input_digest="0" * 64, epoch=1)
    wait = Boundary.objects.create(run=run, name="sleep:night", due_at=now)
    EarlyAnswer.objects.create(run=run, event=HOSTILE, payload=HOSTILE, at=now)
    LateAnswer.objects.create(
        run=run, boundary=wait, event="ok", payload=HOSTILE, why="It came too late.", at=now
    )
    LogLine.objects.create(run=run, sequence=1, at=now, level="info", text=f"Read {HOSTILE}")
    TraceStep.objects.create(run=run, sequence=1, key="a", told={"kind": "map"})


def _gateway_records(run: Run) -> None:
    ToolCall.objects.create(
        key="c" * 64,
        workspace=run.workspace,
        run=run,
        tool="sandbox_a_email_finder",
        provider="sandbox_a",
        input={"domain": HOSTILE},
        status=ToolCall.Status.COMPLETED,
        result={"email": "ada@acme.example"},
        claim=CLAIM,
    )
