"""Fixtures of the integration tests.

The cast is imported inside the fixtures: this file is read before Django's settings are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import redis

from tests.product import StartProduct
from tests.webserver import WebServer

if TYPE_CHECKING:
    from tests.integration.cast import Cast
    from tests.integration.gateway_calls import Calls


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


@pytest.fixture
def start_calls(start_product: StartProduct) -> Callable[..., Calls]:
    """Starts a gateway with these environment variables, and a run that may call it."""
    from tests.integration.gateway_calls import Calls

    def start(**environment: str) -> Calls:
        return Calls(start_product(only=("gateway",), **environment).gateway_url)

    return start


@pytest.fixture
def web() -> Iterator[WebServer]:
    """A web server on the loopback, which the address guard refuses unless it is told otherwise."""
    with WebServer().running() as server:
        yield server
