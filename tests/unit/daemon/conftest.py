"""One idle box on a cloud in memory, its warning delivered: what levers, polls and loops start from."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.store.database import Database
from costguard.testing.clock import FakeClock
from tests.daemon.rig import Cloud, configure, start
from tests.fakes.slack import SlackServer
from tests.store.databases import migrated_sqlite

__all__ = ["migrated_sqlite"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cloud(clock: FakeClock) -> Cloud:
    made = Cloud(clock)
    made.add("a")
    return made


@pytest.fixture
def slack(clock: FakeClock) -> Iterator[SlackServer]:
    with SlackServer(clock) as server:
        yield server


@pytest.fixture
def app(tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, cloud: Cloud, slack: SlackServer) -> Iterator[App]:
    """A fresh process on an empty database; it leads and knows its account."""
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    made = start(configure(tmp_path, slack.webhook_url), cloud, clock)
    made.lead.round()
    made.identify()
    yield made
    made.close()


@pytest.fixture
def warned(app: App) -> App:
    """The box was found idle and its owner warned."""
    run_once(app)
    return app


@pytest.fixture
def database(app: App) -> Database:
    return app.database
