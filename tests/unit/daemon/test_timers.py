from dataclasses import replace
from datetime import timedelta

from costguard.app.app import App
from costguard.daemon import timers
from costguard.domain.ledger import LedgerKind
from costguard.domain.resource import ResourceRef
from costguard.engine.close import TimerChange
from costguard.errors import NotFound, Unavailable
from costguard.testing.builders import NOW, make_ref
from costguard.testing.clock import FakeClock
from tests.daemon.rig import Cloud, CloudConnection, lines

KEPT = TimerChange(make_ref("a"), NOW + timedelta(days=2), "act-1", "kept by li: a demo")


class Timers(CloudConnection):
    """A cloud that releases by itself."""

    asked: list[object]
    error: Exception | None = None

    def release(self, ref: ResourceRef, token: str) -> None:
        raise AssertionError("nobody asked for that")

    def set_release_time(self, ref: ResourceRef, at: object) -> None:
        if self.error is not None:
            raise self.error
        self.asked.append(at)


def wired(app: App, cloud: Cloud) -> Timers:
    connection = Timers(cloud, "prod")
    connection.asked = []
    app.accounts["prod"]._connection = connection
    return connection


def waiting(app: App) -> tuple[TimerChange, ...]:
    with app.database.read() as conn:
        return timers.waiting(conn)


def want(app: App, change: TimerChange = KEPT) -> None:
    with app.database.write() as conn:
        timers.want(conn, [change], app.clock.now())


def test_a_timer_that_a_cycle_wanted_moved_is_moved_by_whoever_leads_next(app: App, cloud: Cloud) -> None:
    """The process died between the commit and the call: the timer would destroy what somebody keeps."""
    connection = wired(app, cloud)
    want(app)
    app.actor.run()
    assert connection.asked == [KEPT.at]
    assert waiting(app) == ()
    (line,) = lines(app.database)
    assert line.kind is LedgerKind.SYSTEM
    assert "release timer set to 2026-03-07T12:00:00Z (kept by li: a demo)" in line.text


def test_a_refused_change_is_tried_until_it_is_done_and_told_once(app: App, cloud: Cloud, clock: FakeClock) -> None:
    connection = wired(app, cloud)
    connection.error = Unavailable("down", provider="simulated")
    want(app)
    for _ in range(3):
        app.actor.run()
    assert waiting(app) == (KEPT,)
    assert [line.kind for line in lines(app.database)] == [LedgerKind.FAILED]
    connection.error = None
    app.actor.run()
    assert connection.asked == [KEPT.at]
    assert [line.kind for line in lines(app.database)] == [LedgerKind.FAILED, LedgerKind.SYSTEM]


def test_a_box_that_is_gone_or_an_account_that_is_not_there_ends_the_wish(app: App, cloud: Cloud) -> None:
    wired(app, cloud).error = NotFound("gone", provider="simulated")
    want(app)
    want(app, replace(KEPT, ref=make_ref("b", account="former")))
    app.actor.run()
    assert waiting(app) == ()
    assert len(lines(app.database)) == 2


def test_the_newest_wish_counts(app: App, cloud: Cloud) -> None:
    connection = wired(app, cloud)
    want(app)
    removed = replace(KEPT, at=None, reason="paused")
    want(app, removed)
    with app.database.write() as conn:
        assert not timers.done(conn, KEPT), "another one has taken its place"
    app.actor.run()
    assert connection.asked == [None]
