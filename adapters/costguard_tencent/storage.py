"""Disks, snapshots and elastic IPs into resources: pure. They bill until they are deleted.

`state` is RUNNING while one exists and bills, attached or not; what it hangs on is `depends_on`. CBS writes Beijing's
time without a zone, VPC writes UTC.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from costguard.domain.resource import ChargeType, Ends, Resource, ResourceRef, State, StopEffect
from costguard_tencent.fields import known, read_tags, read_time
from costguard_tencent.instances import RENEWS

_NO_STOP = StopEffect(Ends.NO, note="it has no power state: only release ends its bill")

DISK_STATES = {
    "UNATTACHED": State.RUNNING,
    "ATTACHING": State.RUNNING,
    "ATTACHED": State.RUNNING,
    "DETACHING": State.RUNNING,
    "EXPANDING": State.RUNNING,
    "ROLLBACKING": State.RUNNING,
    "DUMPING": State.RUNNING,
    "TORECYCLE": State.DELETING,
}
SNAPSHOT_STATES = {
    "NORMAL": State.RUNNING,
    "ROLLBACKING": State.RUNNING,
    "CREATING": State.PENDING,
    "COPYING_FROM_REMOTE": State.PENDING,
    "CHECKING_COPIED": State.PENDING,
    "TORECYCLE": State.DELETING,
}
ADDRESS_STATES = {
    "CREATING": State.PENDING,
    "BINDING": State.RUNNING,
    "BIND": State.RUNNING,
    "BIND_ENI": State.RUNNING,
    "UNBINDING": State.RUNNING,
    "UNBIND": State.RUNNING,
    "OFFLINING": State.DELETING,
}
CHARGES = {"POSTPAID_BY_HOUR": ChargeType.ON_DEMAND, "PREPAID": ChargeType.PREPAID}

# Types of addresses that go when their instance is stopped without charges.
ORDINARY = frozenset({"WanIP", "CalcIP"})


def read_disk(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """A cloud disk, system disks among them; `depends_on` is the instance it is attached to."""
    return _resource(
        item, ref, observed_at, DISK_STATES, str(item.get("DiskState") or ""), item.get("CreateTime"),
        name=item.get("DiskName"),
        charge=CHARGES.get(str(item.get("DiskChargeType")), ChargeType.UNKNOWN),
        sku=item.get("DiskType"),
        size_gib=item.get("DiskSize"),
        depends_on=item.get("InstanceId"),
        expires=item.get("DeadlineTime"),
        tags=read_tags(item.get("Tags")),
        attributes={
            "zone": (item.get("Placement") or {}).get("Zone"),
            "type": item.get("DiskUsage"),
            "last_instance": item.get("LastAttachInsId"),
            "snapshots": item.get("SnapshotCount"),
            "snapshots_mib": item.get("SnapshotSize"),
            "deleted_with_instance": "yes" if item.get("DeleteWithInstance") is True else None,
            "auto_renew": RENEWS.get(str(item.get("RenewFlag"))),
        },
    )  # fmt: skip


def read_snapshot(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """A snapshot. `size_gib` is the disk's size: the billed size is smaller and told only per disk."""
    return _resource(
        item, ref, observed_at, SNAPSHOT_STATES, str(item.get("SnapshotState") or ""), item.get("CreateTime"),
        name=item.get("SnapshotName"),
        charge=ChargeType.ON_DEMAND,
        sku=item.get("SnapshotType"),
        size_gib=item.get("DiskSize"),
        depends_on=None,
        expires=None if item.get("IsPermanent") is True else item.get("DeadlineTime"),
        tags=read_tags(item.get("Tags")),
        attributes={
            "volume": item.get("DiskId"),
            "permanent": "yes" if item.get("IsPermanent") is True else None,
            "images": item.get("ImageCount"),
        },
    )  # fmt: skip


def read_address(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """An elastic IP. `depends_on` is what it is bound to; None is the idle one, which costs an idle fee."""
    method = str(item.get("InternetChargeType") or "")
    return _resource(
        item, ref, observed_at, ADDRESS_STATES, str(item.get("AddressStatus") or ""), item.get("CreatedTime"),
        name=item.get("AddressName"),
        charge=ChargeType.PREPAID if "PREPAID" in method else ChargeType.ON_DEMAND,
        sku=method,
        size_gib=None,
        depends_on=item.get("InstanceId") or item.get("NetworkInterfaceId"),
        expires=item.get("DeadlineDate"),
        tags=read_tags(item.get("TagSet")),
        attributes={
            "ip": item.get("AddressIp"),
            "type": item.get("AddressType"),
            "bandwidth_mbps": item.get("Bandwidth"),
            "blocked": "yes" if item.get("IsBlocked") is True else None,
        },
    )  # fmt: skip


def is_elastic(item: Mapping[str, Any]) -> bool:
    """Whether an address stays when its instance is stopped without charges."""
    return str(item.get("AddressType") or "EIP") not in ORDINARY


def _resource(
    item: Mapping[str, Any],
    ref: ResourceRef,
    observed_at: datetime,
    states: Mapping[str, State],
    raw_state: str,
    created: Any,
    *,
    name: Any,
    charge: ChargeType,
    sku: Any,
    size_gib: Any,
    depends_on: Any,
    expires: Any,
    tags: Mapping[str, str],
    attributes: Mapping[str, Any],
) -> Resource:
    created_at = read_time(created)
    return Resource(
        ref=ref,
        name=str(name or ""),
        state=states.get(raw_state, State.UNKNOWN),
        raw_state=raw_state,
        observed_at=observed_at,
        charge_type=charge,
        sku=str(sku) if sku else None,
        created_at=created_at,
        started_at=created_at,
        expires_at=read_time(expires),
        tags=tags,
        depends_on=str(depends_on) if depends_on else None,
        size_gib=int(size_gib) if str(size_gib or "").isdecimal() else None,
        stop_effect=_NO_STOP,
        attributes=known(attributes),
    )
