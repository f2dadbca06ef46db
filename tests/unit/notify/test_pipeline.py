"""The delivery on the real store against strict platforms: nothing lost, nothing doubled where a key exists."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import time as clock_time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.notice import NoticeKind, NoticeState, SendReason
from costguard.domain.time import TimeRange
from costguard.notify.mute import QuietHours
from costguard.notify.outbox import HealthState
from costguard.notify.pipeline import drain
from costguard.notify.route import delivered_at
from costguard.testing.channel_contract import PlatformAnswer
from costguard.testing.cloud import Fault
from tests.unit.notify.rig import Rig, rig

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


@pytest.fixture
def r(tmp_path: Path) -> Iterator[Rig]:
    with rig(tmp_path) as made:
        yield made


def test_a_warning_arrives_and_says_when(r: Rig) -> None:
    (notice,) = r.queue(to=("owner",), owner="zhangwei")
    tick = r.worker("ops").run_once()
    assert (tick.sent, tick.next_at) == (1, None)
    (delivered,) = r.dingtalk.delivered()
    assert delivered.notification == "30 分钟后关机 box-001 ¥34.74/h"
    assert delivered.mentions == ("13800000000",)
    row = r.row(notice)
    assert (row.state, row.reason, row.sent_at) == (NoticeState.SENT, SendReason.FIRST, r.clock.now())
    assert delivered_at(r.rows(action_id="act-1")) == r.clock.now()


def test_nothing_is_sent_twice(r: Rig) -> None:
    r.queue()
    r.queue()
    r.run(r.worker("ops"), MINUTE)
    assert len(r.dingtalk.messages) == 1


def test_what_is_told_after_the_end_takes_nothing_from_the_result(r: Rig) -> None:
    """Both wait, for a robot that was busy: the result first, and nothing of it is lost."""
    (result,) = r.queue(kind=NoticeKind.RESULT)
    r.clock.advance(MINUTE)
    (unseen,) = r.queue(kind=NoticeKind.UNSEEN_WORK)
    r.run(r.worker("ops"), MINUTE)
    sent = [r.row(notice) for notice in (result, unseen)]
    assert [row.state for row in sent] == [NoticeState.SENT, NoticeState.SENT]
    first, second = (row.sent_at for row in sent)
    assert first is not None
    assert second is not None
    assert first < second


def test_the_robots_lock_is_never_reached(r: Rig) -> None:
    """J06: a minute's budget at once, and again: paced below the robot's limit, the urgent ones first."""
    r.settings(digest_above=1000)
    for number in range(13):
        r.queue(number, NoticeKind.RESULT)
    for number in range(13, 18):
        r.queue(number)
    r.run(r.worker("ops"), MINUTE)
    for number in range(18, 36):
        r.queue(number, NoticeKind.RESULT)
    r.run(r.worker("ops"), MINUTE)
    assert len(r.dingtalk.messages) == 36
    assert not [a for a in r.attempts if a.outcome != "sent"]
    times = [m.at for m in r.dingtalk.messages]
    assert all(b - a >= timedelta(seconds=3.3) for a, b in pairwise(times))
    assert all("后关机" in m.content["title"] for m in r.dingtalk.messages[:5])


def test_sixty_boxes_in_one_tick_are_all_named_in_a_few_posts(r: Rig) -> None:
    """J06, J12: at most 18 posts a minute, every box named, every warning delivered."""
    rows = [r.queue(number, to=("owner", "ops"), owner="zhangwei")[0] for number in range(60)]
    r.run(r.worker("ops"), MINUTE)
    assert len(r.dingtalk.messages) <= 18
    text = "\n".join(m.text for m in r.dingtalk.messages)
    for number in range(60):
        assert f"i-{number:03d}" in text
    assert {r.row(row).state for row in rows} == {NoticeState.SENT}
    assert all(delivered_at(r.rows(action_id=f"act-{n}")) for n in range(60))


def test_the_pace_survives_a_restart(r: Rig) -> None:
    r.queue(1)
    r.queue(2)
    r.worker("ops").run_once()
    tick = r.worker("ops", "w2").run_once()
    assert tick.sent == 0
    assert tick.next_at == r.clock.now() + MINUTE / 18
    assert len(r.dingtalk.messages) == 1


def test_a_lost_answer_is_repeated_under_the_same_key(r: Rig) -> None:
    """J16, J04: the robot has it once."""
    r.queue()
    r.dingtalk.fail(Fault.LOST_ANSWER, times=1)
    r.run(r.worker("ops"), MINUTE)
    assert [a.outcome for a in r.attempts] == ["maybe_delivered", "sent"]
    assert len(r.dingtalk.messages) == 1


def test_without_a_key_a_doubtful_message_is_repeated_once_and_marked(r: Rig) -> None:
    (notice,) = r.queue(to=("team",))
    r.slack.fail(Fault.LOST_ANSWER, times=1)
    worker = r.worker("team")
    worker.run_once()
    due = r.row(notice).next_at
    assert due is not None
    assert due - r.clock.now() >= timedelta(seconds=30)
    r.run(worker, MINUTE)
    assert [d.notification for d in r.slack.delivered()] == [
        "Stopping in 30 min: box-001 · ¥34.74/h",
        "Stopping in 30 min: box-001 · ¥34.74/h (repeat)",
    ]


def test_doubtful_twice_is_dead_and_goes_to_nobody_a_third_time(r: Rig) -> None:
    (notice,) = r.queue(to=("team",))
    r.slack.fail(Fault.LOST_ANSWER)
    r.run(r.worker("team"), 3 * MINUTE)
    assert r.row(notice).state is NoticeState.DEAD
    assert len(r.slack.delivered()) == 2


def test_a_server_error_is_retried_with_growing_waits(r: Rig) -> None:
    """J02, J19, M13: HTTP 500 for two minutes; the warning arrives afterwards, once."""
    (notice,) = r.queue(to=("team",))
    r.slack.fail(Fault.SERVER_ERROR, times=4)
    worker = r.worker("team")
    waits = []
    for _ in range(4):
        worker.run_once()
        row = r.row(notice)
        assert row.state is NoticeState.PENDING
        assert delivered_at([row]) is None
        assert row.next_at is not None
        waits.append(round((row.next_at - r.clock.now()).total_seconds()))
        assert r.outbox.health("team").state is HealthState.FAILING
        r.clock.advance(row.next_at - r.clock.now())
    assert waits == [2, 10, 60, 300]
    worker.run_once()
    assert r.row(notice).state is NoticeState.SENT
    assert r.outbox.health("team").state is HealthState.OK
    assert len(r.slack.delivered()) == 1


def test_retry_after_is_kept_and_pauses_the_whole_channel(r: Rig) -> None:
    """J04: Slack's 429 stops every message of the channel until then, also after a restart."""
    r.queue(1, to=("team",))
    r.queue(2, to=("team",))
    r.slack.answer(PlatformAnswer(429, "", frozenset({"rate"}), {"Retry-After": "40"}))
    r.worker("team").run_once()
    tick = r.worker("team", "w2").run_once()
    assert tick.next_at == r.clock.now() + timedelta(seconds=40)
    assert r.slack.request_count() == 1
    assert r.outbox.health("team").state is HealthState.PAUSED
    r.run(r.worker("team", "w2"), MINUTE)
    assert len(r.slack.delivered()) == 2


