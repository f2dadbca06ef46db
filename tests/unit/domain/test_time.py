from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.time import (
    Calendar,
    TimeRange,
    format_duration,
    next_opening,
    parse_duration,
    utc,
)

SHANGHAI, LONDON, NEW_YORK = (ZoneInfo(z) for z in ("Asia/Shanghai", "Europe/London", "America/New_York"))
PLAIN = Calendar()


@pytest.mark.parametrize("bad", ["", "5", "1.5h", "h", "-5m", "5 min", "5M"])
def test_a_duration_needs_a_unit(bad: str) -> None:
    """A22"""
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(bad)


@pytest.mark.parametrize("bad", ["36501d", "99999999999999d", "9" * 30 + "h"])
def test_a_duration_that_no_date_can_bear_is_refused(bad: str) -> None:
    """C26: a tag says it, and the arithmetic of every other box must not end there."""
    with pytest.raises(ValueError, match="100 years"):
        parse_duration(bad)
    assert parse_duration("36500d") == timedelta(days=36_500)


@given(st.integers(0, 40), st.sampled_from("smhdw"))
def test_durations_round_trip(count: int, unit: str) -> None:
    """A22"""
    span = parse_duration(f"{count}{unit}")
    assert parse_duration(format_duration(span)) == span


def test_naive_times_are_refused_at_the_border() -> None:
    """A20"""
    with pytest.raises(ValueError, match="naive"):
        utc(datetime(2026, 1, 1))  # noqa: DTZ001 — the point of the test
    with pytest.raises(ValueError, match="outside of the calendar"):
        utc(datetime(1, 1, 1, tzinfo=SHANGHAI))
    assert utc(datetime(2026, 1, 1, 8, tzinfo=SHANGHAI)) == datetime(2026, 1, 1, tzinfo=UTC)


def over_midnight(zone: ZoneInfo, days: frozenset[int] | str = "daily") -> TimeRange:
    return TimeRange(days, clock(20), clock(7), zone)  # type: ignore[arg-type]


def test_over_midnight_belongs_to_the_day_it_began() -> None:
    """D09"""
    friday_night = over_midnight(SHANGHAI, frozenset({4}))
    saturday_3am = datetime(2026, 3, 7, 3, tzinfo=SHANGHAI)
    sunday_3am = saturday_3am + timedelta(days=1)
    assert friday_night.covers(saturday_3am, PLAIN)
    assert not friday_night.covers(sunday_3am, PLAIN)


def test_end_is_exclusive_and_start_inclusive() -> None:
    night = over_midnight(SHANGHAI)
    assert night.covers(datetime(2026, 3, 6, 20, tzinfo=SHANGHAI), PLAIN)
    assert not night.covers(datetime(2026, 3, 7, 7, tzinfo=SHANGHAI), PLAIN)


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 28), 10), (date(2026, 10, 24), 12), (date(2026, 7, 1), 11)])
def test_nights_of_both_dst_changes(day: date, hours: int) -> None:
    """D03"""
    start, end = over_midnight(LONDON).interval(day)
    assert end - start == timedelta(hours=hours)


def test_a_skipped_wall_clock_time_is_the_end_of_the_gap() -> None:
    """D03"""
    at_two_thirty = TimeRange("daily", clock(2, 30), clock(6), NEW_YORK)
    start, _ = at_two_thirty.interval(date(2026, 3, 8))
    assert start == datetime(2026, 3, 8, 7, tzinfo=UTC)  # 03:00 EDT


def test_weekday_is_the_local_one() -> None:
    """D01"""
    monday = TimeRange(frozenset({0}), None, None, SHANGHAI)
    assert monday.covers(datetime(2026, 3, 1, 17, tzinfo=UTC), PLAIN)  # Monday 01:00 in Shanghai


def test_holidays_and_make_up_days() -> None:
    """D13"""
    calendar = Calendar(off=frozenset({date(2026, 2, 17)}), work=frozenset({date(2026, 2, 14)}))
    rest = TimeRange("restdays", None, None, SHANGHAI)
    work = TimeRange("workdays", None, None, SHANGHAI)
    holiday = datetime(2026, 2, 17, 12, tzinfo=SHANGHAI)
    make_up_saturday = datetime(2026, 2, 14, 12, tzinfo=SHANGHAI)
    assert rest.covers(holiday, calendar)
    assert not work.covers(holiday, calendar)
    assert work.covers(make_up_saturday, calendar)
    assert not rest.covers(make_up_saturday, calendar)


@given(st.datetimes(datetime(2024, 1, 1), datetime(2032, 12, 31)), st.sampled_from([SHANGHAI, LONDON, NEW_YORK]))  # noqa: DTZ001
def test_opening_is_open_and_never_in_the_past(naive: datetime, zone: ZoneInfo) -> None:
    now = naive.replace(tzinfo=UTC)
    ranges = (TimeRange("workdays", clock(20), clock(7), zone), TimeRange("restdays", None, None, zone))
    opening = next_opening([(r, PLAIN) for r in ranges], now)
    assert opening is not None
    assert opening >= now
    assert any(r.covers(opening, PLAIN) for r in ranges)


@given(st.dates(date(2024, 1, 1), date(2032, 12, 31)), st.sampled_from([SHANGHAI, LONDON, NEW_YORK]))
def test_whole_days_tile_the_year(day: date, zone: ZoneInfo) -> None:
    whole = TimeRange("daily", None, None, zone)
    assert whole.interval(day)[1] == whole.interval(day + timedelta(days=1))[0]
