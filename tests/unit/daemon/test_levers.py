from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.app.app import App
from costguard.app.explain import explain
from costguard.app.once import run_once
from costguard.daemon import levers
from costguard.daemon.levers import Person
from costguard.domain.action import Action, ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.ledger import LedgerKind
from costguard.domain.notice import NoticeKind, NoticeState
from costguard.errors import UsageError
from costguard.store import actions
from costguard.store import levers as stored
from costguard.testing.clock import FakeClock
from tests.daemon.rig import MINUTE, Cloud, booked, lines, rows, told
from tests.fakes.server import Fault
from tests.fakes.slack import SlackServer

HOUR = timedelta(hours=1)
OPERATOR = Person("ops")
STRANGER = Person("mallory", frozenset({"mallory"}))


def keep(app: App, person: Person = OPERATOR, text: str = "a", **fields: object) -> None:
    now = app.clock.now()
    values: dict[str, object] = {"reason": "a demo", "until": now + HOUR, "longest": timedelta(days=7), **fields}
    with app.database.write() as conn:
        levers.keep(conn, text, person=person, now=now, **values)  # type: ignore[arg-type]


def only(app: App) -> Action:
    (row,) = rows(app.database)
    return row


def stopped(app: App, clock: FakeClock) -> Action:
    clock.advance(31 * MINUTE)
    run_once(app)
    row = only(app)
    assert row.state is ActionState.DONE
    return row


