"""List prices and the spot market, both per hour in the site's currency."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aliyun.rpc import Context, Refused, to_seconds
from tests.fakes.aliyun.types import TYPES

ROWS_PER_PAGE = 100
_GIB_HOUR = Decimal("0.0021")
_HOURS = {"Hour": 1, "Week": 7 * 24, "Month": 30 * 24, "Year": 365 * 24}


class Market:
    """``list_prices``: type → yuan an hour, of which one pays ``discount``; ``spot``: (zone, type) → change points."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.currency = "CNY"
        self.list_prices = {name: Decimal(kind.yuan) for name, kind in TYPES.items()}
        self.discount = Decimal(1)
        self.spot: dict[tuple[str, str], list[tuple[datetime, str]]] = {}

    def quote(self, zone: str, type: str, at: datetime, price: str) -> None:
        """From ``at`` on this type costs ``price`` in this zone."""
        points = self.spot.setdefault((zone, type), [])
        points.append((at, price))
        points.sort()

    def DescribePrice(
        self,
        call: Context,
        *,
        ResourceType: str = "instance",
        InstanceType: str = "",
        PriceUnit: str = "Hour",
        Period: int = 1,
        Amount: int = 1,
        SystemDisk: Mapping[str, str] | None = None,
        DataDisk: Sequence[Mapping[str, str]] = (),
        ImageId: str = "",
        InstanceNetworkType: str = "vpc",
        InternetChargeType: str = "",
        InternetMaxBandwidthOut: int = 0,
        SpotStrategy: str = "NoSpot",
        SpotDuration: int = 1,
        ZoneId: str = "",
    ) -> Mapping[str, Any]:
        """The total holds the system disk too; DetailInfos tells them apart."""
        if ResourceType not in ("instance", "disk") or PriceUnit not in _HOURS or not 1 <= Amount <= 1_000:
            raise Refused("InvalidParameter")
        if SpotStrategy != "NoSpot" and (PriceUnit, Period) != ("Hour", 1):
            raise Refused("InvalidParameter", message="Spot is priced for one hour.")
        parts = {}
        if ResourceType == "instance":
            parts["instanceType"] = self._instance(call.region, InstanceType, SpotStrategy, ZoneId)
            parts["systemDisk"] = _GIB_HOUR * int((SystemDisk or {}).get("Size", 40))
        if DataDisk:
            parts["dataDisk"] = sum((_GIB_HOUR * int(disk.get("Size", 0)) for disk in DataDisk), Decimal(0))
        times = _HOURS[PriceUnit] * Period * Amount
        details = [{"Resource": name, **self._figures(price * times)} for name, price in parts.items()]
        total = self._figures(sum(parts.values(), Decimal(0)) * times)
        price = {**total, "Currency": self.currency, "DetailInfos": {"DetailInfo": details}}
        return {"PriceInfo": {"Price": price, "Rules": {"Rule": []}}}

    def DescribeSpotPriceHistory(
        self,
        call: Context,
        *,
        InstanceType: str,
        NetworkType: str,
        ZoneId: str = "",
        StartTime: datetime | None = None,
        EndTime: datetime | None = None,
        SpotDuration: int = 1,
        OSType: str = "linux",
        IoOptimized: str = "optimized",
        Offset: int = 0,
    ) -> Mapping[str, Any]:
        """A row for each whole hour; the last three hours unless said otherwise."""
        end = min(EndTime or self._clock.now(), self._clock.now())
        start = StartTime or end - timedelta(hours=3)
        if NetworkType not in ("vpc", "classic") or start > end or end - start > timedelta(days=30):
            raise Refused("InvalidParameter")
        if InstanceType not in self.list_prices:
            raise Refused("InvalidInstanceType.ValueNotSupported")
        rows = [
            row
            for (zone, type), points in self.spot.items()
            if type == InstanceType and zone.startswith(f"{call.region}-") and ZoneId in ("", zone)
            for row in self._hours(zone, type, points, start, end)
        ]
        page = rows[Offset : Offset + ROWS_PER_PAGE]
        more = Offset + ROWS_PER_PAGE
        return {
            "Currency": self.currency,
            "SpotPrices": {"SpotPriceType": page},
            "NextOffset": more if more < len(rows) else 0,
        }

    def _instance(self, region: str, type: str, strategy: str, zone: str) -> Decimal:
        if not type:
            raise Refused("MissingParameter", message="InstanceType is mandatory for this resource type.")
        if type not in self.list_prices:
            raise Refused("InvalidInstanceType.ValueNotSupported")
        if strategy == "NoSpot":
            return self.list_prices[type]
        now = self._clock.now()
        prices = [
            Decimal(price)
            for (where, name), points in self.spot.items()
            if name == type and where.startswith(region) and zone in ("", where)
            for at, price in points[::-1][:1]
            if at <= now
        ]
        return min(prices, default=self.list_prices[type])

    def _figures(self, price: Decimal) -> dict[str, float]:
        paid = price * self.discount
        return {"OriginalPrice": float(price), "DiscountPrice": float(price - paid), "TradePrice": float(paid)}

    def _hours(
        self, zone: str, type: str, points: Sequence[tuple[datetime, str]], start: datetime, end: datetime
    ) -> list[dict[str, Any]]:
        hour = start.replace(minute=0, second=0, microsecond=0)
        hour += timedelta(hours=1) if hour < start else timedelta(0)
        rows = []
        while hour <= end:
            past = [price for at, price in points if at <= hour]
            if past:
                row = {
                    "ZoneId": zone, "InstanceType": type, "IoOptimized": "optimized", "NetworkType": "vpc",
                    "Timestamp": to_seconds(hour), "SpotPrice": float(past[-1]),
                    "OriginPrice": float(self.list_prices[type]),
                }  # fmt: skip
                rows.append(row)
            hour += timedelta(hours=1)
        return rows
