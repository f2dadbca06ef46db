"""Two processes on one database: one leads, and who no longer leads does nothing, whatever it believes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.jobs import jobs
from costguard.app.once import Busy, run_once
from costguard.daemon.lead import TTL
from costguard.domain.action import ActionState
from costguard.domain.ledger import LedgerKind
from costguard.errors import LeaseLost
from costguard.store.database import Database
from costguard.testing.clock import FakeClock
from tests.daemon.rig import MINUTE, Cloud, booked, configure, lines, rows, start
from tests.fakes.slack import SlackServer

SECOND = timedelta(seconds=1)


class Pair:
    """Replicas with clocks of their own."""

    def __init__(self, folder: Path, database: Database, slack: SlackServer, stack: ExitStack) -> None:
        self._folder, self._slack, self._stack = folder, slack, stack
        self.database = database
        self.clock = slack.clock
        self.cloud = Cloud(self.clock)
        self.cloud.add("a")

    def replica(self, clock: FakeClock | None = None) -> App:
        url = self.database.url.render_as_string(hide_password=False)
        config = configure(self._folder, self._slack.webhook_url, database=url)
        app = start(config, self.cloud, clock or self.clock)
        self._stack.callback(app.database.close)
        return app

    def due(self) -> None:
        """A stop that has come due, and nobody who leads."""
        app = self.replica()
        run_once(app)
        app.close()
        self.clock.advance(31 * MINUTE)


@pytest.fixture
def pair(tmp_path: Path, database: Database, slack: SlackServer) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(tmp_path, database, slack, stack)


def lead(app: App) -> bool:
    led = app.lead.round()
    if led:
        app.identify()
        app.ready = True
    return led


def test_one_leads_and_the_other_does_nothing(pair: Pair) -> None:
    """J02"""
    one, two = pair.replica(), pair.replica()
    assert lead(one)
    assert not lead(two)
    with pytest.raises(LeaseLost):
        two.decide()
    with pytest.raises(LeaseLost):
        two.actor.run()
    with pytest.raises(Busy):
        run_once(two)
    for job in jobs(two):
        job.run()
    assert rows(pair.database) == ()
    one.poll()
    one.decide()
    assert len(rows(pair.database)) == 1


def test_a_clean_end_hands_over_at_once_and_the_token_rises(pair: Pair) -> None:
    one, two = pair.replica(), pair.replica()
    assert lead(one)
    first = one.lead.check()
    one.close()
    assert lead(two)
    assert two.lead.check() > first


def test_a_silent_leader_is_followed_only_after_its_lease_has_run_out(pair: Pair) -> None:
    one, two = pair.replica(), pair.replica()
    assert lead(one)
    pair.clock.advance(TTL - SECOND)
    assert not one.lead.leads, "it stops acting before another may begin"
    assert not lead(two)
    pair.clock.advance(SECOND)
    assert lead(two)
    assert not lead(one)


def test_a_machine_that_was_suspended_notices_by_the_wall_clock(pair: Pair) -> None:
    """E01, E08: the monotonic clock stood still, so it alone would let the process go on."""
    one = pair.replica()
    assert lead(one)
    pair.clock.jump(10 * MINUTE)
    with pytest.raises(LeaseLost):
        one.lead.check()
    assert lead(one), "nobody else took it: it leads again, with another token"


def test_a_wall_clock_that_is_set_back_lengthens_no_lease(pair: Pair) -> None:
    """E08"""
    one = pair.replica()
    assert lead(one)
    pair.clock.jump(-60 * MINUTE)
    assert one.lead.leads
    pair.clock.advance(TTL)
    assert not one.lead.leads


@pytest.fixture
def believer(pair: Pair) -> Callable[[], tuple[App, App]]:
    """(a former leader whose clocks stand still, so that it still believes; the one that leads)."""

    def make() -> tuple[App, App]:
        pair.due()
        old = pair.replica(FakeClock(pair.clock.now()))
        assert lead(old)
        old.poll()
        old.decide()
        pair.clock.advance(TTL + SECOND)
        new = pair.replica()
        assert lead(new)
        assert old.lead.leads, "it believes"
        return old, new

    return make


def test_the_fenced_out_leader_decides_nothing(pair: Pair, believer: Callable[[], tuple[App, App]]) -> None:
    old, _ = believer()
    before = rows(pair.database)
    with pytest.raises(LeaseLost):
        old.decide()
    assert rows(pair.database) == before


def test_the_fenced_out_leader_calls_nothing(pair: Pair, believer: Callable[[], tuple[App, App]]) -> None:
    """Its looks may still be stored; what it is about to do is not, and so it is not done."""
    old, new = believer()
    assert [r.state for r in rows(pair.database)] == [ActionState.VALIDATING]
    with pytest.raises(LeaseLost):
        old.actor.run()
    assert pair.cloud.stops() == []
    assert LedgerKind.EXECUTED not in {line.kind for line in lines(pair.database)}
    # The one that leads takes it from there, once.
    new.actor.run()
    pair.clock.advance(MINUTE)
    assert lead(new)
    new.actor.run()
    assert len(pair.cloud.stops()) == 1
    assert [r.state for r in rows(pair.database)] == [ActionState.DONE]
    assert len(booked(pair.database, pair.clock.now())) == 1


def test_a_call_under_way_elsewhere_is_only_looked_at_when_it_must_be_over(pair: Pair) -> None:
    """The row says executing: its call may arrive until its deadline, and the leader of then may not know yet that
    it does not lead. Nobody touches it before lease and deadline are over; then it is looked at, never repeated."""
    pair.due()
    old = pair.replica()
    assert lead(old)
    old.poll()
    old.decide()

    class Dead(BaseException):
        pass

    def dies() -> BaseException:
        return Dead()

    pair.cloud.fail = {"stop": dies}
    with pytest.raises(Dead):
        old.actor.run()
    pair.cloud.fail = {}
    (row,) = rows(pair.database)
    assert row.state is ActionState.EXECUTING
    assert row.deadline is not None
    pair.clock.advance(TTL + SECOND)
    new = pair.replica()
    assert lead(new)
    while pair.clock.now() <= row.deadline + TTL:
        new.actor.run()
        assert [r.state for r in rows(pair.database)] == [ActionState.EXECUTING]
        pair.clock.advance(10 * SECOND)
        assert lead(new)
    pair.clock.advance(MINUTE)
    assert lead(new)
    new.actor.run()
    assert [r.state for r in rows(pair.database)] == [ActionState.IN_DOUBT]
    assert pair.cloud.stops() == []
