"""Trend: level and weekday of the past, what runs on exactly, and what of a day is left."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.resource import ChargeType, Kind, Resource, State
from costguard.domain.time import local_midnight
from costguard.rules.spending import Period, spending
from costguard.rules.trend import Outlook, Trend, fit, outlook, until
from costguard.testing.builders import cny, make_resource, make_snapshot, make_spend

UTC_ZONE = ZoneInfo("UTC")
NOW = datetime(2026, 6, 21, 12, 0, tzinfo=UTC)
TODAY, DAY = NOW.date(), timedelta(days=1)
END = datetime(2026, 7, 1, tzinfo=UTC)
FLAT = (Fraction(1),) * 7


def history(days: int, nanos: int) -> dict[date, int]:
    return {TODAY - n * DAY: nanos for n in range(1, days + 1)}


def test_three_whole_days_are_needed() -> None:
    assert fit({}, TODAY) is None
    assert fit(history(2, 5), TODAY) is None
    assert fit({**history(2, 5), TODAY: 99}, TODAY) is None, "today is not over"
    assert fit(history(3, 5), TODAY) == Trend(Fraction(5), FLAT)


def test_the_level_is_that_of_the_last_seven_days() -> None:
    assert fit({**history(13, 100), **history(7, 10)}, TODAY) == Trend(Fraction(10), FLAT)


def test_a_missing_day_is_zero_once_there_was_one() -> None:
    past = history(4, 8)
    del past[TODAY - 2 * DAY]
    assert fit(past, TODAY) == Trend(Fraction(6), FLAT)


def test_quiet_weekends_are_learnt_from_two_weeks_on() -> None:
    past = {day: 0 if day.weekday() >= 5 else 70 for day in history(28, 0)}
    trend = fit(past, TODAY)
    assert trend is not None
    assert [trend.on(TODAY + n * DAY) for n in range(7)] == [0, 70, 70, 70, 70, 70, 0], "from a Sunday on"


@given(st.integers(0, 10**15), st.integers(3, 40))
def test_a_steady_past_goes_on(nanos: int, days: int) -> None:
    trend = fit(history(days, nanos), TODAY)
    assert trend is not None
    assert until(trend, datetime(2026, 6, 21, tzinfo=UTC), END, UTC_ZONE) == 10 * nanos


def test_a_day_that_is_partly_left_counts_by_its_hours() -> None:
    trend = Trend(Fraction(24_000), FLAT)
    assert until(trend, NOW, NOW + timedelta(hours=12), UTC_ZONE) == 12_000
    assert until(trend, NOW, NOW, UTC_ZONE) == 0
    new_york = ZoneInfo("America/New_York")
    short = local_midnight(date(2026, 3, 8), new_york)
    assert until(trend, short, short + timedelta(hours=23), new_york) == 24_000, "a day of 23 hours is a whole day"


def look(*resources: Resource, spent: dict[int, str] | None = None, ref: object = None) -> Outlook | None:
    """The outlook of June with rows on the days of June given."""
    rows = [
        make_spend(cny(amount), datetime(2026, 6, day, tzinfo=UTC), ref=ref) for day, amount in (spent or {}).items()
    ]
    snapshot = make_snapshot(*resources, now=NOW, timezone="UTC")
    known = spending(rows, snapshot, UTC_ZONE, "CNY")
    return outlook(known, rows, resources, snapshot, UTC_ZONE, Period.of("month", NOW, UTC_ZONE))


def box(**fields: object) -> Resource:
    return make_resource(**{"price": cny("10"), "started_at": NOW - 2 * DAY, "observed_at": NOW, **fields})  # type: ignore[arg-type]


def test_what_runs_on_is_counted_exactly_to_its_planned_stop() -> None:
    hours = 9 * 24 + 12
    assert look(box()) == Outlook(cny("0"), cny(str(10 * hours)), cny("0"))
    planned = box(auto_release_at=NOW + timedelta(hours=5), started_at=NOW - timedelta(hours=1))
    assert look(planned) == Outlook(cny("0"), cny("50"), cny("0"))
    prepaid = box(charge_type=ChargeType.PREPAID, expires_at=NOW + timedelta(hours=2))
    assert look(prepaid) == Outlook(cny("0"), cny("20"), cny("0"))
    disk = make_resource("d-1", kind=Kind.DISK, price=cny("1"), started_at=None, cards=0)
    assert look(disk) == Outlook(cny("0"), cny(str(hours)), cny("0"))


def test_what_is_stopped_unpriced_or_just_started_is_not() -> None:
    assert look(box(state=State.STOPPED)) is None
    assert look(box(price=None)) is None
    assert look(box(started_at=NOW - timedelta(hours=23))) is None
    assert look() is None, "nothing runs and nothing is known"


def test_the_rest_follows_its_own_past_without_what_runs_on() -> None:
    steady = box()
    spent = dict.fromkeys(range(14, 21), "240")
    found = look(steady, spent=spent, ref=steady.ref)
    assert found == Outlook(cny("1680"), cny("2280"), cny("0")), "its own past is not counted again"
    rest = look(spent=spent)
    assert rest == Outlook(cny("1680"), cny("0"), cny("2280"))
    assert rest is not None
    assert rest.total == cny("3960")


def test_a_team_that_is_as_busy_as_ever_has_the_level_of_four_weeks() -> None:
    """A week's noise is not a change; a real change is one at once."""
    noisy = {TODAY - n * DAY: 100 + (n * 37) % 23 for n in range(1, 29)}
    steady = fit(noisy, TODAY)
    assert steady is not None
    week = sum((steady.on(TODAY + n * DAY) for n in range(7)), Fraction())
    assert abs(week - sum(noisy.values()) / 4) < 2
    doubled = fit({day: amount * (2 if day >= TODAY - 7 * DAY else 1) for day, amount in noisy.items()}, TODAY)
    assert doubled is not None
    assert sum((doubled.on(TODAY + n * DAY) for n in range(7)), Fraction()) > 1.7 * week


