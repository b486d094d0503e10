"""Jobs of the queue. Each loads nothing, calls one service after the other, and returns."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections

from plays.compose import Execution, GiveWay, run_execute
from plays.playhost.crash import crash_point
from plays.services.leases import run_claim, run_finish, run_release
from plays.stores import Participant
from runtime.events import StopReason

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.5


def execute_run(run_id: str) -> None:
    """Move a run along: to its end, or to where it must stop. Nothing where somebody else has it."""
    participant = run_claim(UUID(run_id), os.environ.get("RQ_WORKER_ID", "by hand"))
    if participant is None:
        return
    crash_point("after_claim")
    execution = asyncio.run(_executed(participant))
    crash_point("before_finish")
    settle(execution)


def settle(execution: Execution) -> str | None:
    """Store how an execution ended; give the run's status, None where the lease was lost.

    While the database is away this waits, for as long as another worker leaves the run to us.
    """
    while True:
        try:
            return _settled(execution)
        except (OperationalError, InterfaceError) as error:
            logger.warning(
                "the end of run %s cannot be stored yet: %s", execution.participant.run, error
            )
            connections.close_all()
            time.sleep(RETRY_SECONDS)


def _settled(execution: Execution) -> str | None:
    if execution.outcome.stop_reason == StopReason.LEASE_LOST:
        return None
    if execution.gives_way:
        return "queued" if run_release(execution.participant) else None
    return run_finish(execution.participant, execution.outcome.to_json())


async def _executed(participant: Participant) -> Execution:
    give_way = GiveWay()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, give_way.ask)
    gateway_url = str(settings.DEEPLINE_GATEWAY_URL)
    return await run_execute(participant, gateway_url=gateway_url, give_way=give_way)
