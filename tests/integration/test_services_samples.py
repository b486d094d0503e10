"""The first workspace, its members, and the samples in it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from plays.models import GovernanceProfile, Membership, Play, Revision, Upload, Workspace
from plays.services.samples import samples_load
from plays.services.workspaces import workspace_default, workspace_join_superusers
from tests.integration.together import at_once

pytestmark = pytest.mark.django_db


def test_samples_come_with_everything_that_a_first_run_needs() -> None:
    admin = User.objects.create_superuser("admin")
    samples_load()
    workspace = Workspace.objects.get()
    assert Membership.objects.get(user=admin).role == "admin"
    assert GovernanceProfile.objects.get().is_default
    assert set(workspace.plays.values_list("live__format", flat=True)) == {"module", "definition"}
    sizes = set(Upload.objects.values_list("record_count", flat=True))
    assert sizes == {25, 1000, 10_000}


def test_loading_samples_again_adds_nothing() -> None:
    samples_load()
    before = (Play.objects.count(), Revision.objects.count(), Upload.objects.count())
    samples_load()
    assert (Play.objects.count(), Revision.objects.count(), Upload.objects.count()) == before


def test_loading_samples_again_does_not_undo_what_an_author_changed() -> None:
    samples_load()
    play = Play.objects.first()
    assert play is not None
    assert play.live is not None
    own = Revision.objects.create(
        play=play,
        number=2,
        format="module",
        filename="own.py",
        source=b"",
        digest="own",
        pipeline=play.live.pipeline,
    )
    Play.objects.filter(pk=play.pk).update(live=own)
    samples_load()
    play.refresh_from_db()
    assert play.live == own


def test_samples_can_be_loaded_into_another_workspace() -> None:
    workspace_default()
    other = Workspace.objects.create(name="Other")
    samples_load(other)
    assert other.plays.count() == 4
    assert not workspace_default().plays.exists()


def test_a_superuser_with_a_workspace_of_their_own_joins_no_other() -> None:
    admin = User.objects.create_superuser("admin")
    own = Workspace.objects.create(name="Own")
    Membership.objects.create(workspace=own, user=admin)
    workspace_join_superusers(Workspace.objects.create(name="Other"))
    assert Membership.objects.get(user=admin).workspace == own


@pytest.mark.django_db(transaction=True)
def test_a_first_start_in_several_processes_makes_one_workspace() -> None:
    at_once([workspace_default] * 4)
    assert Workspace.objects.count() == 1
