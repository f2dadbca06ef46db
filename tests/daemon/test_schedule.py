"""The whole daemon on a schedule: an edge in its sight, and edges at which it was down."""

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.domain.action import ActionState
from costguard.testing.clock import NOON, FakeClock
from tests.daemon.rig import HOUR, MINUTE, Cloud, configure, drive, rows, start
from tests.fakes.slack import SlackServer
from tests.store.databases import migrated_sqlite

__all__ = ["migrated_sqlite"]

pytestmark = pytest.mark.slow

NIGHT = """\
policies:
  - name: night-off
    rule: schedule
    match: all
    when: {off: [{days: daily, from: "20:00", to: "08:00"}], catch_up: 30m}
    respond:
      - {do: warn}
      - {after: 30m, do: stop}
"""
EVENING = NOON.replace(hour=20, minute=0)

Boot = Callable[[], App]


@pytest.fixture
def clock() -> FakeClock:
    made = FakeClock()
    made.advance(EVENING - 20 * MINUTE - made.now())
    return made


@pytest.fixture
def cloud(clock: FakeClock) -> Cloud:
    made = Cloud(clock)
    made.add("a", 5 * HOUR)
    return made


@pytest.fixture
def boot(tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, cloud: Cloud) -> Iterator[Boot]:
    """Starts the daemon; one at a time, each on what the one before left behind."""
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    made: list[App] = []
    with SlackServer(clock) as slack:
        config = configure(tmp_path, slack.webhook_url, policies=NIGHT)

        def once() -> App:
            if made:
                made.pop().close()
            made.append(start(config, cloud, clock))
            return made[0]

        yield once
        made.pop().close()


def test_the_edge_is_warned_of_and_the_box_is_stopped_once(boot: Boot, clock: FakeClock, cloud: Cloud) -> None:
    """Whoever starts it again that night is left alone; the next evening is another edge."""
    app = boot()
    drive(app, clock, 19 * MINUTE)
    assert rows(app.database) == ()
    drive(app, clock, 40 * MINUTE)
    (row,) = rows(app.database)
    assert (row.state, len(cloud.stops("a"))) == (ActionState.DONE, 1)
    cloud.restart("a")
    drive(app, clock, 45 * MINUTE)
    assert len(cloud.stops("a")) == 1
    clock.advance(EVENING + timedelta(days=1) - 10 * MINUTE - clock.now())
    drive(app, clock, 50 * MINUTE)
    assert len(cloud.stops("a")) == 2


@pytest.mark.parametrize(("back", "stops"), [(25 * MINUTE, 1), (45 * MINUTE, 0)])
def test_an_edge_at_which_it_was_down(boot: Boot, clock: FakeClock, cloud: Cloud, back: timedelta, stops: int) -> None:
    """M08: it ran at 19:50 and is back after the edge: within catch_up it is made up for, once; later it has passed,
    in that cycle and in all that follow, another restart included."""
    drive(boot(), clock, 10 * MINUTE)
    clock.advance(EVENING + back - clock.now())
    drive(boot(), clock, 20 * MINUTE)
    app = boot()
    drive(app, clock, 45 * MINUTE)
    assert len(cloud.stops("a")) == stops
    assert len(rows(app.database)) == stops
