"""Metering: intervals at prices, months of a term, and exact sums."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.money import Money
from costguard_simulated.metering import Interval, Meter, add_months, sum_up
from tests.unit.simulated.helpers import START, clock_at, machine, only, open_up, write

HOUR = timedelta(hours=1)
SHANGHAI = ZoneInfo("Asia/Shanghai")


def test_billing_ends_when_the_machine_is_down(tmp_path: Path) -> None:
    """I20."""
    connection = open_up(write(tmp_path, machine("a")), clock_at())
    connection.stop(only(connection).ref, "t")
    machine_a = connection.world.named("a")
    down = connection.world.timeline(machine_a).phases[-1].start
    (interval,) = Meter(connection.world, "one").compute(machine_a, START - HOUR, START + 5 * HOUR)
    assert (interval.start, interval.end) == (START - HOUR, down)
    assert interval.per_hour == Money.of("7.966", "CNY")


def test_a_stop_that_saves_nothing_is_billed_on(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a", sku="local")), clock_at())
    connection.stop(only(connection).ref, "t")
    (interval,) = Meter(connection.world, "one").compute(connection.world.named("a"), START, START + 5 * HOUR)
    assert interval.end - interval.start == 5 * HOUR


def test_spot_time_is_priced_piece_by_piece(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a", charge="spot")), clock_at())
    meter, box = Meter(connection.world, "one"), connection.world.named("a")
    pieces = meter.compute(box, START, START + 12 * HOUR)
    assert len(pieces) > 2
    assert sum((p.end - p.start for p in pieces), timedelta()) == 12 * HOUR
    assert all(p.per_hour == meter.market.price("t4", "r1", "r1-a", p.start) for p in pieces)


def test_times_at_one_price_are_added_before_they_are_priced() -> None:
    """Three times a third of the smallest unit is one unit, not none."""
    nano = Money(1, "CNY")
    thirds = [Interval(START + n * 20 * HOUR / 60, START + (n + 1) * 20 * HOUR / 60, nano) for n in range(3)]
    assert sum_up(thirds, "CNY") == nano
    assert sum_up([], "CNY") == Money.zero("CNY")


@pytest.mark.parametrize(
    ("start", "months", "wanted"),
    [
        (datetime(2026, 1, 31, 1, tzinfo=UTC), 1, datetime(2026, 2, 28, 1, tzinfo=UTC)),
        (datetime(2026, 1, 31, 17, tzinfo=UTC), 1, datetime(2026, 2, 28, 17, tzinfo=UTC)),  # local: 1 February
        (datetime(2026, 11, 30, 1, tzinfo=UTC), 3, datetime(2027, 2, 28, 1, tzinfo=UTC)),
    ],
)
def test_months_are_calendar_months_of_the_billing_zone(start: datetime, months: int, wanted: datetime) -> None:
    assert add_months(start, months, SHANGHAI) == wanted
