"""What happens beside a hook: whoever starts to work after it is seen, however late its result is heard."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.domain.action import ActionState
from costguard.ports import CommandResult
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, MINUTE, Cloud, configure, rows, with_hook
from tests.fakes.slack import SlackServer

HOOK = with_hook("{on: instance, run: /opt/ckpt.sh, timeout: 10m}")


@pytest.fixture
def app(tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> Iterator[App]:
    config = configure(tmp_path, slack.webhook_url, policies=HOOK)
    app = App.open(config, clock, connect=cloud.connect, threads=1)
    yield app
    app.close()


@pytest.fixture
def hooked(app: App, cloud: Cloud, clock: FakeClock) -> App:
    """A run has started the hook, and was over before it."""
    run_once(app)
    clock.advance(31 * MINUTE)
    cloud.hook = CommandResult("running")
    run_once(app)
    assert [row.state for row in rows(app.database)] == [ActionState.PREPARING]
    cloud.hook = CommandResult("finished", 0, "saved")
    return app


def test_who_works_since_the_hook_is_not_stopped(hooked: App, cloud: Cloud, clock: FakeClock) -> None:
    """C30, A04: a run every few hours, or a daemon that was away: the hook ended long ago, and somebody works since."""
    cloud.boxes["a"].busy_since = clock.now() + HOUR
    clock.advance(3 * HOUR)
    run_once(hooked)
    assert cloud.stops() == []


def test_who_worked_for_a_while_since_the_hook_is_not_stopped(hooked: App, cloud: Cloud, clock: FakeClock) -> None:
    """Quiet for the half hour that the guard asks for, and busy within the 45 minutes that the rule asks for."""
    cloud.boxes["a"].busy_since = clock.now() + 16 * MINUTE
    cloud.boxes["a"].busy_until = clock.now() + 18 * MINUTE
    clock.advance(55 * MINUTE)
    run_once(hooked)
    assert cloud.stops() == []


def test_whom_nobody_sees_since_the_hook_is_not_stopped(hooked: App, cloud: Cloud, clock: FakeClock) -> None:
    """A10: its agent went silent with the hook."""
    cloud.tells_until = clock.now()
    clock.advance(3 * HOUR)
    run_once(hooked)
    assert cloud.stops() == []


def test_the_hooks_own_work_is_none_however_late_its_result_is_heard(
    hooked: App, cloud: Cloud, clock: FakeClock
) -> None:
    cloud.boxes["a"].busy_since = clock.now()
    cloud.boxes["a"].busy_until = clock.now() + 5 * MINUTE
    clock.advance(30 * MINUTE)
    run_once(hooked)
    assert len(cloud.stops()) == 1
