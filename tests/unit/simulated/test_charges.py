"""Charges: the bill adds up, comes late, is restated once, and becomes final."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.charge import Charge, ChargeCategory, Stage
from costguard.domain.money import Money
from costguard.testing.clock import FakeClock
from costguard_simulated.connection import SimulatedConnection
from costguard_simulated.metering import Meter, sum_up
from tests.unit.simulated.helpers import START, clock_at, machine, only, open_up, write

DAY = timedelta(days=1)
SHANGHAI = ZoneInfo("Asia/Shanghai")
NOVEMBER = datetime(2026, 11, 1, tzinfo=SHANGHAI).astimezone(UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=SHANGHAI).astimezone(UTC)


def bill(connection: SimulatedConnection) -> list[Charge]:
    return list(connection.charges(NOVEMBER, DECEMBER))


def a_fleet(tmp_path: Path, clock: FakeClock, **cloud: Any) -> SimulatedConnection:
    machines = [
        machine("plain", created="-9d"),
        machine("spot", charge="spot", created="-5d4h"),
        machine("monthly", charge="prepaid", created="-6d"),
        machine("many", count=12, created="-4d"),
    ]
    return open_up(write(tmp_path, *machines, cloud=cloud), clock)


def test_final_rows_are_the_metered_intervals_to_the_nano(tmp_path: Path) -> None:
    connection = a_fleet(tmp_path, clock_at(40 * DAY))
    meter, world = Meter(connection.world, "one"), connection.world
    rows = bill(connection)
    for name in ("plain", "spot", "many-7"):
        box = world.named(name)
        told = [r for r in rows if r.resource_id == box.id and r.sku_id]
        for row in told:
            intervals = meter.compute(box, row.charge_period_start, row.charge_period_end)
            assert row.list_cost == sum_up(intervals, "CNY")
        hours = sum((i.end - i.start for i in meter.compute(box, NOVEMBER, DECEMBER)), timedelta())
        assert float(sum(row.consumed_quantity or 0 for row in told)) == pytest.approx(
            hours / timedelta(hours=1), abs=1e-3
        )
    assert {row.stage for row in rows} == {Stage.FINAL}


def test_days_are_the_billing_zones(tmp_path: Path) -> None:
    """I07."""
    for row in bill(a_fleet(tmp_path, clock_at(40 * DAY))):
        begin, end = (at.astimezone(SHANGHAI) for at in (row.charge_period_start, row.charge_period_end))
        assert (begin.hour, end.hour, end - begin) == (0, 0, DAY)
        assert (row.billing_period_start, row.billing_period_end) == (NOVEMBER, DECEMBER)
        assert row.charge_period_start.utcoffset() == timedelta()


def test_the_rows_of_a_day_appear_after_the_delay(tmp_path: Path) -> None:
    """I19, I21."""
    clock = FakeClock(datetime(2026, 11, 12, 7, 59, tzinfo=SHANGHAI))
    connection = a_fleet(tmp_path, clock, billing={"delay": "8h"})
    yesterday = datetime(2026, 11, 11, tzinfo=SHANGHAI)
    assert max(row.charge_period_start for row in bill(connection)) < yesterday
    clock.advance(timedelta(minutes=1))
    assert max(row.charge_period_start for row in bill(connection)) == yesterday


def test_some_rows_are_short_at_first_and_then_exact(tmp_path: Path) -> None:
    clock = FakeClock(datetime(2026, 11, 12, 12, tzinfo=SHANGHAI))
    connection = a_fleet(tmp_path, clock)
    first = {row.row_key: row for row in bill(connection)}
    clock.advance(3 * DAY)
    later = {row.row_key: row for row in bill(connection)}
    restated = [key for key, row in first.items() if later[key].list_cost != row.list_cost]
    assert 0 < len(restated) < len(first) / 4
    for key in restated:
        assert first[key].list_cost < later[key].list_cost
        assert later[key].list_cost.nanos - first[key].list_cost.nanos < later[key].list_cost.nanos * 0.03
    assert {row.stage for row in later.values()} == {Stage.PROVISIONAL}


def test_the_month_is_final_from_the_third_at_noon(tmp_path: Path) -> None:
    clock = FakeClock(datetime(2026, 12, 3, 11, 59, tzinfo=SHANGHAI))
    connection = a_fleet(tmp_path, clock)
    assert {row.stage for row in bill(connection)} == {Stage.PROVISIONAL}
    clock.advance(timedelta(minutes=1))
    assert {row.stage for row in bill(connection)} == {Stage.FINAL}


def test_payable_is_list_less_discount_and_paid_in_full(tmp_path: Path) -> None:
    """A voucher is a means of payment: the cost does not fall because of it."""
    rows = bill(a_fleet(tmp_path, clock_at(40 * DAY), billing={"discount": "0.10", "voucher": "0.15"}))
    usage = [row for row in rows if row.charge_category is ChargeCategory.USAGE and row.billed_cost]
    assert usage
    for row in usage:
        assert row.billed_cost.nanos == pytest.approx(row.list_cost.nanos * 0.9, abs=1)
        assert sum(part.nanos for part in row.payments.values()) == row.billed_cost.nanos
        assert row.payments["voucher"].nanos == pytest.approx(row.billed_cost.nanos * 0.15, abs=1)


def test_a_prepaid_month_is_bought_once_and_used_up_exactly(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("m", charge="prepaid", created="-6d")), clock_at(60 * DAY))
    rows = [
        row
        for row in connection.charges(NOVEMBER, DECEMBER + 30 * DAY)
        if row.resource_id == connection.world.named("m").id
    ]
    purchases = [row for row in rows if row.charge_category is ChargeCategory.PURCHASE]
    assert [(row.billed_cost, row.effective_cost) for row in purchases] == [
        (Money.of("3000", "CNY"), Money.zero("CNY"))
    ]
    used = [row for row in rows if row.charge_category is ChargeCategory.USAGE and row.pricing_category == "Committed"]
    assert sum(row.effective_cost.nanos for row in used) == 3000 * 10**9
    assert {row.billed_cost for row in used} == {Money.zero("CNY")}


def test_other_lines_and_refunds_are_in_the_bill(tmp_path: Path) -> None:
    """I12: a credit is negative and keeps its category."""
    lines = [
        {"day": "-2d", "service": "OSS", "cost": "38.42"},
        {"day": "-1d", "service": "ECS", "cost": "-12.00", "category": "Credit"},
    ]
    rows = bill(open_up(write(tmp_path, cloud={"bill_lines": lines}), clock_at(DAY)))
    assert [(row.service_name, row.billed_cost, row.charge_category) for row in rows] == [
        ("OSS", Money.of("38.42", "CNY"), ChargeCategory.USAGE),
        ("ECS", Money.of("-12", "CNY"), ChargeCategory.CREDIT),
    ]


def test_keys_are_unique_and_stay(tmp_path: Path) -> None:
    """I06."""
    clock = clock_at()
    connection = a_fleet(tmp_path, clock)
    first = [row.row_key for row in bill(connection)]
    assert len(set(first)) == len(first)
    clock.advance(5 * DAY)
    assert set(first) < {row.row_key for row in bill(connection)}


def test_an_inverted_range_is_an_error(tmp_path: Path) -> None:
    """I23."""
    with pytest.raises(ValueError, match="ends before"):
        list(a_fleet(tmp_path, clock_at()).charges(DECEMBER, NOVEMBER))


def test_the_balance_falls_by_what_is_spent(tmp_path: Path) -> None:
    clock = clock_at()
    connection = open_up(
        write(tmp_path, machine("a", disk_gib=0), cloud={"balance": {"available": "100", "frozen": "5"}}), clock
    )
    assert connection.balance().available == Money.of("100", "CNY")
    clock.advance(timedelta(hours=2))
    assert connection.balance().available == Money.of("84.068", "CNY")
    assert connection.balance().frozen == Money.of("5", "CNY")


def test_nothing_is_billed_before_birth_or_after_release(tmp_path: Path) -> None:
    clock = clock_at()
    connection = open_up(write(tmp_path, machine("a", created="-2d")), clock, allow_release=True)
    connection.release(only(connection).ref, "t")
    clock.advance(40 * DAY)
    days = [row.charge_period_start.astimezone(SHANGHAI).day for row in bill(connection)]
    assert sorted(set(days)) == [10, 11, 12]
    assert len(days) == 6  # its compute and its disk


def test_a_budget_counts_the_months_bill_and_goes_on_at_its_pace(tmp_path: Path) -> None:
    connection = a_fleet(tmp_path, clock_at(DAY), budgets=[{"name": "gpus", "limit": "9000"}])
    (budget,) = connection.budgets()
    rows = bill(connection)
    told = sum((row.billed_cost for row in rows), Money.zero("CNY"))
    assert (budget.account, budget.name, budget.period) == (rows[0].account, "gpus", "month")
    assert (budget.limit, budget.actual) == (Money.of("9000", "CNY"), told)
    days = max(row.charge_period_end for row in rows) - NOVEMBER
    assert budget.forecast is not None
    assert budget.forecast.amount / told.amount == pytest.approx(Decimal(30 * DAY / days))


def test_a_budget_before_the_first_bill_has_no_forecast(tmp_path: Path) -> None:
    """The month begins with nothing told, which is not a forecast of nothing."""
    early = clock_at(NOVEMBER + timedelta(hours=30 * 24 + 1) - START)
    (budget,) = a_fleet(tmp_path, early, budgets=[{"name": "gpus", "limit": "9000"}]).budgets()
    assert (budget.actual, budget.forecast) == (Money.zero("CNY"), None)


def test_a_cloud_without_budgets_tells_none(tmp_path: Path) -> None:
    assert a_fleet(tmp_path, clock_at(DAY)).budgets() == []
