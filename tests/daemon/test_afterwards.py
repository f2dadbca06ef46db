"""Work that began in the minutes before a stop that no metrics tell of yet: it is told afterwards, once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.explain import explain_action
from costguard.app.jobs import jobs
from costguard.app.undo import undo
from costguard.config.load import load
from costguard.daemon.jobs import SteppedDriver
from costguard.domain.action import Action, ActionState
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.resource import ResourceRef
from costguard.domain.usage import Metric
from costguard.errors import Unavailable
from costguard.notify.render import render
from costguard.ports import AccountSpec, Clock, PowerResult
from costguard.store import inventory
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, MINUTE, Cloud, CloudConnection, configure, drive, lines, rows, start, told, with_hook
from tests.fakes.slack import SlackServer

pytestmark = pytest.mark.slow

OLD = """\
policies:
  - name: old
    rule: lifetime
    match: all
    when: {max_age: 8h}
    respond:
      - {do: warn}
      - {after: 30m, do: release}
"""

DELAY = 2 * MINUTE


@dataclass
class Destroyer(Cloud):
    """A cloud that releases boxes when it is asked to."""

    def connect(self, provider: str, spec: AccountSpec, clock: Clock) -> "Releasing":
        return Releasing(self, spec.name)


class Releasing(CloudConnection):
    def release(self, ref: ResourceRef, token: str) -> PowerResult:
        box = self._cloud.boxes[ref.id]
        box.stopping_since, box.gone = self._cloud.clock.now(), True
        return PowerResult.ACCEPTED

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        raise AssertionError("nobody asked for that")


@pytest.fixture
def cloud(clock: FakeClock) -> Cloud:
    made = Cloud(clock, late=DELAY)
    made.add("a")
    return made


# A stop is seen, and what is late is read, within the minute that these tests look at.
BRISK = "{act: 30s, deliver: 30s, heartbeat: 15s}"


@pytest.fixture
def app(tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> Iterator[App]:
    app = App.open(configure(tmp_path, slack.webhook_url, schedule=BRISK), clock, connect=cloud.connect, threads=1)
    yield app
    app.close()


def warned(app: App, clock: FakeClock) -> datetime:
    """The box was warned; when it will be stopped."""
    drive(app, clock, 2 * MINUTE)
    (row,) = rows(app.database)
    assert row.due_at is not None
    return row.due_at


def until(app: App, clock: FakeClock, end: datetime) -> None:
    SteppedDriver(jobs(app), clock).run_until(end)  # type: ignore[arg-type]


def stopped(app: App, cloud: Cloud, clock: FakeClock, began: timedelta | None = MINUTE) -> Action:
    """The box was stopped, ``began`` after somebody began to work on it; none of that is known yet."""
    due = warned(app, clock)
    if began is not None:
        cloud.boxes["a"].busy_since = due - began
    until(app, clock, due + MINUTE)
    (row,) = rows(app.database)
    assert row.state is ActionState.DONE
    assert unseen(app) == []
    return row


def unseen(app: App) -> list[Notice]:
    return [notice for notice in told(app.database) if notice.kind is NoticeKind.UNSEEN_WORK]


def written(app: App) -> list[str]:
    return [line.text for line in lines(app.database) if line.kind is LedgerKind.UNSEEN_WORK]


def test_work_that_began_unseen_is_told_once_and_undone(app: App, cloud: Cloud, clock: FakeClock) -> None:
    row = stopped(app, cloud, clock)
    drive(app, clock, 25 * MINUTE)
    (notice,) = unseen(app)
    message = render(notice.facts, fmt="plain", language="en", now=clock.now(), idem_key="k")
    assert message.title in (
        "Stopped within 1 min of beginning to work: box-a", "Stopped within 2 min of beginning to work: box-a",
    )  # fmt: skip
    assert "GPU use reached 90% (idle is below 5%)" in message.body
    assert f"costguard undo {row.id}" in message.body
    (result,) = [n for n in told(app.database) if n.kind is NoticeKind.RESULT]
    assert (notice.channel, notice.alert_key) == (result.channel, result.alert_key)
    assert row.executed_at is not None
    assert notice.created_at - row.executed_at <= DELAY + 2 * MINUTE
    (line,) = written(app)
    assert line.startswith("it had begun to work within")
    history = explain_action(app, row.id)["history"]
    assert line in [entry["text"] for entry in history]  # type: ignore[attr-defined]
    undo(app, row.id, "cli:zw")
    assert [call.operation for call in cloud.calls] == ["stop", "start"]
    drive(app, clock, 25 * MINUTE)
    assert len(unseen(app)) == len(written(app)) == 1


def test_nobody_is_told_of_a_box_that_was_idle_and_nobody_is_asked_any_more(
    app: App, cloud: Cloud, clock: FakeClock
) -> None:
    stopped(app, cloud, clock, None)
    asked: list[datetime] = []
    cloud.boundary = lambda what: asked.append(clock.now()) if what == "before usage" else None
    since = clock.now()
    drive(app, clock, 25 * MINUTE)
    assert unseen(app) == []
    assert written(app) == []
    assert 3 <= len(asked) <= 9, "until the samples have surely arrived, and no longer"
    assert max(asked) - since < 10 * MINUTE


def test_work_that_the_last_look_saw_is_no_matter_of_this(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """The stop was not made."""
    due = warned(app, clock)
    cloud.boxes["a"].busy_since = due - 5 * MINUTE
    until(app, clock, due + 5 * MINUTE)
    assert cloud.stops() == []
    assert unseen(app) == []


@pytest.mark.parametrize("before", [True, False])
def test_a_restart_of_the_daemon_tells_it_neither_twice_nor_never(
    tmp_path: Path, app: App, cloud: Cloud, clock: FakeClock, slack: SlackServer, before: bool
) -> None:
    stopped(app, cloud, clock)
    if not before:
        drive(app, clock, 5 * MINUTE)
    app.close()
    clock.advance(10 * MINUTE)
    again = start(configure(tmp_path, slack.webhook_url, schedule=BRISK), cloud, clock)
    try:
        drive(again, clock, 10 * MINUTE)
        assert len(unseen(again)) == len(written(again)) == 1
    finally:
        again.close()


def arrived(app: App, clock: FakeClock) -> None:
    """The late samples are in the store, and nobody has looked at them yet."""
    clock.advance(DELAY + MINUTE)
    app.lead.round()
    with app.database.read() as conn:
        boxes = inventory.resources(conn)
    account, since = app.accounts["prod"], clock.now() - HOUR
    assert app.actor.looker.read_past(account, boxes, frozenset({Metric.GPU_UTIL}), since, clock.now()) == set()


def test_who_has_started_it_again_is_told_nothing(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """No listing has seen it yet; the look before the message does."""
    stopped(app, cloud, clock)
    arrived(app, clock)
    cloud.restart("a")
    app.afterwards.round()
    cloud.boxes["a"].stopping_since = clock.now()
    drive(app, clock, 10 * MINUTE)
    assert unseen(app) == []
    assert written(app) == []


def test_who_has_asked_for_it_again_is_told_nothing(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """Pressed, and the provider still shows it stopped."""
    row = stopped(app, cloud, clock)
    box = cloud.boxes["a"]
    was = replace(box)
    undo(app, row.id, "slack:zw")
    box.stopping_since, box.started_at = was.stopping_since, was.started_at
    arrived(app, clock)
    app.afterwards.round()
    assert unseen(app) == []
    assert written(app) == []


def test_what_arrives_in_parts_is_waited_for(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """A provider that cannot be asked is asked again, and a box that cannot be read is told of as it was last seen."""
    stopped(app, cloud, clock)
    down = Unavailable("down", provider="simulated", operation="usage")
    cloud.fail["usage"] = lambda: down
    drive(app, clock, 15 * MINUTE)
    assert unseen(app) == []
    cloud.fail = {"get": lambda: down}
    drive(app, clock, 2 * MINUTE)
    assert len(unseen(app)) == 1


def test_nobody_is_asked_for_ever(app: App, cloud: Cloud, clock: FakeClock) -> None:
    stopped(app, cloud, clock)
    down = Unavailable("down", provider="simulated", operation="usage")
    asked: list[datetime] = []
    cloud.fail["usage"] = lambda: asked.append(clock.now()) or down
    since = clock.now()
    drive(app, clock, 25 * MINUTE)
    assert max(asked) - since <= 20 * MINUTE
    cloud.fail.clear()
    drive(app, clock, 25 * MINUTE)
    assert unseen(app) == []


def test_a_hooks_own_load_is_nobodys_work(tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> None:
    hook = with_hook("{on: instance, run: /opt/ckpt.sh, timeout: 10m}")
    app = App.open(
        configure(tmp_path, slack.webhook_url, schedule=BRISK, policies=hook), clock, connect=cloud.connect, threads=1
    )
    try:
        due = warned(app, clock)
        cloud.boxes["a"].busy_since = due
        drive(app, clock, 50 * MINUTE)
        assert len(cloud.stops()) == 1
        assert unseen(app) == []
    finally:
        app.close()


def test_of_a_release_it_is_told_too_and_nothing_is_offered(
    tmp_path: Path, clock: FakeClock, slack: SlackServer
) -> None:
    """What is destroyed is not started again."""
    cloud = Destroyer(clock, late=DELAY)
    cloud.add("a")
    path = configure(tmp_path, slack.webhook_url, schedule=BRISK).path
    (tmp_path / "policies.yaml").write_text(OLD)
    path.write_text(path.read_text().replace('account_id: "1"', 'account_id: "1", allow_release: true'))
    app = App.open(load(path, {}), clock, connect=cloud.connect, threads=1)
    try:
        stopped(app, cloud, clock)
        drive(app, clock, 10 * MINUTE)
        (notice,) = unseen(app)
        message = render(notice.facts, fmt="slack_bot", language="zh", now=clock.now(), idem_key="k")
        assert message.title == "box-a 开始干活 2 分钟内被释放"
        assert "undo" not in message.body
        assert message.buttons == ()
    finally:
        app.close()
