"""The forecast: bounds from the method's own errors, and skill against the run rate."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.budget import Spend
from costguard.domain.resource import Resource
from costguard.domain.time import local_midnight
from costguard.engine.forecast import GROWING, METHOD, Forecast, forecast
from costguard.testing.builders import cny, make_resource, make_snapshot, make_spend

ZONE = ZoneInfo("Asia/Shanghai")
TODAY = date(2026, 6, 15)
NOW = local_midnight(TODAY, ZONE)
DAY = timedelta(days=1)


def history(*amounts: int) -> list[Spend]:
    """The days before today, the last one last."""
    first = TODAY - len(amounts) * DAY
    return [
        make_spend(
            cny(str(amount)),
            start=local_midnight(first + n * DAY, ZONE),
            end=local_midnight(first + (n + 1) * DAY, ZONE),
        )
        for n, amount in enumerate(amounts)
    ]


def look(*amounts: int, boxes: tuple[Resource, ...] = (), now: datetime = NOW) -> Forecast | None:
    snapshot = make_snapshot(*boxes, now=now, timezone="Asia/Shanghai")
    return forecast(history(*amounts), boxes, snapshot)


def test_steady_days_go_on_within_themselves() -> None:
    found = look(*[100] * 70)
    assert found is not None
    assert found.amount == found.low == found.high == found.run_rate == cny("3000")
    assert found.spent == cny("1400")
    assert found.skill is None, "neither method errs, so neither is better"


def test_what_runs_on_is_known_exactly() -> None:
    box = make_resource(price=cny("10"), started_at=NOW - 3 * DAY, observed_at=NOW)
    found = look(boxes=(box,))
    assert found is not None
    assert found.amount == cny(str(16 * 240)), "sixteen days are left in June"
    assert found.low is None
    assert found.run_rate == cny("0")


def test_nothing_known_is_no_forecast() -> None:
    assert look() is None
    assert look(1, 2) is None


def test_a_growing_fleet_is_where_the_level_beats_the_run_rate() -> None:
    found = look(*range(10, 710, 10))
    assert found is not None
    assert found.run_rate is not None
    assert found.run_rate < found.amount
    assert found.skill is not None
    assert 0.2 < found.skill < 1
    assert found.low is not None
    assert found.high is not None
    assert found.amount == found.low < found.high, "it has always come out dearer than the method said"


def test_bounds_hold_what_the_errors_were() -> None:
    noisy = [100 + (n * 37) % 41 for n in range(70)]
    found = look(*noisy)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.amount <= found.high
    assert found.high.nanos < 1.2 * found.amount.nanos


@pytest.mark.parametrize("days", [3, 16])
def test_bounds_need_ten_past_forecasts(days: int) -> None:
    found = look(*[100] * days)
    assert found is not None
    assert (found.low is None) == (days < 20)


def test_early_in_a_period_there_is_no_run_rate() -> None:
    first = local_midnight(date(2026, 7, 1), ZONE) + timedelta(hours=3)
    snapshot = make_snapshot(now=first, timezone="Asia/Shanghai")
    rows = [make_spend(cny("100"), start=local_midnight(date(2026, 6, day), ZONE), end=NOW) for day in range(1, 31)]
    found = forecast(rows, (), snapshot)
    assert found is not None
    assert found.run_rate is None
    assert found.spent == cny("0")
    assert found.amount == cny("3087.5"), "30 whole days and 21 of 24 hours"


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=70))
def test_it_is_never_less_than_what_was_spent(amounts: list[int]) -> None:
    found = look(*amounts)
    assert found is not None
    assert found.spent <= found.amount
    if found.low is not None and found.high is not None:
        assert found.spent <= found.low <= found.amount <= found.high


def test_the_method_says_whether_a_trend_went_on() -> None:
    growing, level = look(*range(10, 710, 10)), look(*[100 + (n * 37) % 41 for n in range(70)])
    assert growing is not None
    assert level is not None
    assert growing.method == GROWING
    assert level.method == METHOD


def test_quiet_weeks_before_a_burst_do_not_stretch_the_bounds_to_nonsense() -> None:
    """Errors are shares of four usual weeks where the method had expected next to nothing."""
    bursty = [1000 if n % 23 < 4 else 10 for n in range(70)]
    found = look(*bursty)
    assert found is not None
    assert found.high is not None
    month = sum(bursty[-30:])
    assert found.amount.nanos < found.high.nanos < 5 * cny(str(month)).nanos
