"""Types, stock and prices of CVM: yuan as floats, 0 where there is no price, the spot market only as it is now."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypedDict

from costguard.testing.clock import FakeClock
from tests.fakes.tencent.cvm import Fleet, zones
from tests.fakes.tencent.types import TYPES, Type, family, known, number
from tests.fakes.tencent.wire import Context, Filter, Refused, read_filters

CHARGES = ("POSTPAID_BY_HOUR", "PREPAID", "SPOTPAID")
_MONTH_HOURS = Decimal(430)  # what a month prepaid costs in hours


class Placement(TypedDict):
    Zone: str


class Catalog:
    """``list_prices``: type → yuan an hour, of which one pays ``discount``; ``spot``: (zone, type) → change points.

    ``free``: types that are told with a price of 0; ``sold_out``: (zone, type) without stock.
    """

    def __init__(self, clock: FakeClock, fleet: Fleet) -> None:
        self._clock, self._fleet = clock, fleet
        self.list_prices = {name: Decimal(kind.yuan) for name, kind in TYPES.items()}
        self.discount = Decimal(1)
        self.spot: dict[tuple[str, str], list[tuple[datetime, str]]] = {}
        self.free: set[str] = set()
        self.sold_out: set[tuple[str, str]] = set()

    def quote(self, zone: str, type: str, at: datetime, price: str) -> None:
        """From ``at`` on this type costs ``price`` in this zone's spot market."""
        points = self.spot.setdefault((zone, type), [])
        points.append((at, price))
        points.sort()

    def spot_price(self, zone: str, type: str) -> Decimal:
        """Now; 0 where the type has no market."""
        past = [price for at, price in self.spot.get((zone, type), ()) if at <= self._clock.now()]
        return Decimal(past[-1]) if past else Decimal(0)

    def DescribeInstanceTypeConfigs(self, call: Context, *, Filters: Sequence[Filter] = ()) -> Mapping[str, Any]:
        wanted = read_filters(Filters, ("zone", "instance-family", "instance-type"))
        return {
            "InstanceTypeConfigSet": [
                {
                    "Zone": zone, "InstanceType": name, "InstanceFamily": family(name), "CPU": kind.cpu,
                    "Memory": kind.memory, "GPU": int(float(kind.cards)), "FPGA": 0, "GpuCount": number(kind.cards),
                    "GpuType": kind.gpu, "GpuMemory": kind.gpu_gib,
                }
                for zone, name, kind in self._offered(call.region, wanted)
            ]
        }  # fmt: skip

    def DescribeZoneInstanceConfigInfos(self, call: Context, *, Filters: Sequence[Filter] = ()) -> Mapping[str, Any]:
        """All rows at once, in no order that is promised. A type nobody knows is simply not there."""
        names = ("zone", "instance-family", "instance-type", "instance-charge-type", "sort-keys")
        wanted = read_filters(Filters, names, values=100)
        charges = wanted.get("instance-charge-type", ["POSTPAID_BY_HOUR"])
        if not set(charges) <= set(CHARGES):
            raise Refused("InvalidParameterValue", "The value of the filter `instance-charge-type` is not valid.")
        rows = [
            self._row(zone, name, kind, charge)
            for zone, name, kind in self._offered(call.region, wanted)
            for charge in charges
            if charge != "SPOTPAID" or (zone, name) in self.spot
        ]
        return {"InstanceTypeQuotaSet": rows}

    def InquiryPriceRunInstances(
        self,
        call: Context,
        *,
        Placement: Placement,
        ImageId: str,
        InstanceType: str = "S5.LARGE8",
        InstanceChargeType: str = "POSTPAID_BY_HOUR",
        InstanceCount: int = 1,
    ) -> Mapping[str, Any]:
        if Placement["Zone"] not in zones(call.region):
            raise Refused("InvalidZone.MismatchRegion", "The zone is not one of the region.")
        if InstanceType not in TYPES or InstanceChargeType not in CHARGES:
            raise Refused("InvalidParameterValue", "The type or the charge type is not valid.")
        price = self._price(Placement["Zone"], InstanceType, InstanceChargeType)
        scaled = {key: value * InstanceCount if isinstance(value, float) and "Price" in key else value
                  for key, value in price.items()}  # fmt: skip
        free = {"UnitPrice": 0.0, "UnitPriceDiscount": 0.0, "ChargeUnit": "GB", "Discount": 100.0}
        return {"Price": {"InstancePrice": scaled, "BandwidthPrice": free}}

    def InquiryPriceTerminateInstances(self, call: Context, *, InstanceIds: Sequence[str]) -> Mapping[str, Any]:
        """What giving prepaid instances back would return."""
        boxes = self._fleet.take(call.region, InstanceIds)
        if any(box.charge != "PREPAID" for box in boxes):
            raise Refused("InvalidInstance.NotSupported", "Only prepaid instances are given back.")
        refunds = []
        for box in boxes:
            left = max(timedelta(0), (box.expires or self._clock.now()) - self._clock.now()) / timedelta(days=30)
            month = self.list_prices.get(box.type, Decimal(1)) * _MONTH_HOURS
            refunds.append({
                "Refunds": float(month * Decimal(str(round(left, 6)))), "OriginalPrice": float(month),
                "Description": "", "Price": {"RefundNumber": 1},
            })  # fmt: skip
        return {"InstanceRefundsSet": refunds}

    def _offered(self, region: str, wanted: Mapping[str, Sequence[str]]) -> list[tuple[str, str, Type]]:
        return [
            (zone, name, known(name))
            for zone in zones(region)
            for name in sorted(self.list_prices)
            if zone in wanted.get("zone", [zone])
            and name in wanted.get("instance-type", [name])
            and family(name) in wanted.get("instance-family", [family(name)])
        ]

    def _row(self, zone: str, name: str, kind: Type, charge: str) -> dict[str, Any]:
        sold_out = (zone, name) in self.sold_out
        return {
            "Zone": zone, "InstanceType": name, "InstanceChargeType": charge, "InstanceFamily": family(name),
            "TypeName": name, "Cpu": kind.cpu, "Memory": kind.memory, "Gpu": int(float(kind.cards)),
            "GpuCount": number(kind.cards), "Fpga": 0, "NetworkCard": 25, "StorageBlockAmount": 0,
            "LocalDiskTypeList": [], "InstanceBandwidth": 5.0, "InstancePps": 60, "CpuType": "Intel Xeon",
            "Frequency": "2.5GHz", "Remark": "", "Externals": {}, "SoldOutReason": "no stock" if sold_out else "",
            "Status": "SOLD_OUT" if sold_out else "SELL",
            "StatusCategory": "WithoutStock" if sold_out else "EnoughStock",
            "Price": self._price(zone, name, charge),
        }  # fmt: skip

    def _price(self, zone: str, name: str, charge: str) -> dict[str, Any]:
        """Unused figures are 0, which is what a missing price looks like."""
        listed = Decimal(0) if name in self.free else self.list_prices[name]
        kind, paid = known(name), listed * self.discount
        if charge == "PREPAID":
            month = listed * _MONTH_HOURS
            return {
                "UnitPrice": 0.0, "UnitPriceDiscount": 0.0, "ChargeUnit": None, "OriginalPrice": float(month),
                "DiscountPrice": float(month * self.discount), "Discount": float(100 * self.discount),
            }  # fmt: skip
        if charge == "SPOTPAID" and listed:
            paid = self.spot_price(zone, name)
        found = {
            "UnitPrice": float(listed), "UnitPriceDiscount": float(paid), "ChargeUnit": "HOUR", "OriginalPrice": 0.0,
            "DiscountPrice": 0.0, "Discount": round(float(100 * paid / listed), 2) if listed else 0.0,
        }  # fmt: skip
        if kind.steps and charge == "POSTPAID_BY_HOUR" and listed:
            for step, text in zip(("SecondStep", "ThirdStep"), kind.steps, strict=True):
                found[f"UnitPrice{step}"] = float(text)
                found[f"UnitPriceDiscount{step}"] = float(Decimal(text) * self.discount)
        return found
