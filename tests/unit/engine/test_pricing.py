from datetime import UTC, datetime, timedelta

import pytest

from costguard.domain.budget import Interval
from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType, Kind, Resource, ResourceRef, State
from costguard.engine.pricing import Otherwise, PriceTable, otherwise, priced

NOW = datetime(2026, 7, 20, tzinfo=UTC)
REF = ResourceRef("aws", "prod", "us-east-1", Kind.VM, "i-1")


def box(
    charge_type: ChargeType = ChargeType.ON_DEMAND, sku: str | None = "p5.48xlarge", price: str | None = None
) -> Resource:
    money = None if price is None else Money.of(price, "USD")
    return Resource(REF, "b", State.RUNNING, "running", NOW, charge_type, sku=sku, price=money, price_source="list")


def entry(
    amount: str,
    since: datetime,
    source: str = "list",
    region: str = "us-east-1",
    charge: ChargeType = ChargeType.ON_DEMAND,
) -> Price:
    return Price(PriceKey("aws", region, "p5.48xlarge", charge), Money.of(amount, "USD"), since, source)


HISTORY = PriceTable(
    [entry("55.04", datetime(2025, 6, 1, tzinfo=UTC)), entry("98.32", datetime(2023, 7, 1, tzinfo=UTC))]
)


@pytest.mark.parametrize(("year", "amount"), [(2022, None), (2024, "98.32"), (2026, "55.04")])
def test_prices_are_effective_dated(year: int, amount: str | None) -> None:
    found = HISTORY.at(box(), datetime(year, 1, 1, tzinfo=UTC))
    assert (found and found.per_hour.plain()) == amount


def test_the_book_beats_the_list() -> None:
    book = PriceTable([entry("40", NOW, "book", region="*", charge=ChargeType.UNKNOWN)])
    result = priced(box(), (book, HISTORY), NOW)
    assert result.price == Money.of(40, "USD")
    assert result.price_source == "book"


def test_an_on_demand_price_is_not_a_spot_price() -> None:
    """H07"""
    assert HISTORY.at(box(ChargeType.SPOT), NOW) is None


def test_zero_is_no_price() -> None:
    """H01 H02"""
    assert priced(box(price="0"), (PriceTable([entry("0", NOW)]),), NOW).price is None


def test_an_unseen_type_has_no_price() -> None:
    """G11"""
    assert priced(box(sku="ecs.gn9x-c1g1.large"), (HISTORY,), NOW).price is None
    assert priced(box(sku=None, price="3"), (HISTORY,), NOW).price == Money.of(3, "USD")


HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def ran(
    since: datetime, until: datetime | None, per_hour: str = "55.04", charge: ChargeType = ChargeType.ON_DEMAND
) -> Interval:
    return Interval(REF, State.RUNNING, charge, since, until, Money.of(per_hour, "USD"))


def test_time_that_was_counted_before_the_book_had_its_price_is_told() -> None:
    """From its first day to the last look, and only where no bill has replaced the estimate."""
    book = PriceTable([entry("40", NOW - 5 * DAY, "book")])
    span = [ran(NOW - 9 * DAY, NOW - DAY), ran(NOW - DAY, None, "40")]

    def told(*intervals: Interval, billed: datetime | None = None) -> list[Otherwise]:
        reach = {} if billed is None else {"prod": billed}
        return list(otherwise(intervals, {REF: box()}, book, NOW - 8 * DAY, NOW, reach))

    assert told(*span) == [Otherwise(REF, Money.of("55.04", "USD").times(96), Money.of(40 * 96, "USD"))]
    assert told(*span, billed=NOW - 2 * DAY) == [
        Otherwise(REF, Money.of("55.04", "USD").times(24), Money.of(960, "USD"))
    ]
    assert told(*span, billed=NOW) == []
    assert told(ran(NOW - 9 * DAY, NOW - 5 * DAY + HOUR)) == [], "the poll that saw the new price came a little later"
    assert told(ran(NOW - 2 * DAY, None, charge=ChargeType.SPOT)) == []
