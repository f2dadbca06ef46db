"""The Prices and SpotPrices roles: the public price list and the spot market. Zero and missing are unknown.

The list price is that of Linux on shared tenancy: an instance type alone does not say more.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.domain.time import utc
from costguard.errors import BadResponse
from costguard_aws.client import Api

SPOT_HISTORY = timedelta(days=90)
_TYPES_PER_CALL = 100

# GetProducts lives in few regions; elsewhere the SDK builds a host that does not exist.
_PRICING_HOME = {"aws": "us-east-1", "aws-cn": "cn-northwest-1"}
_LINUX = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


class PricesRole:
    """List prices by GetProducts (free), spot prices by DescribeSpotPriceHistory."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def prices(self, keys: Sequence[PriceKey]) -> Sequence[Price]:
        """On-demand list prices with the date from which each holds; a key without one price is left out."""
        found: list[Price] = []
        home = _PRICING_HOME.get(self._api.partition)
        if home is None:
            return found
        for key in dict.fromkeys(k for k in keys if k.charge_type is ChargeType.ON_DEMAND):
            wanted = {"instanceType": key.sku, "regionCode": key.region, **_LINUX}
            filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
            offers: set[tuple[Money, datetime]] = set()
            for page in self._api.pages(
                "pricing", home, "GetProducts", "PriceList", ServiceCode="AmazonEC2", Filters=filters, MaxResults=100
            ):
                for text in page:
                    offers.update(self._offers(text, home))
            if len({money for money, _ in offers}) == 1:  # two prices for one key: which one holds cannot be told
                money, since = min(offers, key=lambda offer: offer[1])
                found.append(Price(key, money, since, "list"))
        return found

    def spot_prices(self, keys: Sequence[PriceKey], since: datetime) -> Sequence[Price]:
        """Change points per zone since `since`, oldest first, with the one that held at `since`.

        A key without a zone gets those of every zone. AWS keeps 90 days.
        """
        now = self._api.clock.now()
        start = max(since, now - SPOT_HISTORY)
        wanted = {k for k in keys if k.charge_type is ChargeType.SPOT}
        found: dict[tuple[PriceKey, datetime], Price] = {}
        for region in sorted({k.region for k in wanted}):
            zones = {(k.sku, k.zone) for k in wanted if k.region == region}
            skus = sorted({sku for sku, _ in zones})
            for first in range(0, len(skus), _TYPES_PER_CALL):
                for price in self._history(region, skus[first : first + _TYPES_PER_CALL], start, now):
                    if (price.key.sku, price.key.zone) in zones or (price.key.sku, None) in zones:
                        found[price.key, price.since] = price
        return sorted(found.values(), key=lambda p: (p.key.region, p.key.sku, p.key.zone or "", p.since))

    def _history(self, region: str, skus: Sequence[str], start: datetime, now: datetime) -> Iterator[Price]:
        for page in self._api.pages(
            "ec2",
            region,
            "DescribeSpotPriceHistory",
            "SpotPriceHistory",
            InstanceTypes=list(skus),
            ProductDescriptions=["Linux/UNIX"],
            StartTime=start,
            EndTime=now,
            MaxResults=1_000,
        ):
            for item in page:
                money = _positive(item.get("SpotPrice"), self._api.currency)
                zone, at = item.get("AvailabilityZone"), item.get("Timestamp")
                if money is not None and zone and at is not None:
                    key = PriceKey("aws", region, item.get("InstanceType") or "", ChargeType.SPOT, zone)
                    yield Price(key, money, utc(at), "spot")

    def _offers(self, text: str, home: str) -> Iterator[tuple[Money, datetime]]:
        """(price per hour, since when) of one element of PriceList, which is a JSON document in a string."""
        try:
            product = json.loads(text)
            terms: Mapping[str, Any] = product["terms"].get("OnDemand", {})
            for term in terms.values():
                since = datetime.fromisoformat(term["effectiveDate"].replace("Z", "+00:00"))
                for dimension in term["priceDimensions"].values():
                    money = _positive(dimension["pricePerUnit"].get(self._api.currency), self._api.currency)
                    if money is not None and dimension["unit"] == "Hrs":
                        yield money, since.astimezone(UTC)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            call = self._api.call_of("pricing", home, "GetProducts")
            raise call.failed(BadResponse, "a product of an unknown shape", type(error).__name__) from error


def _positive(text: str | None, currency: str) -> Money | None:
    try:
        money = Money.of(text or "", currency)
    except ValueError:
        return None
    return money if money.nanos > 0 else None