def test_a_keep_ends_the_ladder_and_nothing_is_stopped(warned: App, cloud: Cloud, clock: FakeClock) -> None:
    """K02: who kept it, until when and why are in the ledger; it ends by itself."""
    clock.advance(MINUTE)
    keep(warned)
    clock.advance(31 * MINUTE)
    run_once(warned)
    assert cloud.stops() == []
    (lever,) = (line for line in lines(warned.database) if line.kind is LedgerKind.LEVER)
    assert (lever.actor, lever.text) == ("ops", "kept until 2026-03-05T13:01:00+00:00: a demo")
    assert rows(warned.database)[0].state is ActionState.CANCELLED
    clock.advance(30 * MINUTE)
    run_once(warned)
    newest = rows(warned.database)[-1]
    assert newest.state is ActionState.WARNED, "the promise is over: a new ladder with a new warning"
    assert newest.warned_at is not None
    assert newest.warned_at >= clock.now() - MINUTE


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"reason": " "}, "say why"),
        ({"until": FakeClock().now() - HOUR}, "in the past"),
        ({"until": FakeClock().now() + timedelta(days=8)}, "at most 7d"),
        ({"text": "nobody"}, "no resource is called 'nobody'; `costguard fleet`"),
        ({"person": STRANGER}, "mallory may not act for a resource without owner"),
    ],
)
def test_a_keep_that_cannot_be(warned: App, fields: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        keep(warned, **fields)  # type: ignore[arg-type]
    with warned.database.read() as conn:
        assert stored.keeps(conn, warned.clock.now()) == {}


def test_a_name_that_fits_two_boxes_lists_them(app: App, cloud: Cloud, clock: FakeClock) -> None:
    cloud.add("b", name="twin")
    cloud.boxes["a"].name = "twin"
    run_once(app)
    with app.database.read() as conn, pytest.raises(UsageError, match="fits 2 resources") as refused:
        levers.find(conn, "twin")
    assert len(refused.value.candidates) == 2
    assert all(c.startswith("simulated/prod/cn-north/vm/") for c in refused.value.candidates)


def test_a_name_that_is_nearly_right_is_answered_with_the_nearest(app: App, cloud: Cloud) -> None:
    cloud.boxes["a"].name = "Train-A800-03"
    run_once(app)
    with (
        app.database.read() as conn,
        pytest.raises(UsageError, match=r"did you mean Train-A800-03\? `costguard fleet`"),
    ):
        levers.find(conn, "train-800-03")


def test_a_box_that_changes_hands_in_the_middle_of_a_ladder(
    app: App, cloud: Cloud, slack: SlackServer, clock: FakeClock
) -> None:
    """The owner tag is written anew five minutes before the stop: who has it now is warned, with the whole grace."""
    cloud.boxes["a"].tags["owner"] = "li"
    run_once(app)
    clock.advance(25 * MINUTE)
    cloud.boxes["a"].tags["owner"] = "he"
    run_once(app)
    first, second = (m.text for m in slack.delivered() if "Stopping in 30 min" in m.notification)
    assert ("li (by tag owner=li)" in first, "he (by tag owner=he)" in second) == (True, True)
    clock.advance(6 * MINUTE)
    run_once(app)
    assert cloud.stops() == []
    (ladder,) = explain(app, "a")["policies"][0]["ladders"]  # type: ignore[index]
    assert [one["owner"] for one in ladder["action"]["heard"]] == ["li", "he"]
    cloud.boxes["a"].tags["owner"] = "li"
    clock.advance(25 * MINUTE)
    run_once(app)
    assert [call.id for call in cloud.stops()] == ["a"], "both were warned in time: going back puts nothing off"


def test_explain_says_that_who_claimed_it_is_warned_first(warned: App, clock: FakeClock) -> None:
    assert explain(warned, "a")["outlook"]["at"] is not None  # type: ignore[index]
    with warned.database.write() as conn:
        levers.claim(conn, "a", owner="he", person=OPERATOR, now=clock.now())
    ahead = explain(warned, "a")["outlook"]
    assert (ahead["at"], ahead["reason"]) == (None, "its owner is now he, who was not warned yet")  # type: ignore[index]


@pytest.mark.parametrize("lever", ["keep", "until_idle", "tag", "pause"])
def test_what_began_and_ended_between_two_runs_warns_anew(
    lever: str, warned: App, cloud: Cloud, clock: FakeClock
) -> None:
    """K02, by `run --once` once an hour: no cycle sees the promise, and its end is no leave to stop at once."""
    clock.advance(MINUTE)
    now = clock.now()
    if lever == "pause":
        with warned.database.write() as conn:
            levers.pause(conn, person=OPERATOR, now=now, reason="a demo", until=now + 20 * MINUTE)
    elif lever == "tag":
        cloud.boxes["a"].tags["costguard:keep-until"] = (now + 20 * MINUTE).isoformat()
    else:
        until = now + (20 * MINUTE if lever == "keep" else timedelta(days=1))
        keep(warned, until=until, until_idle=lever == "until_idle")
    clock.advance(60 * MINUTE)
    run_once(warned)
    assert cloud.stops() == []
    (row,) = (r for r in rows(warned.database) if not r.state.terminal)
    assert row.held_since == clock.now()
    warnings = [n for n in told(warned.database) if n.kind is NoticeKind.WARN and n.state is NoticeState.SENT]
    assert len(warnings) == 2
    clock.advance(31 * MINUTE)
    run_once(warned)
    assert [call.id for call in cloud.stops()] == ["a"]


def test_unkeep_ends_what_is_there(warned: App) -> None:
    keep(warned)
    with warned.database.write() as conn:
        levers.unkeep(conn, "a", person=OPERATOR, now=warned.clock.now())
    with warned.database.write() as conn, pytest.raises(UsageError, match="is not kept"):
        levers.unkeep(conn, "a", person=OPERATOR, now=warned.clock.now())


def test_a_cancelled_ladder_stays_cancelled_while_its_finding_holds(
    warned: App, cloud: Cloud, clock: FakeClock
) -> None:
    """A person said no: the same finding must not warn them again a minute later."""
    with warned.database.write() as conn:
        ended = levers.cancel(conn, only(warned).id[:6], person=OPERATOR, now=clock.now())
    assert (ended.state, ended.code) == (ActionState.CANCELLED, GuardCode.APPROVAL)
    sent = len(told(warned.database))
    for _ in range(3):
        clock.advance(20 * MINUTE)
        run_once(warned)
    assert cloud.stops() == []
    assert len(rows(warned.database)) == 1
    assert len(told(warned.database)) == sent
    # It works, and is idle again: that is another finding.
    cloud.boxes["a"].busy_since = clock.now()
    clock.advance(10 * MINUTE)
    run_once(warned)
    clock.advance(10 * MINUTE)
    run_once(warned)
    cloud.boxes["a"].busy_since = None
    clock.advance(80 * MINUTE)
    run_once(warned)
    assert len(rows(warned.database)) == 2


def test_who_was_warned_hears_that_it_is_off_and_by_whom(warned: App, slack: SlackServer, clock: FakeClock) -> None:
    """On the same channel, once, and only after the warning was there."""
    (warning,) = told(warned.database)
    clock.advance(MINUTE)
    with warned.database.write() as conn:
        levers.cancel(conn, only(warned).id, person=OPERATOR, now=clock.now())
    off = told(warned.database)[-1]
    assert (off.kind, off.channel, off.mention) == (NoticeKind.CLEARED, warning.channel, warning.mention)
    clock.advance(MINUTE)
    run_once(warned)
    assert len(slack.posted) == 2
    assert "Not stopping box-a: cancelled by ops" in str(slack.posted[-1].content)
    clock.advance(20 * MINUTE)
    run_once(warned)
    assert len(slack.posted) == 2


def test_a_cancelled_ladder_sends_no_warning_any_more(app: App, slack: SlackServer, clock: FakeClock) -> None:
    slack.fail(Fault.SERVER_ERROR)
    run_once(app)
    with app.database.write() as conn:
        levers.cancel(conn, only(app).id, person=OPERATOR, now=clock.now())
    slack.heal()
    clock.advance(20 * MINUTE)
    app.drain(MINUTE)
    assert slack.posted == []
    assert NoticeState.PENDING not in {n.state for n in told(app.database)}


def test_what_has_called_or_ended_cannot_be_cancelled(warned: App, clock: FakeClock) -> None:
    row = stopped(warned, clock)
    with warned.database.write() as conn, pytest.raises(UsageError, match="is done; there is nothing to cancel"):
        levers.cancel(conn, row.id, person=OPERATOR, now=clock.now())


def test_a_stranger_cancels_nothing(warned: App, clock: FakeClock) -> None:
    with warned.database.write() as conn, pytest.raises(UsageError, match="mallory may not act on box-a"):
        levers.cancel(conn, only(warned).id, person=STRANGER, now=clock.now())


def test_an_approval_is_only_for_who_waits_for_one(warned: App, clock: FakeClock) -> None:
    row = only(warned)
    with warned.database.write() as conn, pytest.raises(UsageError, match="does not wait for an approval"):
        levers.approve(conn, row.id, person=OPERATOR, now=clock.now())
    with warned.database.write() as conn:
        actions.save(conn, replace(row, code=GuardCode.APPROVAL))
        assert levers.approve(conn, row.id, person=OPERATOR, now=clock.now()).approved_by == "ops"


def test_a_dispute_takes_the_saving_back_and_puts_the_box_in_dry_run(
    warned: App, cloud: Cloud, clock: FakeClock
) -> None:
    with warned.database.write() as conn, pytest.raises(UsageError, match="stopped nothing"):
        levers.dispute(conn, only(warned).id, reason="it worked", person=STRANGER, now=clock.now())
    row = stopped(warned, clock)
    with warned.database.write() as conn, pytest.raises(UsageError, match="say why"):
        levers.dispute(conn, row.id, reason="", person=STRANGER, now=clock.now())
    with warned.database.write() as conn:
        levers.dispute(conn, row.id, reason="it worked", person=STRANGER, now=clock.now())
    (saving,) = booked(warned.database, clock.now())
    assert saving.until == saving.since
    clock.advance(MINUTE)
    cloud.restart("a")
    clock.advance(timedelta(hours=2))
    run_once(warned)
    clock.advance(31 * MINUTE)
    run_once(warned)
    assert len(cloud.stops()) == 1
    assert rows(warned.database)[-1].state is ActionState.RECORDED


def test_pause_holds_everything_until_somebody_resumes(warned: App, cloud: Cloud, clock: FakeClock) -> None:
    with warned.database.write() as conn, pytest.raises(UsageError, match="in the past"):
        levers.pause(conn, person=OPERATOR, now=clock.now(), reason="", until=clock.now())
    with warned.database.write() as conn:
        levers.pause(conn, person=OPERATOR, now=clock.now(), reason="a release", until=None)
    clock.advance(31 * MINUTE)
    run_once(warned)
    assert cloud.stops() == []
    with warned.database.write() as conn:
        levers.resume(conn, person=OPERATOR, now=clock.now())
    run_once(warned)
    assert cloud.stops() == [], "people are warned anew"
    assert only(warned).warned_at is not None
    clock.advance(31 * MINUTE)
    run_once(warned)
    assert len(cloud.stops()) == 1
    with warned.database.write() as conn, pytest.raises(UsageError, match="nothing is paused"):
        levers.resume(conn, person=OPERATOR, now=clock.now())


@pytest.mark.parametrize("span", [timedelta(0), timedelta(hours=25), -HOUR])
def test_a_heartbeat_holds_for_a_day_at_most(warned: App, span: timedelta) -> None:
    with warned.database.write() as conn, pytest.raises(UsageError, match="up to 24h"):
        levers.heartbeat(conn, "a", span=span, person=OPERATOR, now=warned.clock.now())


def test_a_heartbeat_is_work(warned: App, cloud: Cloud, clock: FakeClock) -> None:
    """A02: whatever the metrics say, a job that says it is alive is not stopped."""
    with warned.database.write() as conn:
        levers.heartbeat(conn, "a", span=2 * HOUR, person=Person("job"), now=clock.now())
    clock.advance(31 * MINUTE)
    run_once(warned)
    clock.advance(6 * MINUTE)
    run_once(warned)
    assert cloud.stops() == []
    assert only(warned).state is ActionState.SUPERSEDED
