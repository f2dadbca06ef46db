"""The whole daemon with a backstop, a timer at the provider that destroys: during the ladder, and after it."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.config.accounts import AccountSpec
from costguard.config.load import load
from costguard.daemon import levers
from costguard.domain.action import ActionState
from costguard.domain.resource import Resource, ResourceRef
from costguard.errors import PermissionDenied
from costguard.ports import Clock
from costguard.testing.clock import FakeClock
from tests.daemon.rig import MINUTE, Box, Cloud, CloudConnection, configure, drive, rows, start
from tests.fakes.slack import SlackServer
from tests.store.databases import migrated_sqlite

__all__ = ["migrated_sqlite"]

pytestmark = pytest.mark.slow

OLD = """\
policies:
  - name: old
    rule: lifetime
    match: all
    when: {max_age: 8h, backstop: true}
    respond:
      - {do: warn}
      - {after: 15m, do: warn}
      - {after: 30m, do: stop}
"""


@dataclass
class Timed(Cloud):
    """Releases by itself. ``timers``: when, by id."""

    timers: dict[str, datetime] = field(default_factory=dict)

    def connect(self, provider: str, spec: AccountSpec, clock: Clock) -> "Timers":
        return Timers(self, spec.name)


class Timers(CloudConnection):
    _cloud: Timed

    def _shown(self, box: Box) -> Resource:
        return replace(super()._shown(box), auto_release_at=self._cloud.timers.get(box.id))

    def release(self, ref: ResourceRef, token: str) -> None:
        raise AssertionError("nobody asked for that")

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        if at is None:
            self._cloud.timers.pop(ref.id, None)
        else:
            self._cloud.timers[ref.id] = at


@pytest.fixture
def cloud(clock: FakeClock) -> Timed:
    made = Timed(clock)
    made.add("a")
    return made


@pytest.fixture
def app(tmp_path: Path, migrated_sqlite: Path, clock: FakeClock, cloud: Timed, slack: SlackServer) -> Iterator[App]:
    shutil.copy(migrated_sqlite, tmp_path / "costguard.db")
    # What a warning says is told to the minute.
    path = configure(tmp_path, slack.webhook_url, schedule="{act: 1m, deliver: 30s, heartbeat: 15s}").path
    (tmp_path / "policies.yaml").write_text(OLD)
    path.write_text(path.read_text().replace('account_id: "1"', 'account_id: "1", allow_release: true'))
    made = start(load(path, {}), cloud, clock)
    yield made
    made.close()


def test_the_warnings_speak_of_the_stop_and_name_the_timer(
    app: App, clock: FakeClock, cloud: Timed, slack: SlackServer
) -> None:
    """What people are told is what happens in 30 minutes, and what would destroy the box should that fail."""
    began = clock.now()
    drive(app, clock, 20 * MINUTE)
    warnings = [m.delivered.text for m in slack.posted]
    assert [text.splitlines()[0].partition(":")[0] for text in warnings] == ["Stopping in 30 min", "Stopping in 15 min"]
    assert all("destroys it and its disks" in text for text in warnings)
    at = cloud.timers["a"]
    assert timedelta(hours=24, minutes=30) <= at - began < timedelta(hours=24, minutes=35)


def test_the_timer_goes_with_the_stop(app: App, clock: FakeClock, cloud: Timed) -> None:
    """It was there for a stop that does not come; what is stopped keeps its disks."""
    drive(app, clock, 40 * MINUTE)
    assert rows(app.database)[0].state is ActionState.DONE
    assert len(cloud.stops("a")) == 1
    assert cloud.timers == {}


def test_the_timer_stands_while_the_stop_fails(app: App, clock: FakeClock, cloud: Timed) -> None:
    cloud.fail["stop"] = lambda: PermissionDenied("no", provider="simulated", operation="stop")
    drive(app, clock, 60 * MINUTE)
    assert cloud.stops() == []
    assert set(cloud.timers) == {"a"}


def _cancel(app: App, clock: FakeClock, cloud: Timed) -> None:
    with app.database.write() as conn:
        (row,) = rows(app.database)
        levers.cancel(conn, row.id, person=levers.Person("li"), now=clock.now())


def _restart_at_the_last_look(app: App, clock: FakeClock, cloud: Timed) -> None:
    """The listing does not know of it; the live read right before the call does."""
    due = rows(app.database)[0].due_at
    assert due is not None

    def look(what: str) -> None:
        if what == "before get" and clock.now() >= due and cloud.boxes["a"].started_at < due - MINUTE:
            cloud.restart("a")

    cloud.boundary = look


@pytest.mark.parametrize("end", [_cancel, _restart_at_the_last_look])
def test_the_timer_goes_with_the_ladder(
    app: App, clock: FakeClock, cloud: Timed, end: Callable[[App, FakeClock, Timed], None]
) -> None:
    """Somebody cancelled, or has the box again: it must not be destroyed a day later."""
    drive(app, clock, 5 * MINUTE)
    assert set(cloud.timers) == {"a"}
    end(app, clock, cloud)
    drive(app, clock, 40 * MINUTE)
    assert rows(app.database)[0].state in (ActionState.CANCELLED, ActionState.SUPERSEDED)
    assert cloud.stops() == []
    assert cloud.timers == {}


def test_a_timer_of_their_own_is_theirs(app: App, clock: FakeClock, cloud: Timed) -> None:
    """Set by people before the ladder came to its own: a cancel does not touch it."""
    mine = clock.now() + timedelta(days=3)
    cloud.timers["a"] = mine
    cloud.boxes["a"].busy_since = clock.now() - timedelta(hours=1)  # busy: the ladder's timer waits
    drive(app, clock, 5 * MINUTE)
    _cancel(app, clock, cloud)
    drive(app, clock, 5 * MINUTE)
    assert cloud.timers == {"a": mine}
