"""The sample plays and their CSV files, which run offline: what a person can try first."""

from __future__ import annotations

from pathlib import Path

from deepline_site.home import PROJECT
from plays.models import Upload, Workspace
from plays.services.governance import profile_default
from plays.services.revisions import revision_check, revision_publish
from plays.services.uploads import upload_accept
from plays.services.workspaces import workspace_default, workspace_join_superusers

EXAMPLES = PROJECT / "examples"


def samples_load(workspace: Workspace | None = None) -> None:
    """Load the sample plays and files into a workspace, by default the first one.

    What is there already is left alone, by a play's name and a file's name, so this may be
    called again and never undoes what a person has changed. Superusers without a workspace join
    the first one, and the default limits are made where there are none.
    """
    profile_default()
    first = workspace_default()
    workspace_join_superusers(first)
    for path in sorted((EXAMPLES / "plays").glob("*.*")):
        _load_play(workspace or first, path)
    for path in sorted((EXAMPLES / "data").glob("*.csv")):
        _load_file(workspace or first, path)


def _load_play(workspace: Workspace, path: Path) -> None:
    source = path.read_bytes()
    name = revision_check(path.name, source).name
    if not workspace.plays.filter(name=name).exists():
        revision_publish(workspace, None, path.name, source, note="Sample")


def _load_file(workspace: Workspace, path: Path) -> None:
    if Upload.objects.filter(workspace=workspace, filename=path.name).exists():
        return
    with path.open("rb") as file:
        upload_accept(workspace, None, file, path.name)
