"""Disks and snapshots of CBS, addresses of VPC: what is left when a box is gone."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.tencent.wire import Context, Filter, Refused, one_of, page, read_filters, to_beijing, to_z

DISK_TYPES = {"CLOUD_BASIC": "0.00038", "CLOUD_PREMIUM": "0.0007", "CLOUD_SSD": "0.0014", "CLOUD_HSSD": "0.0018"}


def _tags(tags: Mapping[str, str] | None) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in (tags or {}).items()]


class Cbs:
    """Version 2017-03-12. Items are as described, their region beside them. Times are Beijing's, without a zone."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.disks: dict[str, tuple[str, dict[str, Any]]] = {}
        self.snapshots: dict[str, tuple[str, dict[str, Any]]] = {}

    def add_disk(
        self,
        region: str,
        *,
        instance: str = "",
        size: int = 100,
        created: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> str:
        """ATTACHED when ``instance`` is given, else UNATTACHED; made two months ago unless said otherwise."""
        id = f"disk-{len(self.disks) + 1:08x}"
        self.disks[id] = (region, {
            "DiskId": id, "DiskName": "data", "DiskUsage": "DATA_DISK", "DiskType": "CLOUD_PREMIUM", "DiskSize": size,
            "DiskState": "ATTACHED" if instance else "UNATTACHED", "Attached": bool(instance), "InstanceId": instance,
            "InstanceIdList": [instance] if instance else [], "InstanceType": "CVM" if instance else "",
            "LastAttachInsId": instance, "DiskChargeType": "POSTPAID_BY_HOUR", "DeadlineTime": None, "RenewFlag": None,
            "Placement": {"Zone": f"{region}-3", "ProjectId": 0}, "DeleteWithInstance": False, "Portable": True,
            "Encrypt": False, "Shareable": False, "SnapshotAbility": True, "SnapshotCount": 0, "SnapshotSize": 0,
            "CreateTime": to_beijing(created or self._clock.now() - timedelta(days=60)), "Tags": _tags(tags), **fields,
        })  # fmt: skip
        return id

    def add_snapshot(
        self,
        region: str,
        *,
        disk: str = "disk-00000000",
        size: int = 100,
        created: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> str:
        id = f"snap-{len(self.snapshots) + 1:08x}"
        self.snapshots[id] = (region, {
            "SnapshotId": id, "SnapshotName": "", "DiskId": disk, "DiskSize": size, "DiskUsage": "DATA_DISK",
            "SnapshotState": "NORMAL", "SnapshotType": "PRIVATE_SNAPSHOT", "Percent": 100, "IsPermanent": True,
            "Placement": {"Zone": f"{region}-3", "ProjectId": 0}, "Encrypt": False, "DeadlineTime": "",
            "CreateTime": to_beijing(created or self._clock.now() - timedelta(days=200)), "Tags": _tags(tags), **fields,
        })  # fmt: skip
        return id

    def DescribeDisks(
        self,
        call: Context,
        *,
        DiskIds: Sequence[str] = (),
        Filters: Sequence[Filter] = (),
        Offset: int = 0,
        Limit: int = 20,
    ) -> Mapping[str, Any]:
        one_of(DiskIds, Filters, "DiskIds")
        names = {
            "disk-id": "DiskId", "disk-state": "DiskState", "disk-usage": "DiskUsage", "disk-type": "DiskType",
            "disk-charge-type": "DiskChargeType", "instance-id": "InstanceId", "portable": "Portable",
        }  # fmt: skip
        found = _found(self.disks, call.region, "DiskId", DiskIds, Filters, names)
        return {"TotalCount": len(found), "DiskSet": page(found, Offset, Limit)}

    def DescribeSnapshots(
        self,
        call: Context,
        *,
        SnapshotIds: Sequence[str] = (),
        Filters: Sequence[Filter] = (),
        Offset: int = 0,
        Limit: int = 20,
    ) -> Mapping[str, Any]:
        one_of(SnapshotIds, Filters, "SnapshotIds")
        names = {"snapshot-id": "SnapshotId", "snapshot-state": "SnapshotState", "disk-id": "DiskId"}
        found = _found(self.snapshots, call.region, "SnapshotId", SnapshotIds, Filters, names)
        return {"TotalCount": len(found), "SnapshotSet": page(found, Offset, Limit)}

    def InquiryPriceCreateDisks(
        self,
        call: Context,
        *,
        DiskType: str,
        DiskSize: int,
        DiskChargeType: str,
        DiskCount: int = 1,
        ProjectId: int = 0,
    ) -> Mapping[str, Any]:
        """By the hour; the texts have digits that the numbers lose."""
        if DiskType not in DISK_TYPES or DiskChargeType != "POSTPAID_BY_HOUR" or not 10 <= DiskSize <= 32_000:
            raise Refused("InvalidParameterValue", "DiskType, DiskSize or DiskChargeType is not valid.")
        exact = Decimal(DISK_TYPES[DiskType]) * DiskSize * DiskCount
        return {
            "DiskPrice": {
                "UnitPrice": round(float(exact), 2), "UnitPriceDiscount": round(float(exact), 2), "ChargeUnit": "HOUR",
                "UnitPriceHigh": f"{exact:.6f}", "UnitPriceDiscountHigh": f"{exact:.6f}", "OriginalPrice": None,
                "DiscountPrice": None, "OriginalPriceHigh": None, "DiscountPriceHigh": None,
            }
        }  # fmt: skip


class Vpc:
    """Version 2017-03-12: elastic addresses. Times are UTC."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.addresses: dict[str, tuple[str, dict[str, Any]]] = {}

    def add_address(
        self, region: str, *, instance: str = "", tags: Mapping[str, str] | None = None, **fields: Any
    ) -> str:
        id = f"eip-{len(self.addresses) + 1:08x}"
        self.addresses[id] = (region, {
            "AddressId": id, "AddressName": "", "AddressIp": f"119.28.0.{len(self.addresses) + 1}",
            "AddressStatus": "BIND" if instance else "UNBIND", "InstanceId": instance or None,
            "InstanceType": "CVM" if instance else "", "AddressType": "EIP", "NetworkInterfaceId": None,
            "PrivateAddressIp": None, "IsArrears": False, "IsBlocked": False, "CascadeRelease": False,
            "InternetServiceProvider": "BGP", "InternetChargeType": "TRAFFIC_POSTPAID_BY_HOUR", "Bandwidth": 5,
            "CreatedTime": to_z(self._clock.now() - timedelta(days=40)), "DeadlineDate": None, "TagSet": _tags(tags),
            **fields,
        })  # fmt: skip
        return id

    def DescribeAddresses(
        self,
        call: Context,
        *,
        AddressIds: Sequence[str] = (),
        Filters: Sequence[Filter] = (),
        Offset: int = 0,
        Limit: int = 20,
    ) -> Mapping[str, Any]:
        one_of(AddressIds, Filters, "AddressIds")
        names = {
            "address-id": "AddressId", "address-status": "AddressStatus", "instance-id": "InstanceId",
            "address-ip": "AddressIp", "internet-charge-type": "InternetChargeType",
        }  # fmt: skip
        found = _found(self.addresses, call.region, "AddressId", AddressIds, Filters, names)
        return {"TotalCount": len(found), "AddressSet": page(found, Offset, Limit)}


def _found(
    items: Mapping[str, tuple[str, dict[str, Any]]],
    region: str,
    key: str,
    ids: Sequence[str],
    filters: Sequence[Filter],
    names: Mapping[str, str],
) -> list[dict[str, Any]]:
    wanted = read_filters(filters, list(names))
    return [
        item
        for where, item in items.values()
        if where == region
        and (not ids or item[key] in ids)
        and all(str(item[names[name]] or "") in values for name, values in wanted.items())
    ]
