"""What goes without saying is not said: an idle box while its provider is down, and one that was stopped."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.domain.notice import NoticeKind
from costguard.errors import Unavailable
from costguard.store.database import Database
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, MINUTE, Cloud, configure, drive, start, told
from tests.fakes.slack import SlackServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

# Many hours are lived through here, in five-minute steps.
SCHEDULE = "{inventory: 5m, usage: 5m, cycle: 5m, act: 1m, deliver: 1m, heartbeat: 1m}"
WARNINGS = 2  # the ladder of the rig's policy: at once, and before the stop


def count(app: App) -> Counter[NoticeKind]:
    return Counter(notice.kind for notice in told(app.database))


@pytest.fixture
def cloud(clock: FakeClock) -> Cloud:
    return Cloud(clock)


@pytest.fixture
def app(tmp_path: Path, clock: FakeClock, slack: SlackServer, cloud: Cloud) -> Iterator[App]:
    config = configure(tmp_path, slack.webhook_url, schedule=SCHEDULE)
    Database(config.database_url()).upgrade()
    made = start(config, cloud, clock, lease_ttl=5 * MINUTE)
    yield made
    made.close()


def test_a_provider_that_is_down_is_told_and_its_idle_boxes_are_not(app: App, clock: FakeClock, cloud: Cloud) -> None:
    """No data is not idle: what begins during the outage is silent, and the outage itself is said once."""
    cloud.add("i-1", age=timedelta(minutes=5))
    drive(app, clock, 10 * MINUTE)

    def down() -> Unavailable:
        return Unavailable("no answer", provider="simulated", account="prod", operation="usage")

    cloud.fail = dict.fromkeys(("list", "usage", "get"), down)
    drive(app, clock, 5 * HOUR)
    assert set(count(app)) == {NoticeKind.SOURCE}
    assert not cloud.stops()
    cloud.fail = {}
    drive(app, clock, 2 * HOUR)
    assert count(app)[NoticeKind.WARN] == WARNINGS, "once it can be seen again, it is warned of like any other"
    assert len(cloud.stops()) == 1


def test_a_box_that_was_stopped_is_not_told_to_be_idle_again(app: App, clock: FakeClock, cloud: Cloud) -> None:
    cloud.add("i-1")
    drive(app, clock, 2 * HOUR)
    assert len(cloud.stops()) == 1
    before = count(app)
    assert before[NoticeKind.WARN] == WARNINGS
    drive(app, clock, 5 * HOUR)
    assert count(app) == before
