"""ECS instances into resources: pure. Every field may be missing; what is missing is unknown, never a guess."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from costguard.domain.resource import ChargeType, Gpus, Kind, Resource, ResourceRef, State
from costguard_aliyun import effects
from costguard_aliyun.fields import known, read_price, read_tags, read_time
from costguard_aliyun.instance_types import UNSEEN, InstanceType, read_gpus

STATES = {
    "Pending": State.PENDING,
    "Starting": State.PENDING,
    "Running": State.RUNNING,
    "Stopping": State.STOPPING,
    "Stopped": State.STOPPED,
    "Deleted": State.GONE,
}

# SpotStrategy of a pay-as-you-go instance; a word that is not here is ChargeType.UNKNOWN: don't act.
STRATEGIES = {
    "": ChargeType.ON_DEMAND,
    "NoSpot": ChargeType.ON_DEMAND,
    "SpotWithPriceLimit": ChargeType.SPOT,
    "SpotAsPriceGo": ChargeType.SPOT,
}

# Tag keys that the service behind the box sets on each member; a stopped member is replaced or breaks its cluster.
# The order is the order of preference for the group's name.
GROUP_TAGS = (
    "acs:autoscaling:scalingGroupId",
    "ack.alibabacloud.com/nodepool-id",
    "ack.aliyun.com",
    "k8s.aliyun.com",
    "k8s.io/cluster-autoscaler",
)


def read_instance(
    item: Mapping[str, Any], ref: ResourceRef, kind: InstanceType | None, currency: str, observed_at: datetime
) -> Resource:
    """One instance as a resource. Times are aware UTC; `kind` None is a type that ECS did not describe."""
    kind = kind or UNSEEN
    tags = read_tags(item)
    raw_state = str(item.get("Status") or "")
    resource = Resource(
        ref=ref,
        name=str(item.get("InstanceName") or ""),
        state=STATES.get(raw_state, State.UNKNOWN),
        raw_state=raw_state,
        observed_at=observed_at,
        charge_type=charge_type(item),
        sku=item.get("InstanceType") or None,
        gpus=_gpus(item, kind),
        vcpus=item.get("Cpu") or kind.vcpus,
        memory_mib=item.get("Memory") or kind.memory_mib,
        created_at=read_time(item.get("CreationTime")),
        started_at=read_time(item.get("StartTime")),
        expires_at=read_time(item.get("ExpiredTime")),
        auto_release_at=read_time(item.get("AutoReleaseTime")),
        spot_cap=read_price(item.get("SpotPriceLimit"), currency),
        tags=tags,
        group=group_of(tags),
        protected=locks_of(item),
        attributes=_attributes(item, kind),
    )
    return replace(resource, stop_effect=effects.stop_effect(resource))


def _gpus(item: Mapping[str, Any], kind: InstanceType) -> Gpus | None:
    """What the type says, or the cards that the instance counts where the type does not know.

    That an instance counts none is no proof: it counts GPUs alone, and there are FPGAs and NPUs.
    """
    own = read_gpus(item.get("GPUSpec"), item.get("GPUAmount"))
    if kind.gpus is not None and kind.gpus.count is not None:
        return kind.gpus
    return own if own is not None and own.count is not None else kind.gpus


def charge_type(item: Mapping[str, Any]) -> ChargeType:
    if item.get("InstanceChargeType") == "PrePaid":
        return ChargeType.PREPAID
    if item.get("InstanceChargeType") == "PostPaid":
        return STRATEGIES.get(item.get("SpotStrategy") or "", ChargeType.UNKNOWN)
    return ChargeType.UNKNOWN


def group_of(tags: Mapping[str, str]) -> str | None:
    """`KEY=VALUE` of the tag that makes it a member of a scaling group or cluster."""
    for key in GROUP_TAGS:
        if key in tags:
            return f"{key}={tags[key]}" if tags[key] else key
    return None


def locks_of(item: Mapping[str, Any]) -> str | None:
    """Reasons of the provider's own locks: `financial`, `security`, `Recycling` (a spot box that is being reclaimed).

    DeletionProtection is none of them: it guards a manual release and nothing else.
    """
    locks = (item.get("OperationLocks") or {}).get("LockReason") or ()
    reasons = [str(lock.get("LockReason")) for lock in locks if lock.get("LockReason")]
    return f"locked: {', '.join(reasons)}" if reasons else None


def _attributes(item: Mapping[str, Any], kind: InstanceType) -> dict[str, str]:
    reservation = item.get("EcsCapacityReservationAttr") or {}
    addresses = (item.get("PublicIpAddress") or {}).get("IpAddress") or ()
    return known(
        {
            "zone": item.get("ZoneId"),
            "image": item.get("ImageId"),
            "platform": item.get("OSType"),
            "resource_group": item.get("ResourceGroupId"),
            "spot_strategy": item.get("SpotStrategy"),
            "spot_duration": item.get("SpotDuration"),
            "spot_interruption": item.get("SpotInterruptionBehavior"),
            "deletion_protection": "on" if item.get("DeletionProtection") is True else None,
            effects.STOPPED_MODE: item.get("StoppedMode"),
            effects.NETWORK: item.get("InstanceNetworkType"),
            effects.LOCAL_DISK: "yes" if item.get("LocalStorageAmount") or kind.local_disk else None,
            "private_ip": ",".join(_private_ips(item)),
            "hostname": item.get("HostName"),
            effects.PUBLIC_IP: next(iter(addresses), None),
            effects.EIP: (item.get("EipAddress") or {}).get("AllocationId"),
            effects.DEDICATED_HOST: (item.get("DedicatedHostAttribute") or {}).get("DedicatedHostId"),
            effects.CAPACITY_RESERVATION: reservation.get("CapacityReservationId"),
        }
    )


def _private_ips(item: Mapping[str, Any]) -> list[str]:
    """Inside a VPC, or on the classic network."""
    inside = (item.get("VpcAttributes") or {}).get("PrivateIpAddress") or {}
    classic = item.get("InnerIpAddress") or {}
    return [str(address) for found in (inside, classic) for address in found.get("IpAddress") or () if address]


def vm_ref(account: str, region: str, id: str) -> ResourceRef:
    return ResourceRef("aliyun", account, region, Kind.VM, id)
