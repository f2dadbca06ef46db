"""Disks, snapshots and elastic IPs, as ECS and VPC tell them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aliyun.box import tag_list
from tests.fakes.aliyun.ecs import read_ids
from tests.fakes.aliyun.rpc import Context, Json, Refused, by_number, by_token, to_seconds

DISK_NEVER = "2999-09-08T16:00Z"
_DISK_STATES = ("In_use", "Available", "Attaching", "Detaching", "Creating", "ReIniting", "All")


class Storage:
    """ECS's operations on what is left when a box is gone. Items are as described, with their region beside them."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.disks: dict[str, tuple[str, dict[str, Any]]] = {}
        self.snapshots: dict[str, tuple[str, dict[str, Any]]] = {}
        self.eips: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {}

    def add_disk(
        self,
        region: str,
        *,
        instance: str = "",
        size: int = 100,
        created: datetime | None = None,
        detached: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> str:
        """In use when ``instance`` is given; else Available, detached a month ago unless said otherwise."""
        id = f"d-bp{len(self.disks) + 1:018x}"
        now = self._clock.now()
        away = "" if instance else to_seconds(detached or now - timedelta(days=30))
        item = {
            "DiskId": id, "DiskName": "", "RegionId": region, "ZoneId": f"{region}-h", "Type": "data", "Size": size,
            "Status": "In_use" if instance else "Available", "Category": "cloud_essd", "PerformanceLevel": "PL1",
            "DiskChargeType": "PostPaid", "DeleteWithInstance": False, "Portable": True, "InstanceId": instance,
            "CreationTime": to_seconds(created or now - timedelta(days=60)), "DetachedTime": away,
            "AttachedTime": "", "ExpiredTime": DISK_NEVER, "OperationLocks": {"OperationLock": []},
            **({"Tags": tag_list(tags)} if tags else {}), **fields,
        }  # fmt: skip
        self.disks[id] = (region, item)
        return id

    def add_snapshot(
        self, region: str, *, disk: str = "d-bp0", size: int = 100, created: datetime | None = None, **fields: Any
    ) -> str:
        id = f"s-bp{len(self.snapshots) + 1:018x}"
        item = {
            "SnapshotId": id, "SnapshotName": "", "SourceDiskId": disk, "SourceDiskSize": str(size),
            "SourceDiskType": "data", "Status": "accomplished", "Progress": "100%", "SnapshotType": "user",
            "CreationTime": to_seconds(created or self._clock.now() - timedelta(days=200)), "RetentionDays": 0,
            **fields,
        }  # fmt: skip
        self.snapshots[id] = (region, item)
        return id

    def add_eip(self, region: str, *, instance: str = "", tags: Mapping[str, str] | None = None, **fields: Any) -> str:
        id = f"eip-bp{len(self.eips) + 1:018x}"
        item = {
            "AllocationId": id, "RegionId": region, "IpAddress": f"39.96.0.{len(self.eips) + 1}",
            "Status": "InUse" if instance else "Available", "Bandwidth": "5", "ChargeType": "PostPaid",
            "InternetChargeType": "PayByBandwidth", "InstanceId": instance,
            "InstanceType": "EcsInstance" if instance else "",
            "AllocationTime": to_seconds(self._clock.now() - timedelta(days=40)), "ExpiredTime": "", **fields,
        }  # fmt: skip
        self.eips[id] = (region, item, dict(tags or {}))
        return id

    def DescribeDisks(
        self,
        call: Context,
        *,
        DiskIds: Json | None = None,
        InstanceId: str = "",
        Status: str = "All",
        DiskType: str = "all",
        DiskChargeType: str = "",
        Portable: bool | None = None,
        MaxResults: int | None = None,
        NextToken: str = "",
        PageNumber: int = 1,
        PageSize: int = 10,
    ) -> Mapping[str, Any]:
        if Status not in _DISK_STATES or (MaxResults or 1) > 500:
            raise Refused("InvalidParameter")
        wanted = None if DiskIds is None else read_ids(DiskIds)
        found = [
            disk
            for region, disk in self.disks.values()
            if region == call.region
            and (wanted is None or disk["DiskId"] in wanted)
            and InstanceId in ("", disk["InstanceId"])
            and Status in ("All", disk["Status"])
            and DiskType in ("all", disk["Type"])
            and DiskChargeType in ("", disk["DiskChargeType"])
            and Portable in (None, disk["Portable"])
        ]
        return _told("Disks", "Disk", found, MaxResults, NextToken, PageNumber, PageSize)

    def DescribeSnapshots(
        self,
        call: Context,
        *,
        SnapshotIds: Json | None = None,
        DiskId: str = "",
        Status: str = "all",
        SnapshotType: str = "all",
        MaxResults: int | None = None,
        NextToken: str = "",
        PageNumber: int = 1,
        PageSize: int = 10,
    ) -> Mapping[str, Any]:
        if (MaxResults or 1) > 100:
            raise Refused("InvalidParameter")
        wanted = None if SnapshotIds is None else read_ids(SnapshotIds)
        found = [
            snapshot
            for region, snapshot in self.snapshots.values()
            if region == call.region
            and (wanted is None or snapshot["SnapshotId"] in wanted)
            and DiskId in ("", snapshot["SourceDiskId"])
            and Status in ("all", snapshot["Status"])
            and SnapshotType in ("all", snapshot["SnapshotType"])
        ]
        return _told("Snapshots", "Snapshot", found, MaxResults, NextToken, PageNumber, PageSize)

    def DeleteDisk(self, call: Context, *, DiskId: str) -> Mapping[str, Any]:
        region, disk = self.disks.get(DiskId, ("", {}))
        if region != call.region:
            raise Refused("InvalidDiskId.NotFound")
        if disk["Status"] != "Available":
            raise Refused("IncorrectDiskStatus")
        del self.disks[DiskId]
        return {}

    def DeleteSnapshot(self, call: Context, *, SnapshotId: str, Force: bool = False) -> Mapping[str, Any]:
        if self.snapshots.get(SnapshotId, ("",))[0] != call.region:
            raise Refused("InvalidSnapshotId.NotFound")
        del self.snapshots[SnapshotId]
        return {}


class Eips:
    """VPC's view of elastic IPs, with tags; ``of_ecs`` is ECS's older one without."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.of_ecs = _EcsEips(self)

    def found(self, region: str, status: str, id: str, tagged: bool) -> list[dict[str, Any]]:
        return [
            {**eip, **({"Tags": {"Tag": [{"Key": k, "Value": v} for k, v in tags.items()]}} if tagged and tags else {})}
            for where, eip, tags in self._storage.eips.values()
            if where == region and status in ("", eip["Status"]) and id in ("", eip["AllocationId"])
        ]

    def DescribeEipAddresses(
        self, call: Context, *, Status: str = "", AllocationId: str = "", PageNumber: int = 1, PageSize: int = 10
    ) -> Mapping[str, Any]:
        return _eips(self.found(call.region, Status, AllocationId, tagged=True), PageNumber, PageSize)

    def ReleaseEipAddress(self, call: Context, *, AllocationId: str) -> Mapping[str, Any]:
        region, eip, _ = self._storage.eips.get(AllocationId, ("", {}, {}))
        if region != call.region:
            raise Refused("InvalidAllocationId.NotFound")
        if eip["Status"] != "Available":
            raise Refused("IncorrectEipStatus")
        del self._storage.eips[AllocationId]
        return {}


class _EcsEips:
    def __init__(self, eips: Eips) -> None:
        self._eips = eips

    def DescribeEipAddresses(
        self, call: Context, *, Status: str = "", AllocationId: str = "", PageNumber: int = 1, PageSize: int = 10
    ) -> Mapping[str, Any]:
        return _eips(self._eips.found(call.region, Status, AllocationId, tagged=False), PageNumber, PageSize)


def _eips(items: Sequence[Any], number: int, size: int) -> Mapping[str, Any]:
    """By number alone: these lists have no tokens."""
    page = by_number(items, number, size, 100)
    return {"EipAddresses": {"EipAddress": page}, "TotalCount": len(items), "PageNumber": number, "PageSize": size}


def _told(
    plural: str, single: str, items: Sequence[Any], limit: int | None, token: str, number: int, size: int
) -> Mapping[str, Any]:
    if limit is not None or token:
        page, following = by_token(items, token, max(limit or 10, 1))
        return {plural: {single: page}, "NextToken": following, "TotalCount": 0}
    page = by_number(items, number, size, 100)
    return {plural: {single: page}, "NextToken": "", "TotalCount": len(items), "PageNumber": number, "PageSize": size}
