"""Databases as in the store's tests, a clock that only tests move, and strict chat platforms."""

from collections.abc import Iterator

import pytest

from costguard.testing.clock import FakeClock
from tests.daemon.rig import Cloud
from tests.fakes.dingtalk import DingTalkServer
from tests.fakes.slack import SlackServer
from tests.store.databases import (
    database,
    migrated_postgres,
    migrated_sqlite,
    postgres_admin,
    postgres_url,
    sqlite_database,
)

__all__ = [
    "database", "migrated_postgres", "migrated_sqlite", "postgres_admin", "postgres_url", "sqlite_database",
]  # fmt: skip


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cloud(clock: FakeClock) -> Cloud:
    """With one box; its own clock is right whatever the machine's does, when a test moves that apart."""
    made = Cloud(clock)
    made.add("a")
    return made


@pytest.fixture
def slack(clock: FakeClock) -> Iterator[SlackServer]:
    with SlackServer(clock) as server:
        yield server


@pytest.fixture
def dingtalk(clock: FakeClock) -> Iterator[DingTalkServer]:
    with DingTalkServer(clock) as server:
        yield server