def test_the_ten_minute_lock_is_waited_out(r: Rig) -> None:
    r.queue()
    r.dingtalk.fail(Fault.THROTTLED, times=1)
    worker = r.worker("ops")
    worker.run_once()
    r.run(worker, 9 * MINUTE)
    assert r.dingtalk.request_count() == 1
    r.run(worker, 2 * MINUTE)
    assert len(r.dingtalk.messages) == 1


def test_a_broken_channel_hands_over_and_says_so_elsewhere(r: Rig) -> None:
    """M13, J09: the robot's secret is wrong; the fallback gets the warning, which then counts as delivered."""
    (notice,) = r.queue(to=("owner",), owner="zhangwei")
    r.dingtalk.secret = "SECother"
    r.worker("ops").run_once()
    health = r.outbox.health("ops")
    assert (health.state, health.reason) == (HealthState.BROKEN, "auth")
    assert "clock" in (health.hint or "")
    assert delivered_at(r.rows(action_id="act-1")) is None
    (later,) = r.queue(2, to=("owner",), owner="zhangwei")
    r.worker("ops").run_once()
    r.run(r.worker("team"), MINUTE)
    told = [d.notification for d in r.slack.delivered()]
    assert "Stopping in 30 min: box-001 · ¥34.74/h" in told
    assert "Stopping in 30 min: box-002 · ¥34.74/h" in told
    assert any("Channel ops does not deliver" in text for text in told)
    assert r.slack.delivered()[0].mentions == ("@U012ZHANG",)
    assert delivered_at(r.rows(action_id="act-1")) is not None
    for row in (notice, later):
        assert (r.row(row).state, r.row(row).reason) == (NoticeState.SUPPRESSED, SendReason.FALLBACK)


