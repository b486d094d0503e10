"""Fixtures of the integration tests.

The cast is imported inside the fixtures: this file is read before Django's settings are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import redis

if TYPE_CHECKING:
    from tests.integration.cast import Cast


@pytest.fixture
def cast(db: None, valkey: redis.Redis) -> Cast:
    """Alice, Bob and Charlie, with a play and an upload of Alice's; the queue is empty."""
    from tests.integration.cast import build_cast

    return build_cast()


@pytest.fixture
def committed_cast(transactional_db: None, valkey: redis.Redis) -> Cast:
    """The same, committed, for tests in which several connections meet."""
    from tests.integration.cast import build_cast

    return build_cast()
