"""When reports are due, and what they are about: in zones with and without summer time, over years and short months."""

from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.engine.period import Rhythm

SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")
MONTHLY = Rhythm(clock_time(9), SHANGHAI)
MONDAYS = Rhythm(clock_time(9), SHANGHAI, weekday=0)


def at(text: str, zone: ZoneInfo = SHANGHAI) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


@pytest.mark.parametrize(
    ("rhythm", "now", "due", "name"),
    [
        (MONTHLY, "2026-03-01 08:59", "2026-02-01 09:00", "2026-01"),
        (MONTHLY, "2026-03-01 09:00", "2026-03-01 09:00", "2026-02"),
        (MONTHLY, "2026-01-01 00:30", "2025-12-01 09:00", "2025-11"),
        (Rhythm(clock_time(9), SHANGHAI, day=28), "2026-03-05 12:00", "2026-02-28 09:00", "2026-01"),
        (MONDAYS, "2026-03-09 08:59", "2026-03-02 09:00", "2026-02-23/2026-03-01"),
        (MONDAYS, "2026-03-09 09:00", "2026-03-09 09:00", "2026-03-02/2026-03-08"),
        (MONDAYS, "2026-03-15 23:00", "2026-03-09 09:00", "2026-03-02/2026-03-08"),
        (Rhythm(clock_time(9), SHANGHAI, weekday=6), "2026-01-03 10:00", "2025-12-28 09:00", "2025-12-21/2025-12-27"),
    ],
)
def test_the_last_edition_that_is_due(rhythm: Rhythm, now: str, due: str, name: str) -> None:
    found = rhythm.last_due(at(now))
    assert found == at(due)
    assert rhythm.period(found).name == name


def test_a_month_has_its_local_midnights_and_the_month_before() -> None:
    period = MONTHLY.period(at("2026-03-01 09:00"))
    assert (period.kind, period.start, period.end) == ("month", at("2026-02-01 00:00"), at("2026-03-01 00:00"))
    assert period.before == at("2026-01-01 00:00")


def test_a_week_with_a_change_of_the_clock_is_an_hour_short() -> None:
    """D: in New York the clock goes forward on 8 March 2026."""
    rhythm = Rhythm(clock_time(2, 30), NEW_YORK, weekday=0)
    period = rhythm.period(rhythm.last_due(at("2026-03-09 12:00", NEW_YORK)))
    assert (period.start, period.end) == (at("2026-03-02 00:00", NEW_YORK), at("2026-03-09 00:00", NEW_YORK))
    assert period.end - period.start == timedelta(days=7) - timedelta(hours=1)
    sunday = Rhythm(clock_time(2, 30), NEW_YORK, weekday=6)
    assert sunday.last_due(at("2026-03-08 12:00", NEW_YORK)) == at("2026-03-08 03:00", NEW_YORK), "02:30 is skipped"


@given(
    st.integers(0, 60 * 24 * 365 * 7).map(lambda minutes: at("2024-01-01 00:00") + timedelta(minutes=minutes)),
    st.integers(1, 28),
    st.none() | st.integers(0, 6),
    st.sampled_from([SHANGHAI, NEW_YORK, ZoneInfo("Pacific/Kiritimati")]),
)
def test_editions_follow_each_other_without_a_gap(now: datetime, day: int, weekday: int | None, zone: ZoneInfo) -> None:
    rhythm = Rhythm(clock_time(9), zone, day, weekday)
    due = rhythm.last_due(now)
    following = rhythm.next_due(due)
    assert due <= now < following
    assert rhythm.last_due(following) == following
    assert rhythm.last_due(following - timedelta(microseconds=1)) == due
    assert rhythm.period(following).start == rhythm.period(due).end
    assert rhythm.period(following).before == rhythm.period(due).start
    assert rhythm.period(due).end <= due