def test_a_channel_that_works_again_says_so_where_it_was_missed(r: Rig) -> None:
    r.queue()
    secret, r.dingtalk.secret = r.dingtalk.secret, "SECother"
    r.worker("ops").run_once()
    r.run(r.worker("team"), MINUTE)
    r.dingtalk.secret = secret
    r.clock.advance(10 * MINUTE)
    r.queue(2)
    r.run(r.worker("ops"), MINUTE)
    assert len(r.dingtalk.messages) == 1
    assert r.outbox.health("ops").state is HealthState.OK
    r.run(r.worker("team"), MINUTE)
    assert r.slack.delivered()[-1].notification == "Channel ops works again"


def test_a_warning_that_fails_three_times_goes_to_the_fallback(r: Rig) -> None:
    """J20, M13."""
    (notice,) = r.queue(to=("owner",), owner="zhangwei")
    r.dingtalk.fail(Fault.SERVER_ERROR)
    r.run(r.worker("ops"), 2 * MINUTE)
    assert delivered_at(r.rows(action_id="act-1")) is None
    r.run(r.worker("team"), 10 * SECOND)
    assert len(r.slack.delivered()) == 1
    assert r.row(notice).state is NoticeState.SUPPRESSED
    assert delivered_at(r.rows(action_id="act-1")) is not None


def test_a_result_that_fails_does_not_spill_over(r: Rig) -> None:
    r.queue(kind=NoticeKind.RESULT)
    r.dingtalk.fail(Fault.SERVER_ERROR)
    r.run(r.worker("ops"), 2 * MINUTE)
    assert r.rows(channel="team") == ()


def test_a_refused_message_is_sent_once_as_plain_text(r: Rig) -> None:
    (notice,) = r.queue()
    r.dingtalk.answer(PlatformAnswer(200, '{"errcode": 430102, "errmsg": "text"}', frozenset({"payload"})))
    r.worker("ops").run_once()
    (message,) = r.dingtalk.messages
    assert message.msgtype == "text"
    assert "30 分钟后关机 box-001" in message.text
    assert r.row(notice).state is NoticeState.SENT


def test_refused_as_plain_text_too_is_dead(r: Rig) -> None:
    (notice,) = r.queue(kind=NoticeKind.RESULT)
    for _ in range(2):
        r.dingtalk.answer(PlatformAnswer(200, '{"errcode": 430102, "errmsg": "text"}', frozenset({"payload"})))
    r.worker("ops").run_once()
    assert r.row(notice).state is NoticeState.DEAD
    assert "430102" in (r.row(notice).last_error or "")


