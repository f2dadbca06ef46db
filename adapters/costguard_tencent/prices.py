"""The Prices and SpotPrices roles: what DescribeZoneInstanceConfigInfos says of a type. Zero and missing are unknown.

It is the price of CPU, memory and GPU alone, without disks and bandwidth. Of types that grow cheaper with the hours it
is that of the first 96. The spot market has no history here: the price of now is all there is.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.errors import ProviderError
from costguard_tencent.client import Api, divided
from costguard_tencent.errors import of_one_item
from costguard_tencent.fields import read_price

_ACTION = "DescribeZoneInstanceConfigInfos"
_TYPES_PER_CALL = 100
_MODES = {ChargeType.ON_DEMAND: "POSTPAID_BY_HOUR", ChargeType.SPOT: "SPOTPAID"}


class PricesRole:
    """Prices per hour in the site's currency."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def prices(self, keys: Sequence[PriceKey]) -> Sequence[Price]:
        """On-demand list prices as of now; where zones differ, the highest. What is not sold is left out."""
        found = []
        for key, by_zone in self._by_key(keys, ChargeType.ON_DEMAND):
            wanted = [money for zone, money in by_zone.items() if key.zone in (None, zone)]
            if wanted:
                found.append(Price(key, max(wanted, key=lambda money: money.nanos), self._api.clock.now(), "list"))
        return found

    def spot_prices(self, keys: Sequence[PriceKey], since: datetime) -> Sequence[Price]:
        """What the market asks now, per zone; a key without a zone gets those of every zone.

        `since` asks in vain: the change points are those that polls have seen.
        """
        now = self._api.clock.now()
        found: dict[PriceKey, Price] = {}
        for key, by_zone in self._by_key(keys, ChargeType.SPOT):
            for zone, money in sorted(by_zone.items()):
                if key.zone in (None, zone):
                    told = PriceKey("tencent", key.region, key.sku, ChargeType.SPOT, zone)
                    found[told] = Price(told, money, now, "spot")
        return list(found.values())

    def _by_key(
        self, keys: Sequence[PriceKey], charge_type: ChargeType
    ) -> Iterator[tuple[PriceKey, Mapping[str, Money]]]:
        """Each key of that charge type with the prices of its type by zone."""
        wanted = list(dict.fromkeys(key for key in keys if key.charge_type is charge_type))
        for region in sorted({key.region for key in wanted}):
            here = [key for key in wanted if key.region == region]
            prices = self._ask(region, sorted({key.sku for key in here}), charge_type)
            for key in here:
                yield key, prices.get(key.sku, {})

    def _ask(self, region: str, skus: Sequence[str], charge_type: ChargeType) -> Mapping[str, Mapping[str, Money]]:
        api, found = self._api, dict[str, dict[str, Money]]()

        def ask(some: Sequence[str]) -> None:
            filters = [
                {"Name": "instance-charge-type", "Values": [_MODES[charge_type]]},
                {"Name": "instance-type", "Values": list(some)},
            ]
            answer = api.read("cvm", _ACTION, region, Filters=filters)
            for item in api.items(answer, "InstanceTypeQuotaSet", api.call_of("cvm", region, _ACTION)):
                money = read_item(item, charge_type, api.currency)
                if money is not None:
                    found.setdefault(str(item.get("InstanceType")), {})[str(item.get("Zone"))] = money

        def fail(sku: str, error: ProviderError) -> None:
            if not of_one_item(error):
                raise error

        for first in range(0, len(skus), _TYPES_PER_CALL):
            divided(skus[first : first + _TYPES_PER_CALL], ask, fail)
        return found


def read_item(item: Mapping[str, Any], charge_type: ChargeType, currency: str) -> Money | None:
    """The price per hour of one element: the list price, or what the spot market really asks. None: not told."""
    if item.get("InstanceChargeType") != _MODES[charge_type]:
        return None
    price = item.get("Price") or {}
    if str(price.get("ChargeUnit") or "HOUR") != "HOUR":
        return None
    discounted = read_price(price.get("UnitPriceDiscount"), currency)
    if charge_type is ChargeType.SPOT:
        return discounted
    return read_price(price.get("UnitPrice"), currency) or discounted
