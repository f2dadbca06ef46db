"""A clock that was wrong for a while, set right again: what is read then is believed, whatever was read before."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.domain.notice import NoticeKind
from costguard.testing.clock import FakeClock
from tests.daemon.rig import HOUR, MINUTE, Cloud, configure, told
from tests.fakes.slack import SlackServer


@pytest.fixture
def app(tmp_path: Path, cloud: Cloud, clock: FakeClock, slack: SlackServer) -> Iterator[App]:
    app = App.open(configure(tmp_path, slack.webhook_url), clock, connect=cloud.connect, threads=1)
    yield app
    app.close()


@pytest.fixture
def set_right(app: App, cloud: Cloud, clock: FakeClock) -> App:
    """A warned box; then the clock went an hour ahead for one poll, and back."""
    run_once(app)
    clock.advance(5 * MINUTE)
    cloud.tells_until = clock.now()
    clock.jump(HOUR)
    app.poll()
    clock.jump(-HOUR)
    cloud.tells_until = None
    return app


def kept(cloud: Cloud) -> None:
    cloud.boxes["a"].tags["costguard"] = "keep"


def grouped(cloud: Cloud) -> None:
    cloud.boxes["a"].group = "asg-1"


def restarted(cloud: Cloud) -> None:
    cloud.restart("a")


def test_what_did_not_change_is_stopped_when_it_was_announced(set_right: App, cloud: Cloud, clock: FakeClock) -> None:
    clock.advance(26 * MINUTE)
    run_once(set_right)
    assert len(cloud.stops()) == 1


@pytest.mark.parametrize("changed", [kept, grouped, restarted])
def test_what_changed_since_is_seen_before_the_stop(
    set_right: App, cloud: Cloud, clock: FakeClock, changed: Callable[[Cloud], None]
) -> None:
    """E08, M12: a keep tag, a group, a restart by a human; each seen by listings and by the last look."""
    changed(cloud)
    clock.advance(26 * MINUTE)
    run_once(set_right)
    assert cloud.stops() == []


def test_a_clock_that_is_set_forward_shortens_no_grace(app: App, cloud: Cloud, clock: FakeClock) -> None:
    """E08, J20: it was 25 minutes behind when people were warned; they have the whole half hour all the same."""
    run_once(app)
    began = clock.monotonic()
    clock.jump(25 * MINUTE)
    cloud.clock = clock
    while clock.monotonic() - began < 45 * 60 and not cloud.stops():
        clock.advance(2 * MINUTE)
        run_once(app)
    assert len(cloud.stops()) == 1
    assert clock.monotonic() - began >= 30 * 60


def test_a_leap_that_is_taken_back_is_told_of_once_at_most(app: App, clock: FakeClock, slack: SlackServer) -> None:
    run_once(app)
    clock.advance(MINUTE)
    clock.jump(HOUR)
    run_once(app)
    clock.jump(-HOUR)
    for _ in range(8):
        clock.advance(MINUTE)
        run_once(app)
    warnings = [n for n in told(app.database) if n.kind is NoticeKind.WARN]
    assert len(warnings) <= 2