def test_a_warning_past_its_time_is_not_sent(r: Rig) -> None:
    (notice,) = r.queue(not_after=r.clock.now() + 10 * MINUTE)
    r.clock.advance(11 * MINUTE)
    r.worker("ops").run_once()
    assert (r.row(notice).state, r.row(notice).reason) == (NoticeState.SUPERSEDED, SendReason.EXPIRED)
    assert r.dingtalk.request_count() == 0


def test_a_newer_message_of_the_story_replaces_an_unsent_older_one(r: Rig) -> None:
    """Nobody reads "stopped" before "will be stopped"."""
    (warning,) = r.queue()
    r.dingtalk.fail(Fault.SERVER_ERROR, times=1)
    worker = r.worker("ops")
    worker.run_once()
    r.clock.advance(SECOND)
    (result,) = r.queue(kind=NoticeKind.RESULT)
    r.run(worker, MINUTE)
    assert (r.row(warning).state, r.row(warning).reason) == (NoticeState.SUPERSEDED, SendReason.NEWER)
    assert r.row(result).state is NoticeState.SENT
    assert len(r.dingtalk.messages) == 1


def test_an_undelivered_message_dies_after_three_days_and_is_listed(r: Rig) -> None:
    (notice,) = r.queue(kind=NoticeKind.RESULT)
    r.clock.advance(timedelta(hours=73))
    r.worker("ops").run_once()
    assert r.row(notice).state is NoticeState.DEAD
    assert r.dingtalk.request_count() == 0


def test_the_same_finding_is_not_told_again_before_its_time(r: Rig) -> None:
    """J01, J18: other numbers are no news; after the repeat interval it is a reminder."""
    worker = r.worker("ops")
    r.queue(kind=NoticeKind.NOTIFY, key="first")
    r.run(worker, MINUTE)
    (again,) = r.queue(kind=NoticeKind.NOTIFY, key="second")
    r.run(worker, MINUTE)
    assert (r.row(again).state, r.row(again).reason) == (NoticeState.SUPPRESSED, SendReason.DUPLICATE)
    r.clock.advance(timedelta(hours=4))
    (later,) = r.queue(kind=NoticeKind.NOTIFY, key="third")
    r.run(worker, MINUTE)
    assert (r.row(later).state, r.row(later).reason) == (NoticeState.SENT, SendReason.REPEAT)
    assert len(r.dingtalk.messages) == 2


def test_idle_boxes_of_one_tick_are_one_message(r: Rig) -> None:
    """J06."""
    for number in range(12):
        r.queue(number, NoticeKind.NOTIFY)
    r.run(r.worker("ops"), 40 * SECOND)
    (message,) = r.dingtalk.messages
    assert message.content["title"] == "12 台空闲，合计 ¥416.88/h"


def test_quiet_hours_hold_budgets_and_mentions_but_no_warning(r: Rig) -> None:
    night = TimeRange("daily", clock_time(20), clock_time(8), ZoneInfo("Asia/Shanghai"))
    r.delivery = replace(r.delivery, quiet=QuietHours(night))
    (warning,) = r.queue(1, to=("owner",), owner="zhangwei")
    (held,) = r.queue(2, NoticeKind.BUDGET, key="budget")
    r.run(r.worker("ops"), 2 * MINUTE)
    assert r.row(warning).state is NoticeState.SENT
    assert r.dingtalk.delivered()[0].mentions == ()
    row = r.row(held)
    assert (row.state, row.reason) == (NoticeState.PENDING, SendReason.QUIET_HOURS)
    assert row.next_at is not None
    assert row.next_at.astimezone(ZoneInfo("Asia/Shanghai")).hour == 8


