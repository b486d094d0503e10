"""Tokens of waits: the right to see and answer one wait, for somebody without an account.

A token is signed and never stored. The wait's own deadline ends it, by the database's clock, so it carries
no time of its own: after that it opens nothing but the sentence that it is too late.
"""

from __future__ import annotations

from django.core.signing import BadSignature, Signer

SALT = "plays.wait.token"


def issue(wait_id: int) -> str:
    """Give the token of a wait."""
    return Signer(salt=SALT).sign_object(wait_id)


def read(token: str) -> int | None:
    """Give the wait of a token, or None for a token that this installation did not issue."""
    try:
        told = Signer(salt=SALT).unsign_object(token)
    except (BadSignature, ValueError):
        return None
    return told if isinstance(told, int) else None