def series(*values: int) -> dict[date, int]:
    """The days before today, the last one last."""
    return {TODAY - n * DAY: value for n, value in enumerate(reversed(values), 1)}


def test_growth_goes_on_ever_flatter() -> None:
    """A line that is no chance: 28 days of +10 a day end at 280; the next days add 9.5, 9.025, …"""
    past = {day: value * 10 for day, value in series(*range(1, 29)).items()}
    trend = fit(past, TODAY)
    assert trend is not None
    assert trend.slope > 0
    plain = Trend(Fraction(280), FLAT, Fraction(10), TODAY - DAY)
    assert [float(plain.on(TODAY + n * DAY)) for n in range(3)] == [289.5, 298.525, 307.09875]
    assert 469 < plain.on(TODAY + 199 * DAY) < 280 + 190


def test_what_shrinks_never_falls_below_nothing() -> None:
    trend = Trend(Fraction(30), FLAT, Fraction(-10), TODAY - DAY)
    assert [float(trend.on(TODAY + n * DAY)) for n in (0, 1, 2, 3, 9)] == [20.5, 11.475, 2.90125, 0, 0]
    past = series(*range(2_000, 600, -50))
    found = fit(past, TODAY)
    assert found is not None
    assert found.slope < 0


def test_a_step_and_noise_are_no_growth() -> None:
    """A box that came and stays is a level; what wavers is one, too."""
    for values in (
        [100] * 21 + [300] * 7, [100] * 14 + [300] * 14, [100 + (n * 37) % 41 for n in range(28)],
        [10] * 9 + [900] * 4 + [10] * 11 + [900] * 4, [0] * 27 + [500], [100] * 28,
    ):  # fmt: skip
        found = fit(series(*values), TODAY)
        assert found is not None
        assert not found.slope, values


def test_a_line_needs_three_weeks() -> None:
    short, enough = fit(series(*range(100, 300, 10)), TODAY), fit(series(*range(100, 310, 10)), TODAY)
    assert short is not None
    assert enough is not None
    assert (bool(short.slope), bool(enough.slope)) == (False, True)


@given(st.lists(st.integers(0, 10**13), min_size=3, max_size=28))
def test_no_past_gives_a_negative_or_endless_future(values: list[int]) -> None:
    found = fit(series(*values), TODAY)
    assert found is not None
    ahead = [found.on(TODAY + n * DAY) for n in range(31)]
    assert min(ahead) >= 0
    assert max(ahead) <= 7 * 30 * max(max(values), 1)
