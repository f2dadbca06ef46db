"""Quiet hours: over midnight, in two zones, through a DST night; warnings are never held."""

from datetime import UTC, datetime
from datetime import time as clock_time
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.notice import NoticeKind
from costguard.domain.time import TimeRange
from costguard.notify.mute import QuietHours, held_until, may_mention
from costguard.testing.builders import make_notice


def quiet(zone: str, mention: bool = False) -> QuietHours:
    return QuietHours(TimeRange("daily", clock_time(23), clock_time(8), ZoneInfo(zone)), mention)


@pytest.mark.parametrize(
    ("zone", "now", "until"),
    [
        ("Asia/Shanghai", datetime(2026, 3, 5, 14, 59, tzinfo=UTC), None),
        ("Asia/Shanghai", datetime(2026, 3, 5, 15, 0, tzinfo=UTC), datetime(2026, 3, 6, 0, 0, tzinfo=UTC)),
        ("Asia/Shanghai", datetime(2026, 3, 5, 23, 59, tzinfo=UTC), datetime(2026, 3, 6, 0, 0, tzinfo=UTC)),
        ("Asia/Shanghai", datetime(2026, 3, 6, 0, 0, tzinfo=UTC), None),
        # The night in which New York's clocks go forward is an hour shorter.
        ("America/New_York", datetime(2026, 3, 8, 4, 30, tzinfo=UTC), datetime(2026, 3, 8, 12, 0, tzinfo=UTC)),
        ("America/New_York", datetime(2026, 3, 7, 4, 30, tzinfo=UTC), datetime(2026, 3, 7, 13, 0, tzinfo=UTC)),
    ],
)
def test_quiet_hours_over_midnight(zone: str, now: datetime, until: datetime | None) -> None:
    assert quiet(zone).until(now) == until
    assert held_until(make_notice(kind=NoticeKind.DIGEST), now, quiet(zone)) == until
    assert held_until(make_notice(kind=NoticeKind.BUDGET), now, quiet(zone)) == until
    assert may_mention(now, quiet(zone)) is (until is None)


@pytest.mark.parametrize("kind", [NoticeKind.WARN, NoticeKind.FAILED, NoticeKind.RESULT, NoticeKind.KEPT])
def test_a_warning_is_never_held(kind: NoticeKind) -> None:
    night = datetime(2026, 3, 5, 18, 0, tzinfo=UTC)
    assert held_until(make_notice(kind=kind), night, quiet("Asia/Shanghai")) is None


def test_mentions_can_be_allowed_at_night() -> None:
    assert may_mention(datetime(2026, 3, 5, 18, 0, tzinfo=UTC), quiet("Asia/Shanghai", mention=True))


def test_no_quiet_hours() -> None:
    now = datetime(2026, 3, 5, 18, 0, tzinfo=UTC)
    assert held_until(make_notice(kind=NoticeKind.DIGEST), now, None) is None
    assert may_mention(now, None)
