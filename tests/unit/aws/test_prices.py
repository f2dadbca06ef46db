"""List prices and the spot market against the strict account."""

from datetime import UTC, datetime, timedelta

import pytest

from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.errors import BadResponse
from costguard.testing.clock import NOON
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import HOME, connect

HOUR = timedelta(hours=1)


def key(sku: str, charge: ChargeType = ChargeType.SPOT, zone: str | None = None, region: str = HOME) -> PriceKey:
    return PriceKey("aws", region, sku, charge, zone)


def point(server: AwsServer, sku: str, zone: str, hours: float, price: str) -> None:
    server.ec2.spot_prices.append(
        {
            "InstanceType": sku,
            "AvailabilityZone": zone,
            "SpotPrice": price,
            "ProductDescription": "Linux/UNIX",
            "Timestamp": NOON - hours * HOUR,
        }
    )


def test_the_price_before_the_window_is_told(aws: AwsConnection, server: AwsServer) -> None:
    for hours, price in ((50, "1.0"), (30, "1.1"), (5, "1.2"), (1, "1.3")):
        point(server, "p3.8xlarge", "us-east-1a", hours, price)
    found = aws.spot_prices([key("p3.8xlarge")], NOON - 6 * HOUR)
    a = key("p3.8xlarge", zone="us-east-1a")
    assert [(p.key, p.per_hour, NOON - p.since) for p in found] == [
        (a, Money.of("1.1", "USD"), 30 * HOUR),
        (a, Money.of("1.2", "USD"), 5 * HOUR),
        (a, Money.of("1.3", "USD"), HOUR),
    ]


def test_zones_are_apart_and_may_be_chosen(aws: AwsConnection, server: AwsServer) -> None:
    """H07."""
    for zone in ("us-east-1a", "us-east-1b"):
        for hours in (9, 1):
            point(server, "p3.8xlarge", zone, hours, "1.0")
    both = aws.spot_prices([key("p3.8xlarge")], NOON - 6 * HOUR)
    assert {p.key.zone for p in both} == {"us-east-1a", "us-east-1b"}
    one = aws.spot_prices([key("p3.8xlarge", zone="us-east-1b")], NOON - 6 * HOUR)
    assert {p.key.zone for p in one} == {"us-east-1b"}


@pytest.mark.parametrize("price", ["0", "0.000000", "", "nan"])
def test_a_price_of_zero_is_no_price(aws: AwsConnection, server: AwsServer, price: str) -> None:
    """H01."""
    point(server, "p3.8xlarge", "us-east-1a", 1, price)
    assert aws.spot_prices([key("p3.8xlarge")], NOON - 6 * HOUR) == []


def test_all_types_of_a_region_are_asked_in_one_go(aws: AwsConnection, server: AwsServer) -> None:
    keys = [key(sku) for sku in ("p3.8xlarge", "c6i.xlarge")] + [key("c6i.xlarge", region="us-west-2")]
    aws.spot_prices([*keys, key("c6i.xlarge", ChargeType.ON_DEMAND)], NOON - 6 * HOUR)
    assert [(c.region, c.params["InstanceTypes"]) for c in server.calls] == [
        (HOME, ["c6i.xlarge", "p3.8xlarge"]),
        ("us-west-2", ["c6i.xlarge"]),
    ]


def test_spot_history_goes_back_ninety_days(aws: AwsConnection, server: AwsServer) -> None:
    aws.spot_prices([key("p3.8xlarge")], NOON - timedelta(days=400))
    assert server.calls[0].params["StartTime"] == NOON - timedelta(days=90)


def test_a_list_price_has_its_date(aws: AwsConnection, server: AwsServer) -> None:
    server.pricing.offers[HOME, "p3.8xlarge"] = [("12.2400000000", "2026-01-01T00:00:00Z")]
    wanted = key("p3.8xlarge", ChargeType.ON_DEMAND)
    assert aws.prices([wanted, wanted, key("c6i.xlarge", ChargeType.ON_DEMAND), key("p3.8xlarge")]) == [
        Price(wanted, Money.of("12.24", "USD"), datetime(2026, 1, 1, tzinfo=UTC), "list")
    ]
    assert server.operations() == ["GetProducts"] * 2


@pytest.mark.parametrize(
    ("offers", "expected"),
    [
        ([("0.0000000000", "2026-01-01T00:00:00Z")], []),
        ([("1.0", "2026-01-01T00:00:00Z"), ("2.0", "2026-01-01T00:00:00Z")], []),
        ([("1.0", "2026-01-01T00:00:00Z"), ("1.0", "2025-01-01T00:00:00Z")], ["1"]),
        ([], []),
    ],
)
def test_a_price_that_cannot_be_told_is_left_out(
    aws: AwsConnection, server: AwsServer, offers: list[tuple[str, str]], expected: list[str]
) -> None:
    """H02, G11."""
    server.pricing.offers[HOME, "p3.8xlarge"] = offers
    assert [p.per_hour.plain() for p in aws.prices([key("p3.8xlarge", ChargeType.ON_DEMAND)])] == expected


def test_prices_of_every_region_are_asked_where_the_list_is(server: AwsServer) -> None:
    """The SDK builds hosts for regions that have no price list."""
    aws = connect(server, regions=("eu-central-1",))
    aws.prices([key("p3.8xlarge", ChargeType.ON_DEMAND, region="eu-central-1")])
    (call,) = server.calls
    assert call.region == "us-east-1"
    assert {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "eu-central-1"} in call.params["Filters"]


def test_a_product_of_another_shape_is_a_bad_response(aws: AwsConnection, server: AwsServer) -> None:
    server.pricing.offers[HOME, "p3.8xlarge"] = [("1.0", "yesterday")]
    with pytest.raises(BadResponse):
        aws.prices([key("p3.8xlarge", ChargeType.ON_DEMAND)])
