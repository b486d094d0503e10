"""Running one play of an odd author inside the test's own process, as a worker would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import psutil
import pytest

if TYPE_CHECKING:
    from plays.compose import Execution
    from plays.models import Run
    from tests.integration.cast import Cast

NO_GATEWAY = "http://127.0.0.1:9"
Execute = Callable[..., "tuple[Run, Execution]"]


@pytest.fixture
def execute(committed_cast: Cast) -> Execute:
    """Publish a play, run it in this process, and give the stored run and how it ended."""
    from plays.compose import run_execute
    from plays.jobs import settle

    def run_it(source: bytes, given: Mapping[str, Any] | None = None) -> tuple[Run, Execution]:
        run, participant = claimed(committed_cast, source, given)
        execution = asyncio.run(run_execute(participant, gateway_url=NO_GATEWAY))
        settle(execution)
        run.refresh_from_db()
        return run, execution

    return run_it


def claimed(cast: Cast, source: bytes, given: Mapping[str, Any] | None = None) -> tuple[Run, Any]:
    from plays.services.leases import run_claim
    from plays.services.revisions import revision_publish
    from plays.services.runs import run_start

    revision = revision_publish(cast.workspace, cast.alice, "odd.py", source)
    run = run_start(revision, cast.alice, dict(given or {}))
    participant = run_claim(run.pk, "test")
    assert participant is not None
    return run, participant


def children() -> list[psutil.Process]:
    """Give the play processes that this process has left running."""
    own = psutil.Process().children(recursive=True)
    return [child for child in own if "plays.playhost.isolation" in child.cmdline()]
