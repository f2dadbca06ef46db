import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.budget import Interval
from costguard.domain.money import Money, total
from costguard.domain.resource import ChargeType, Ends, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.time import local_midnight, midnight_after
from costguard.engine.meter import spend, unpriced
from costguard.rules.burn import billed_per_hour

REF = ResourceRef("aliyun", "prod", "cn-beijing", Kind.VM, "i-1")
ZONES = [ZoneInfo(z) for z in ("Asia/Shanghai", "America/New_York", "Europe/London", "Pacific/Kiritimati")]
START = datetime(2024, 1, 1, tzinfo=UTC)
END = datetime(2033, 1, 1, tzinfo=UTC)


def interval(low: datetime, high: datetime | None, per_hour: str | None = "34.74") -> Interval:
    price = None if per_hour is None else Money.of(per_hour, "CNY")
    return Interval(REF, State.RUNNING, ChargeType.ON_DEMAND, low, high, price)


moments = st.integers(0, int((END - START).total_seconds()) - 1).map(lambda s: START + timedelta(seconds=s))


@given(moments, st.integers(1, 86_400 * 40), st.sampled_from(ZONES), st.data())
def test_a_cut_anywhere_moves_at_most_a_nano_per_piece(
    low: datetime, seconds: int, zone: ZoneInfo, data: st.DataObject
) -> None:
    high = low + timedelta(seconds=seconds)
    cut = low + timedelta(seconds=data.draw(st.integers(0, seconds)))
    whole = list(spend([interval(low, high)], START, END, zone))
    parts = list(spend([interval(cut, high), interval(low, cut)], START, END, zone))
    expected = Money.of("34.74", "CNY").per_hour_for(min(high, END) - low)
    assert abs(sum(s.money.nanos for s in whole) - expected.nanos) <= len(whole)
    assert abs(sum(s.money.nanos for s in parts) - expected.nanos) <= len(parts)


@given(moments, st.sampled_from(ZONES))
def test_rows_never_cross_a_local_midnight(low: datetime, zone: ZoneInfo) -> None:
    rows = list(spend([interval(low, low + timedelta(days=3))], START, END, zone))
    assert rows[0].start == low
    for row, following in itertools.pairwise(rows):
        assert row.end == following.start == midnight_after(row.start, zone)


def test_a_day_of_a_clock_change_has_23_hours() -> None:
    """D04"""
    zone = ZoneInfo("America/New_York")
    day = datetime(2026, 3, 8, tzinfo=UTC).date()
    low, high = local_midnight(day, zone), midnight_after(local_midnight(day, zone), zone)
    (row,) = spend([interval(low, high, "1")], low, high, zone)
    assert row.money == Money.of(23, "CNY")


def test_an_open_interval_accrues_to_the_end_asked_for() -> None:
    rows = spend([interval(START, None, "2")], START, START + timedelta(hours=3), ZONES[0])
    assert total(r.money for r in rows) == (Money.of(6, "CNY"),)


def test_no_price_is_no_money_and_is_counted() -> None:
    unknown = interval(START, None, None)
    assert list(spend([unknown], START, END, ZONES[0])) == []
    assert unpriced([unknown, unknown, interval(START, None)], START, END) == 1


@pytest.mark.parametrize(
    ("state", "charge_type", "ends", "expected"),
    [
        (State.RUNNING, ChargeType.ON_DEMAND, Ends.YES, "8"),
        (State.STOPPING, ChargeType.ON_DEMAND, Ends.YES, "8"),
        (State.STOPPED, ChargeType.ON_DEMAND, Ends.YES, "0"),
        (State.STOPPED, ChargeType.ON_DEMAND, Ends.NO, "8"),
        (State.STOPPED, ChargeType.ON_DEMAND, Ends.PARTLY, None),
        (State.STOPPED, ChargeType.ON_DEMAND, None, None),
        (State.STOPPED, ChargeType.PREPAID, Ends.YES, "8"),
        (State.GONE, ChargeType.ON_DEMAND, Ends.NO, "0"),
    ],
)
def test_what_a_state_bills(state: State, charge_type: ChargeType, ends: Ends | None, expected: str | None) -> None:
    """C06 C07"""
    resource = Resource(
        REF,
        "train",
        state,
        state.value,
        START,
        charge_type,
        price=Money.of(Decimal(8), "CNY"),
        stop_effect=StopEffect(ends) if ends else None,
    )
    assert billed_per_hour(resource) == (None if expected is None else Money.of(expected, "CNY"))
