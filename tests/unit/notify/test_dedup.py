"""Dedup: named reasons, decided against what was really sent."""

from datetime import timedelta

import pytest

from costguard.domain.notice import Notice, NoticeKind, SendReason
from costguard.notify.dedup import dedup, facts_hash
from costguard.notify.outbox import Sent
from costguard.testing.builders import NOW, make_notice

HOUR = timedelta(hours=1)


def budget(dedup_text: str = "80%", **fields: object) -> Notice:
    return make_notice(kind=NoticeKind.BUDGET, facts={"dedup": dedup_text, **fields})


def record(notice: Notice, ago: timedelta) -> Sent:
    return Sent(notice.alert_key, notice.channel, notice.kind, facts_hash(notice), NOW - ago)


@pytest.mark.parametrize(
    ("last", "now", "expected"),
    [
        (None, budget(), (True, SendReason.FIRST)),
        (record(budget(), HOUR), budget(), (False, SendReason.DUPLICATE)),
        (record(budget(), 5 * HOUR), budget(), (True, SendReason.REPEAT)),
        (record(budget(), HOUR), budget("100%"), (True, SendReason.CHANGED)),
        (record(budget(), HOUR), budget("80% ok", recovered=True), (True, SendReason.RESOLVED)),
        (None, budget("80% ok", recovered=True), (False, SendReason.NOT_TOLD)),
    ],
)
def test_one_per_budget_threshold_and_period(last: Sent | None, now: Notice, expected: tuple[bool, SendReason]) -> None:
    """J01: a hundred cycles over 100 % are one message, a reminder after a while, and one all-clear."""
    assert dedup(now, last, NOW, repeat=4 * HOUR) == expected


def test_numbers_alone_are_no_news() -> None:
    """J18: the same failure with another count or percentage is the same fact."""
    first = make_notice(facts={"dedup": "rung 0", "evidence": {"gpu_util_max": 1.0}})
    later = make_notice(facts={"dedup": "rung 0", "evidence": {"gpu_util_max": 1.2}})
    assert facts_hash(first) == facts_hash(later)


def test_an_all_clear_goes_only_to_whom_something_was_told() -> None:
    cleared = make_notice(kind=NoticeKind.CLEARED, facts={"dedup": "cleared"})
    assert dedup(cleared, None, NOW, HOUR) == (False, SendReason.NOT_TOLD)
    assert dedup(cleared, record(make_notice(facts={"dedup": "rung 0"}), HOUR), NOW, HOUR) == (
        True,
        SendReason.RESOLVED,
    )


@pytest.mark.parametrize("kind", [NoticeKind.WARN, NoticeKind.FAILED, NoticeKind.RESULT, NoticeKind.TEST])
def test_an_event_is_never_held_back(kind: NoticeKind) -> None:
    """A ladder that starts again within the hour warns again, or its box would be stopped unwarned."""
    event = make_notice(kind=kind, facts={"dedup": "rung 0"})
    assert dedup(event, record(event, timedelta(minutes=10)), NOW, HOUR) == (True, SendReason.REPEAT)


def test_a_reminder_that_is_a_little_early_is_on_time() -> None:
    """It waited less in the queue than the one before."""
    assert dedup(budget(), record(budget(), HOUR - timedelta(seconds=30)), NOW, HOUR) == (True, SendReason.REPEAT)
