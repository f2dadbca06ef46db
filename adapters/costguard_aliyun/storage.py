"""Disks, snapshots and elastic IPs into resources: pure. They bill until they are deleted.

`state` is RUNNING while one exists and bills, attached or not; what it hangs on is `depends_on`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from costguard.domain.resource import ChargeType, Ends, Resource, ResourceRef, State, StopEffect
from costguard_aliyun.fields import known, read_tags, read_time

_NO_STOP = StopEffect(Ends.NO, note="it has no power state: only release ends its bill")

DISK_STATES = {
    "In_use": State.RUNNING,
    "Available": State.RUNNING,
    "Attaching": State.RUNNING,
    "Detaching": State.RUNNING,
    "ReIniting": State.RUNNING,
    "Creating": State.PENDING,
}
SNAPSHOT_STATES = {"accomplished": State.RUNNING, "progressing": State.PENDING}
ADDRESS_STATES = {
    "InUse": State.RUNNING,
    "Available": State.RUNNING,
    "Associating": State.RUNNING,
    "Unassociating": State.RUNNING,
}
CHARGES = {"PostPaid": ChargeType.ON_DEMAND, "PrePaid": ChargeType.PREPAID}


def read_disk(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """A cloud disk, system disks among them; `depends_on` is the instance it is attached to."""
    raw = str(item.get("Status") or "")
    return _resource(
        item, ref, observed_at, DISK_STATES.get(raw, State.UNKNOWN), raw, item.get("CreationTime"),
        name=item.get("DiskName"),
        charge=item.get("DiskChargeType"),
        sku=item.get("Category"),
        size_gib=item.get("Size"),
        depends_on=item.get("InstanceId"),
        attributes={
            "zone": item.get("ZoneId"),
            "type": item.get("Type"),
            "performance_level": item.get("PerformanceLevel"),
            "detached_at": item.get("DetachedTime"),
            "deleted_with_instance": "yes" if item.get("DeleteWithInstance") is True else None,
            "snapshot": item.get("SourceSnapshotId"),
        },
    )  # fmt: skip


def read_snapshot(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """A snapshot of this account. `size_gib` is the disk's size: the billed size is smaller and not told here."""
    raw = str(item.get("Status") or "")
    return _resource(
        item, ref, observed_at, SNAPSHOT_STATES.get(raw, State.UNKNOWN), raw, item.get("CreationTime"),
        name=item.get("SnapshotName"),
        charge="PostPaid",
        sku=item.get("Category") or "standard",
        size_gib=item.get("SourceDiskSize"),
        attributes={
            "disk": item.get("SourceDiskId"),
            "type": item.get("SnapshotType"),
            "retention_days": item.get("RetentionDays"),
        },
    )  # fmt: skip


def read_address(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """An elastic IP. `depends_on` is what it is bound to; None is the idle one."""
    raw = str(item.get("Status") or "")
    return _resource(
        item, ref, observed_at, ADDRESS_STATES.get(raw, State.UNKNOWN), raw, item.get("AllocationTime"),
        name=item.get("Name"),
        charge=item.get("ChargeType"),
        sku=item.get("InternetChargeType"),
        depends_on=item.get("InstanceId"),
        attributes={"ip": item.get("IpAddress"), "bandwidth_mbps": item.get("Bandwidth")},
    )  # fmt: skip


def _resource(
    item: Mapping[str, Any],
    ref: ResourceRef,
    observed_at: datetime,
    state: State,
    raw_state: str,
    created: Any,
    *,
    name: Any,
    charge: Any,
    sku: Any,
    attributes: Mapping[str, Any],
    size_gib: Any = None,
    depends_on: Any = None,
) -> Resource:
    created_at = read_time(created)
    return Resource(
        ref=ref,
        name=str(name or ""),
        state=state,
        raw_state=raw_state,
        observed_at=observed_at,
        charge_type=CHARGES.get(charge, ChargeType.UNKNOWN),
        sku=sku or None,
        created_at=created_at,
        started_at=created_at,
        expires_at=read_time(item.get("ExpiredTime")),
        tags=read_tags(item),
        depends_on=depends_on or None,
        size_gib=int(size_gib) if str(size_gib or "").isdecimal() else None,
        stop_effect=_NO_STOP,
        attributes=known(attributes),
    )
