"""How soon a decision is carried out."""

from datetime import timedelta
from pathlib import Path

from costguard.store.database import Database
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, Cloud, configure, drive, rows, start
from tests.fakes.slack import SlackServer


def test_a_stop_is_called_when_it_is_due_and_not_a_cycle_later(
    tmp_path: Path, clock: FakeClock, slack: SlackServer
) -> None:
    """The grace ends between two cycles: the act loop decides then, within its own period."""
    cloud = Cloud(clock)
    cloud.add("i-1")
    config = configure(tmp_path, slack.webhook_url, schedule="{}")
    Database(config.database_url()).upgrade()
    clock.advance(timedelta(seconds=7))
    app = start(config, cloud, clock)
    try:
        drive(app, clock, HOUR)
        (action,) = rows(app.database)
    finally:
        app.close()
    assert action.due_at is not None
    assert action.due_at.second % 60, "the grace must end between two cycles, or this shows nothing"
    (call,) = cloud.stops()
    assert timedelta(0) <= call.at - action.due_at <= timedelta(seconds=10)
