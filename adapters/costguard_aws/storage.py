"""Volumes, snapshots, addresses, NAT gateways and capacity reservations into resources: pure. They bill until they
are deleted.

`state` is RUNNING while one exists and bills, attached or not; what it hangs on is `depends_on`.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from costguard.domain.resource import ChargeType, Ends, Kind, Resource, ResourceRef, State, StopEffect
from costguard.domain.time import utc
from costguard_aws.instances import read_tags

_NO_STOP = StopEffect(Ends.NO, note="it has no power state: only release ends its bill")

VOLUME_STATES = {
    "creating": State.PENDING,
    "available": State.RUNNING,
    "in-use": State.RUNNING,
    "deleting": State.DELETING,
    "deleted": State.GONE,
}
SNAPSHOT_STATES = {
    "pending": State.PENDING,
    "completed": State.RUNNING,
    "recoverable": State.RUNNING,
    "recovering": State.PENDING,
}
GATEWAY_STATES = {
    "pending": State.PENDING,
    "available": State.RUNNING,
    "deleting": State.DELETING,
    "deleted": State.GONE,
}
RESERVATION_STATES = {
    "active": State.RUNNING,
    "assessing": State.PENDING,
    "pending": State.PENDING,
    "scheduled": State.PENDING,
    "delayed": State.PENDING,
    "payment-pending": State.PENDING,
    "cancelling": State.DELETING,
    "cancelled": State.GONE,
    "expired": State.GONE,
    "failed": State.GONE,
    "payment-failed": State.GONE,
    "unsupported": State.GONE,
}


def read_volume(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """An EBS volume; `depends_on` is the instance it is attached to (the first, of a multi-attach volume)."""
    attachments = [a for a in item.get("Attachments") or () if a.get("InstanceId")]
    raw = item.get("State") or ""
    return _resource(
        item, ref, observed_at, VOLUME_STATES.get(raw, State.UNKNOWN), raw, item.get("CreateTime"),
        sku=item.get("VolumeType"),
        size_gib=item.get("Size"),
        depends_on=attachments[0]["InstanceId"] if attachments else None,
        attributes={
            "zone": item.get("AvailabilityZone"),
            "iops": item.get("Iops"),
            "throughput": item.get("Throughput"),
            "snapshot": item.get("SnapshotId"),
        },
    )  # fmt: skip


def read_snapshot(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """A snapshot of this account. `size_gib` is the volume's size: the billed size is smaller and not told here."""
    raw = item.get("State") or ""
    return _resource(
        item, ref, observed_at, SNAPSHOT_STATES.get(raw, State.UNKNOWN), raw, item.get("StartTime"),
        sku=item.get("StorageTier") or "standard",
        size_gib=item.get("VolumeSize"),
        attributes={
            "volume": item.get("VolumeId"),
            "description": item.get("Description"),
            "full_size_bytes": item.get("FullSnapshotSizeInBytes"),
        },
    )  # fmt: skip


def read_address(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """An Elastic IP. `depends_on` is its instance, else the network interface; None is the idle one."""
    hangs_on = item.get("InstanceId") or item.get("NetworkInterfaceId") or item.get("AssociationId")
    raw = "associated" if item.get("AssociationId") or item.get("InstanceId") else "unassociated"
    return _resource(
        item, ref, observed_at, State.RUNNING, raw, None,
        sku="public-ipv4",
        depends_on=hangs_on or None,
        attributes={"ip": item.get("PublicIp"), "managed_by": item.get("ServiceManaged")},
    )  # fmt: skip


def read_gateway(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """A NAT gateway; it bills by the hour and by the gigabyte while available."""
    raw = item.get("State") or ""
    return _resource(
        item, ref, observed_at, GATEWAY_STATES.get(raw, State.UNKNOWN), raw, item.get("CreateTime"),
        sku="nat-gateway",
        attributes={
            "vpc": item.get("VpcId"),
            "subnet": item.get("SubnetId"),
            "connectivity": item.get("ConnectivityType"),
        },
    )  # fmt: skip


def read_reservation(item: Mapping[str, Any], ref: ResourceRef, observed_at: datetime) -> Resource:
    """A capacity reservation, which bills every place used or not, or a capacity block, which is paid in advance.

    `sku` is not the instance type, which is an attribute: a reservation costs its places, not one instance, and those
    in use are in the price of the instances that use them.
    """
    raw = item.get("State") or ""
    block = item.get("ReservationType") == "capacity-block"
    resource = _resource(
        item, ref, observed_at, RESERVATION_STATES.get(raw, State.UNKNOWN), raw, item.get("CreateDate"),
        sku="capacity-block" if block else "capacity-reservation",
        attributes={
            "type": item.get("InstanceType"),
            "zone": item.get("AvailabilityZone"),
            "platform": item.get("InstancePlatform"),
            "tenancy": item.get("Tenancy"),
            "places": item.get("TotalInstanceCount"),
            "match": item.get("InstanceMatchCriteria"),
            "block": item.get("CapacityBlockId"),
        },
    )  # fmt: skip
    free, start, end = item.get("AvailableInstanceCount"), item.get("StartDate"), item.get("EndDate")
    note = "it is paid in advance" if block else "it bills used or not: only cancelling it ends that"
    return replace(
        resource,
        charge_type=ChargeType.PREPAID if block else ChargeType.RESERVED,
        started_at=utc(start) if start else resource.started_at,
        expires_at=utc(end) if end else None,
        stop_effect=StopEffect(Ends.NO, ("reservation",), note=note),
        attributes={**resource.attributes, **({} if free is None else {"free_places": str(free)})},
    )


def _resource(
    item: Mapping[str, Any],
    ref: ResourceRef,
    observed_at: datetime,
    state: State,
    raw_state: str,
    created: datetime | None,
    *,
    sku: str | None,
    attributes: Mapping[str, Any],
    size_gib: int | None = None,
    depends_on: str | None = None,
) -> Resource:
    tags = read_tags(item)
    created_at = utc(created) if created else None
    operator = item.get("Operator") or {}
    return Resource(
        ref=ref,
        name=tags.get("Name", ""),
        state=state,
        raw_state=raw_state,
        observed_at=observed_at,
        charge_type=ChargeType.ON_DEMAND,
        sku=sku,
        created_at=created_at,
        started_at=created_at,
        tags=tags,
        protected=f"managed by {operator.get('Principal') or 'an AWS service'}" if operator.get("Managed") else None,
        depends_on=depends_on,
        size_gib=size_gib,
        stop_effect=_NO_STOP if ref.kind is not Kind.VM else None,
        creator=tags.get("aws:createdBy"),
        attributes={key: str(value) for key, value in attributes.items() if value},
    )
