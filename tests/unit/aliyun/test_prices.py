"""List prices and the spot market."""

from datetime import timedelta
from decimal import Decimal

import pytest

from costguard.domain.money import Money
from costguard.domain.price import PriceKey
from costguard.domain.resource import ChargeType
from costguard.errors import PermissionDenied
from costguard.testing.clock import NOON
from costguard_aliyun.connection import AliyunConnection
from costguard_aliyun.prices import _compute
from tests.fakes.aliyun import prices as market
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import HOME

TYPE = "ecs.gn6i-c4g1.xlarge"
LISTED = PriceKey("aliyun", HOME, TYPE, ChargeType.ON_DEMAND)
SPOT = PriceKey("aliyun", HOME, TYPE, ChargeType.SPOT)
HOUR = timedelta(hours=1)


def test_the_list_price_is_that_of_the_type_alone(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """The sum holds a system disk; a discount is the account's own."""
    server.market.list_prices[TYPE] = Decimal("11.630001")
    server.market.discount = Decimal("0.7")
    (price,) = aliyun.prices([LISTED, LISTED])
    assert (price.key, price.per_hour, price.source) == (LISTED, Money.of("11.630001", "CNY"), "list")
    assert price.since == NOON


def test_the_currency_is_the_sites(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.market.currency = "USD"
    assert aliyun.prices([LISTED])[0].per_hour.currency == "USD"


def test_what_is_not_sold_has_no_price(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """H02."""
    server.market.list_prices["ecs.free.large"] = Decimal(0)
    keys = [PriceKey("aliyun", HOME, sku, ChargeType.ON_DEMAND) for sku in ("ecs.gone.large", "ecs.free.large")]
    assert aliyun.prices([*keys, SPOT]) == []


def test_a_denied_price_is_no_unknown_price(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.denied_actions.add("DescribePrice")
    with pytest.raises(PermissionDenied):
        aliyun.prices([LISTED])


def test_a_sum_without_details_is_unknown() -> None:
    assert _compute({"OriginalPrice": Decimal("5"), "Currency": "CNY"}, "CNY") is None


def test_the_spot_market_is_told_as_change_points_by_zone(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """H07: with the one that held at the beginning."""
    for zone, points in {"cn-beijing-h": ((30, "3.1"), (4, "4.2"), (1, "3.9")), "cn-beijing-i": ((9, "2.5"),)}.items():
        for hours, price in points:
            server.market.quote(zone, TYPE, NOON - hours * HOUR, price)
    found = aliyun.spot_prices([SPOT], NOON - timedelta(hours=6, minutes=30))
    assert [(p.key.zone, p.since, p.per_hour.plain()) for p in found] == [
        ("cn-beijing-h", NOON - 7 * HOUR, "3.1"),
        ("cn-beijing-h", NOON - 4 * HOUR, "4.2"),
        ("cn-beijing-h", NOON - 1 * HOUR, "3.9"),
        ("cn-beijing-i", NOON - 7 * HOUR, "2.5"),
    ]
    assert {p.source for p in found} == {"spot"}


def test_a_zone_may_be_asked_for(aliyun: AliyunConnection, server: AliyunServer) -> None:
    for zone in ("cn-beijing-h", "cn-beijing-i"):
        server.market.quote(zone, TYPE, NOON - 9 * HOUR, "3.1")
    key = PriceKey("aliyun", HOME, TYPE, ChargeType.SPOT, "cn-beijing-i")
    assert {p.key for p in aliyun.spot_prices([key], NOON - HOUR)} == {key}


def test_every_page_of_thirty_days_is_read(
    aliyun: AliyunConnection, server: AliyunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(market, "ROWS_PER_PAGE", 50)
    for hours in range(24 * 40):
        server.market.quote("cn-beijing-h", TYPE, NOON - hours * HOUR, f"{3 + hours % 2}.5")
    found = aliyun.spot_prices([SPOT], NOON - timedelta(days=90))
    assert len(found) == 30 * 24 - 1
    assert server.actions().count("DescribeSpotPriceHistory") == 15


def test_an_unknown_type_has_no_market(aliyun: AliyunConnection) -> None:
    assert aliyun.spot_prices([PriceKey("aliyun", HOME, "ecs.gone.large", ChargeType.SPOT), LISTED], NOON - HOUR) == []
