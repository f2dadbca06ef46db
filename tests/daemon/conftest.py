"""Databases as in the store's tests, a clock that only tests move, and strict chat platforms."""

from collections.abc import Iterator

import pytest

from costguard.testing.clock import FakeClock
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
def slack(clock: FakeClock) -> Iterator[SlackServer]:
    with SlackServer(clock) as server:
        yield server


@pytest.fixture
def dingtalk(clock: FakeClock) -> Iterator[DingTalkServer]:
    with DingTalkServer(clock) as server:
        yield server