def test_a_digest_that_was_lost_gives_its_boxes_back(r: Rig) -> None:
    """The digest is refused for good: its boxes are told one by one later, not forgotten."""
    rows = [r.queue(number, NoticeKind.RESULT)[0] for number in range(10)]
    for _ in range(2):
        r.dingtalk.answer(PlatformAnswer(200, '{"errcode": 40035, "errmsg": ""}', frozenset({"payload"})))
    worker = r.worker("ops")
    worker.run_once()
    assert [n.state for n in r.rows() if n.facts.get("what") == "group"] == [NoticeState.DEAD]
    r.settings(digest_above=100)
    r.clock.advance(timedelta(hours=1))
    r.run(worker, 2 * MINUTE)
    assert {r.row(row).state for row in rows} == {NoticeState.SENT}


def test_a_box_in_a_waiting_digest_is_not_told_apart_from_it(r: Rig) -> None:
    rows = [r.queue(number, NoticeKind.RESULT)[0] for number in range(10)]
    r.dingtalk.fail(Fault.SERVER_ERROR)
    worker = r.worker("ops")
    r.run(worker, 61 * MINUTE)
    assert {(r.row(row).state, r.row(row).reason) for row in rows} == {(NoticeState.PENDING, SendReason.DIGESTED)}
    r.dingtalk.heal()
    r.run(worker, 35 * MINUTE)
    assert len(r.dingtalk.messages) == 1
    assert {r.row(row).state for row in rows} == {NoticeState.SENT}


def test_drain_delivers_what_is_due_within_its_limit(r: Rig) -> None:
    for number in range(5):
        r.queue(number)
        r.queue(number, to=("team",), key=f"{number}/team")
    assert drain([r.worker("ops"), r.worker("team")], r.clock, 30 * SECOND) == 10
    assert len(r.dingtalk.messages) == 5
    assert len(r.slack.delivered()) == 5


def test_drain_gives_up_at_its_limit(r: Rig) -> None:
    r.queue(to=("team",))
    r.slack.fail(Fault.SERVER_ERROR)
    begun = r.clock.now()
    assert drain([r.worker("team")], r.clock, 30 * SECOND) == 0
    assert r.clock.now() - begun <= 30 * SECOND


class Killed(BaseException):
    """The process dies here."""


def test_more_alerts_than_the_minutes_budget_are_a_few_digests(r: Rig) -> None:
    """J06: 25 warnings in a tick."""
    r.settings(digest_above=1000)
    for number in range(25):
        r.queue(number)
    r.run(r.worker("ops"), MINUTE)
    (message,) = r.dingtalk.messages
    assert message.content["title"] == "25 台将关机，合计 ¥868.50/h，最早北京时间 21:30"


@pytest.mark.parametrize(("digest_above", "deaths_due"), [(1000, 30), (8, 5)])
def test_killed_workers_lose_nothing_and_double_nothing_where_a_key_exists(
    r: Rig, digest_above: int, deaths_due: int
) -> None:
    """J03, J16: two workers over 200 messages, killed before or after a send, leases running out."""
    r.settings(lease=timedelta(seconds=30), digest_above=digest_above)
    for number in range(200):
        r.queue(number, NoticeKind.RESULT)
    deaths = 0
    for round_number in range(3000):
        worker = r.worker("ops", f"w{round_number % 2}")
        worker.channel.max_per_minute = 15 if digest_above == 8 else 600
        send = worker.channel.send

        def dying(message: object, send: object = send, n: int = round_number) -> object:
            if n % 3 == 0:
                raise Killed
            receipt = send(message)  # type: ignore[operator]
            if n % 3 == 1:
                raise Killed
            return receipt

        if deaths < deaths_due:
            worker.channel.send = dying  # type: ignore[method-assign,assignment]
        try:
            quiet = worker.run_once().next_at is None
        except Killed:
            deaths += 1
            quiet = False
        r.clock.advance(4 * SECOND)
        if quiet and all(n.state is NoticeState.SENT for n in r.rows()):
            break
    assert deaths >= deaths_due
    text = "\n".join(m.text for m in r.dingtalk.messages)
    assert [number for number in range(200) if text.count(f"`i-{number:03d}`") != 1] == []
