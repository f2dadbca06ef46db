"""The Prices and SpotPrices roles: DescribePrice and the spot market's history. Zero and missing are unknown.

The list price is that of the instance type alone: system disk and bandwidth are told apart and left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from costguard.domain.money import Money
from costguard.domain.price import Price, PriceKey
from costguard.domain.resource import ChargeType
from costguard.errors import NotFound
from costguard_aliyun.client import PAGE_CAP, Api, bad
from costguard_aliyun.fields import read_price, read_time, write_time

SPOT_HISTORY = timedelta(days=30)
_ROW = timedelta(hours=1)  # the history has one row per hour


class PricesRole:
    """Prices per hour in the site's currency."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def prices(self, keys: Sequence[PriceKey]) -> Sequence[Price]:
        """On-demand list prices as of now; a type that the region does not sell is left out."""
        found: list[Price] = []
        for key in dict.fromkeys(k for k in keys if k.charge_type is ChargeType.ON_DEMAND):
            try:
                answer = self._api.read(
                    "ecs", "DescribePrice", key.region, ResourceType="instance", InstanceType=key.sku,
                    PriceUnit="Hour", Period=1, Amount=1,
                )  # fmt: skip
            except NotFound:
                continue
            call = self._api.call_of("ecs", key.region, "DescribePrice")
            money = _compute(self._api.required(answer, "PriceInfo.Price", call), self._api.currency)
            if money is not None:
                found.append(Price(key, money, self._api.clock.now(), "list"))
        return found

    def spot_prices(self, keys: Sequence[PriceKey], since: datetime) -> Sequence[Price]:
        """Change points per zone since `since`, oldest first, with the one that held at `since`.

        A key without a zone gets those of every zone. Alibaba Cloud tells 30 days.
        """
        now = self._api.clock.now()
        start = max(since, now - SPOT_HISTORY + 2 * _ROW)
        found: list[Price] = []
        wanted = {(k.region, k.sku): k for k in keys if k.charge_type is ChargeType.SPOT}
        for region, sku in sorted(wanted):
            zones = {k.zone for k in keys if (k.region, k.sku, k.charge_type) == (region, sku, ChargeType.SPOT)}
            by_zone: dict[str, dict[datetime, Money]] = {}
            for zone, at, money in self._history(region, sku, start - _ROW, now):
                if None in zones or zone in zones:
                    by_zone.setdefault(zone, {})[at] = money
            for zone, points in sorted(by_zone.items()):
                key = PriceKey("aliyun", region, sku, ChargeType.SPOT, zone)
                found += [Price(key, money, at, "spot") for at, money in _changes(points, start)]
        return found

    def _history(self, region: str, sku: str, start: datetime, end: datetime) -> Iterator[tuple[str, datetime, Money]]:
        api = self._api
        call = api.call_of("ecs", region, "DescribeSpotPriceHistory")
        offset = 0
        for _ in range(PAGE_CAP):
            try:
                answer = api.read(
                    "ecs", "DescribeSpotPriceHistory", region, InstanceType=sku, NetworkType="vpc", OSType="linux",
                    StartTime=write_time(start), EndTime=write_time(end), Offset=offset,
                )  # fmt: skip
            except NotFound:  # the region does not sell it
                return
            rows = api.items(answer, "SpotPrices.SpotPriceType", call)
            currency = str(answer.get("Currency") or api.currency)
            for row in rows:
                money, at = read_price(row.get("SpotPrice"), currency), read_time(row.get("Timestamp"))
                if money is not None and at is not None and row.get("ZoneId"):
                    yield str(row["ZoneId"]), at, money
            following = int(answer.get("NextOffset") or 0)
            if not rows or following <= offset:  # what the last page says is not documented
                return
            offset = following
        raise bad(call, "NextOffset", f"more than {PAGE_CAP} pages")


def _compute(price: Mapping[str, Any], currency: str) -> Money | None:
    """OriginalPrice of the instance type alone; without details there is no telling what the sum holds."""
    details = (price.get("DetailInfos") or {}).get("DetailInfo") or ()
    for detail in details:
        if detail.get("Resource") == "instanceType":
            return read_price(detail.get("OriginalPrice"), str(price.get("Currency") or currency))
    return None


def _changes(points: Mapping[datetime, Money], since: datetime) -> Iterator[tuple[datetime, Money]]:
    """Where the price changes, from the point that held at `since` on."""
    times = sorted(points)
    before = [at for at in times if at <= since]
    last: Money | None = None
    for at in [*before[-1:], *(at for at in times if at > since)]:
        if points[at] != last:
            yield at, points[at]
            last = points[at]
