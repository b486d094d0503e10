"""Fixtures of all tests, and the servers that they use.

A session starts the embedded PostgreSQL and Valkey of `.deepline-test` and takes a slot there: a
database and a numbered Valkey database of its own, so that several sessions run at once. With
`DATABASE_URL` and `REDIS_URL` set, it uses those servers in the same way.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from deepline_site import embedded
from deepline_site.home import PROJECT, Home
from tests.slots import take_slot

pytest_plugins = ["tests.product", "tests.browsers"]

DIRECTORIES = ("unit", "contract", "integration", "architecture", "browser")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the servers before Django reads its settings, which hold their addresses."""
    servers = ExitStack()
    config.add_cleanup(servers.close)
    os.environ["DEEPLINE_HOME"] = str(PROJECT / ".deepline-test")
    os.environ["DEEPLINE_TEST_SERVERS"] = "1"
    os.environ["DJANGO_SETTINGS_MODULE"] = "deepline_site.settings"
    home = Home.from_environment()
    servers.enter_context(embedded.servers(home))
    servers.enter_context(take_slot(home))
    from django.conf import settings

    # pytest-django sets Django up only if its settings have been read by now.
    assert settings.DATABASES


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test by the directory that it lies in."""
    root = Path(__file__).parent
    for item in items:
        directory = item.path.relative_to(root).parts[0]
        if directory in DIRECTORIES:
            item.add_marker(directory)


@pytest.fixture
def key_prefix() -> str:
    """A prefix for keys in Valkey that no other test uses."""
    return f"test:{uuid.uuid4().hex}:"


@pytest.fixture
def valkey() -> Iterator[redis.Redis]:
    """A connection to the session's Valkey database, empty at the start of the test."""
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as connection:
        connection.flushdb()
        yield connection


@pytest.fixture
def database_url(transactional_db: None) -> str:
    """The address of the test database, for processes and connections outside Django."""
    from django.db import connection

    return os.environ["DATABASE_URL"].rpartition("/")[0] + "/" + connection.settings_dict["NAME"]
