"""Executor tokens: the right to call tools for one run in one epoch.

A token is signed and never stored. It holds until the run has another epoch or stops, which the gateway
checks in each claim's transaction; so it carries no time of its own.
"""

from __future__ import annotations

from django.core.signing import BadSignature, Signer

SALT = "plays.gateway.token"


def issue(run_id: str, epoch: int) -> str:
    """Give the token of a run's epoch."""
    return Signer(salt=SALT).sign_object([str(run_id), epoch])


def read(token: str) -> tuple[str, int] | None:
    """Give a token's run and epoch, or None for a token that this installation did not issue."""
    try:
        told = Signer(salt=SALT).unsign_object(token)
    except (BadSignature, ValueError):
        return None
    match told:
        case [str(run_id), int(epoch)]:
            return run_id, epoch
        case _:
            return None
