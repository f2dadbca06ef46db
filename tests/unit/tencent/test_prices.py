"""List prices and the spot market of now."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from costguard.domain.money import Money
from costguard.domain.price import PriceKey
from costguard.domain.resource import ChargeType
from costguard.errors import Unavailable
from costguard.testing.cloud import Fault
from costguard_tencent.connection import TencentConnection
from costguard_tencent.prices import read_item
from tests.fakes.tencent.server import TencentServer
from tests.unit.tencent.helpers import CPU, EIGHT, HOME, connect


def key(sku: str, charge: ChargeType = ChargeType.ON_DEMAND, zone: str | None = None, region: str = HOME) -> PriceKey:
    return PriceKey("tencent", region, sku, charge, zone)


def test_list_prices_of_one_region_are_one_call(server: TencentServer, tencent: TencentConnection) -> None:
    """H02, G11: 0 is no price, and a type nobody sells is left out."""
    server.catalog.free.add("GN7.2XLARGE32")
    found = tencent.prices([key(EIGHT), key(CPU), key("GN7.2XLARGE32"), key("zz9"), key(EIGHT, ChargeType.SPOT)])
    assert {price.key.sku: price.per_hour.plain() for price in found} == {EIGHT: "120.56", CPU: "0.68"}
    assert {(price.source, price.since, price.per_hour.currency) for price in found} == {
        ("list", server.clock.now(), "CNY")
    }
    assert server.actions() == ["DescribeZoneInstanceConfigInfos"]


def test_the_accounts_discount_is_no_list_price(server: TencentServer, tencent: TencentConnection) -> None:
    server.catalog.discount = Decimal("0.8")
    (price,) = tencent.prices([key(EIGHT)])
    assert price.per_hour.plain() == "120.56"


def test_the_market_of_each_zone(server: TencentServer, tencent: TencentConnection) -> None:
    """H07, H01."""
    now = server.clock.now()
    server.catalog.quote(f"{HOME}-3", EIGHT, now - timedelta(hours=2), "24.1234")
    server.catalog.quote(f"{HOME}-6", EIGHT, now - timedelta(hours=2), "0")
    found = tencent.spot_prices([key(EIGHT, ChargeType.SPOT), key(CPU, ChargeType.SPOT), key(EIGHT)], now)
    assert [(p.key.zone, p.per_hour.plain(), p.since, p.source) for p in found] == [
        (f"{HOME}-3", "24.1234", now, "spot")
    ]
    server.catalog.quote(f"{HOME}-6", EIGHT, now, "20")
    zones = [key(EIGHT, ChargeType.SPOT, f"{HOME}-6"), key(EIGHT, ChargeType.SPOT)]
    assert {p.key.zone for p in tencent.spot_prices(zones[:1], now)} == {f"{HOME}-6"}
    assert len(tencent.spot_prices(zones, now)) == 2


def test_more_types_than_one_call_takes(server: TencentServer, tencent: TencentConnection) -> None:
    """G10."""
    tencent.prices([key(f"S{n}.LARGE") for n in range(250)])
    values = [call.params["Filters"][1]["Values"] for call in server.calls]
    assert [len(some) for some in values] == [100, 100, 50]


def test_an_international_account_pays_in_dollars(server: TencentServer) -> None:
    (price,) = connect(server, currency="USD").prices([key(CPU)])
    assert price.per_hour.currency == "USD"


def test_a_failure_is_not_an_empty_price_list(server: TencentServer, tencent: TencentConnection) -> None:
    server.fail(Fault.SERVER_ERROR)
    with pytest.raises(Unavailable):
        tencent.prices([key(EIGHT)])


@pytest.mark.parametrize(
    ("price", "charge", "told"),
    [
        ({"UnitPrice": Decimal("8.68"), "UnitPriceDiscount": Decimal("7.9")}, ChargeType.ON_DEMAND, "8.68"),
        ({"UnitPriceDiscount": Decimal("7.9")}, ChargeType.ON_DEMAND, "7.9"),
        ({"UnitPrice": Decimal("8.68"), "UnitPriceDiscount": Decimal("1.7")}, ChargeType.SPOT, "1.7"),
        ({"UnitPrice": Decimal("8.68"), "UnitPriceDiscount": 0}, ChargeType.SPOT, None),
        ({"UnitPrice": Decimal("8.68"), "ChargeUnit": "GB"}, ChargeType.ON_DEMAND, None),
        ({"UnitPrice": None}, ChargeType.ON_DEMAND, None),
        (None, ChargeType.ON_DEMAND, None),
    ],
)
def test_which_figure_counts(price: dict[str, Any] | None, charge: ChargeType, told: str | None) -> None:
    mode = "SPOTPAID" if charge is ChargeType.SPOT else "POSTPAID_BY_HOUR"
    found = read_item({"InstanceChargeType": mode, "Price": price}, charge, "CNY")
    assert found == (Money.of(told, "CNY") if told else None)
    assert read_item({"InstanceChargeType": "PREPAID", "Price": price}, charge, "CNY") is None
