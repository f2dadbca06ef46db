"""The cycle's sign of life for a dead-man switch elsewhere."""

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from sqlalchemy import text

from costguard.app.app import App
from costguard.app.jobs import CYCLE, jobs
from costguard.errors import StoreError
from costguard.testing.clock import FakeClock
from tests.daemon.rig import Cloud, configure, start
from tests.store.databases import migrated_sqlite

__all__ = ["migrated_sqlite"]

PATH = "/ping/s3cr3t"
Open = Callable[[str], App]


@pytest.fixture
def led(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Open]:
    """A process that leads, whose heartbeat_url is this."""
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    clock = FakeClock()
    made: list[App] = []

    def opened(url: str) -> App:
        app = start(configure(tmp_path, "http://127.0.0.1:1/", more=f'heartbeat_url: "{url}"\n'), Cloud(clock), clock)
        made.append(app)
        app.lead.round()
        app.identify()
        app.ready = True
        return app

    yield opened
    for app in made:
        app.close()


def come_round(app: App) -> None:
    (job,) = [job for job in jobs(app) if job.name == CYCLE]
    job.run()


def test_each_cycle_of_the_leader_pings_and_a_follower_none(led: Open, httpserver: HTTPServer) -> None:
    """B11: the switch elsewhere hears of the process that decides, and of no other."""
    httpserver.expect_request(PATH).respond_with_data("OK")
    app = led(httpserver.url_for(PATH))
    come_round(app)
    come_round(app)
    assert len(httpserver.log) == 2
    app.lead.give_up()
    come_round(app)
    assert len(httpserver.log) == 2


def test_a_cycle_that_fails_is_no_sign_of_life(led: Open, httpserver: HTTPServer) -> None:
    """B11: nothing is decided any more, though the loop comes round."""
    httpserver.expect_request(PATH).respond_with_data("OK")
    app = led(httpserver.url_for(PATH))
    with app.database.write() as conn:
        conn.execute(text("DROP TABLE finding"))
    with pytest.raises(StoreError):
        come_round(app)
    assert httpserver.log == []


@pytest.mark.parametrize("there", [True, False])
def test_a_switch_that_does_not_take_it_is_said_and_stops_nothing(
    led: Open, httpserver: HTTPServer, caplog: pytest.LogCaptureFixture, there: bool
) -> None:
    httpserver.expect_request(PATH).respond_with_data("no such check", status=404)
    with caplog.at_level(logging.WARNING, "costguard.app.jobs"):
        come_round(led(httpserver.url_for(PATH) if there else f"http://127.0.0.1:1{PATH}"))
    (said,) = [record.getMessage() for record in caplog.records if "heartbeat_url" in record.getMessage()]
    assert ("404" in said) is there
    assert "s3cr3t" not in said
