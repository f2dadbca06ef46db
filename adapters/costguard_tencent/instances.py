"""CVM instances into resources: pure. Every field may be missing; what is missing is unknown, never a guess."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from costguard.domain.resource import RUN, UNKNOWN_GPUS, ChargeType, Gpus, Kind, Resource, ResourceRef, State
from costguard_tencent import effects
from costguard_tencent.fields import gib_to_mib, known, read_tags, read_time
from costguard_tencent.instance_types import UNSEEN, InstanceType, is_plain, read_gpus
from costguard_tencent.starts import STARTS

STATES = {
    "PENDING": State.PENDING,
    "STARTING": State.PENDING,
    "RUNNING": State.RUNNING,
    "REBOOTING": State.RUNNING,
    "STOPPING": State.STOPPING,
    "STOPPED": State.STOPPED,
    "SHUTDOWN": State.DELETING,  # in the recycle bin
    "TERMINATING": State.DELETING,
    "LAUNCH_FAILED": State.GONE,  # it never came to be, and costs nothing
}

# A word that is not here is ChargeType.UNKNOWN: don't act.
CHARGES = {
    "PREPAID": ChargeType.PREPAID,
    "POSTPAID_BY_HOUR": ChargeType.ON_DEMAND,
    "SPOTPAID": ChargeType.SPOT,
    "CDHPAID": ChargeType.RESERVED,
    "CDCPAID": ChargeType.RESERVED,
}
RENEWS = {
    "NOTIFY_AND_AUTO_RENEW": "yes",
    "NOTIFY_AND_MANUAL_RENEW": "no",
    "DISABLE_NOTIFY_AND_MANUAL_RENEW": "no",
}

# Tag keys that the service behind the box sets on each member; a stopped member is replaced or breaks its cluster.
# The order is the order of preference for the group's name.
GROUP_TAGS = (
    "tencentcloud:autoscaling:auto-scaling-group-id",
    "tke-clusterId",
    "ccs-clusterId",
    "k8s.io/cluster-autoscaler",
)


@dataclass(frozen=True, slots=True)
class Beside:
    """What other calls tell of an instance. `elastic`: its public address is an elastic IP; None is not known."""

    kind: InstanceType = UNSEEN
    started_at: datetime | None = None
    elastic: bool | None = None
    release_at: datetime | None = None


def read_instance(item: Mapping[str, Any], ref: ResourceRef, beside: Beside, observed_at: datetime) -> Resource:
    """One element of DescribeInstances as a resource. Times are aware UTC."""
    tags = read_tags(item.get("Tags"))
    raw_state = str(item.get("InstanceState") or "")
    state = STATES.get(raw_state, State.UNKNOWN)
    kind = beside.kind
    resource = Resource(
        ref=ref,
        name=str(item.get("InstanceName") or ""),
        state=state,
        raw_state=raw_state,
        observed_at=observed_at,
        charge_type=CHARGES.get(str(item.get("InstanceChargeType") or ""), ChargeType.UNKNOWN),
        sku=item.get("InstanceType") or None,
        gpus=_gpus(item, kind),
        vcpus=item.get("CPU") or kind.vcpus,
        memory_mib=gib_to_mib(item.get("Memory")) or kind.memory_mib,
        created_at=read_time(item.get("CreatedTime")),
        started_at=beside.started_at if state is not State.STOPPED else None,
        expires_at=read_time(item.get("ExpiredTime")),
        auto_release_at=beside.release_at,
        tags=tags,
        group=group_of(tags),
        protected=lock_of(item),
        attributes=_attributes(item, beside),
    )
    return replace(resource, stop_effect=effects.stop_effect(resource))


def _gpus(item: Mapping[str, Any], kind: InstanceType) -> Gpus | None:
    """What the instance says, else its type. Where neither counts cards that are there or may be: an unknown number."""
    gpu = item.get("GPUInfo") or {}
    memory = kind.gpus.memory_mib if kind.gpus else None
    told = read_gpus(gpu.get("GPUType"), gpu.get("GPUCount"), memory) or kind.gpus
    name = str(item.get("InstanceType") or "")
    return told or (UNKNOWN_GPUS if gpu or (kind is UNSEEN and not is_plain(name)) else None)


def group_of(tags: Mapping[str, str]) -> str | None:
    """`KEY=VALUE` of the tag that makes it a member of a scaling group or cluster."""
    for key in GROUP_TAGS:
        if key in tags:
            return f"{key}={tags[key]}" if tags[key] else key
    return None


def lock_of(item: Mapping[str, Any]) -> str | None:
    """Why Tencent Cloud itself has isolated the box: `ARREAR`, `EXPIRE`, `MANMADE`, or for safety.

    DisableApiTermination is none of them: it guards a release and nothing else.
    """
    source = str(item.get("IsolatedSource") or "NOTISOLATED")
    if source != "NOTISOLATED":
        return f"isolated: {source}"
    restricted = str(item.get("RestrictState") or "NORMAL")
    return f"restricted: {restricted}" if restricted != "NORMAL" else None


def has_local_disk(item: Mapping[str, Any]) -> bool:
    disks = [item.get("SystemDisk") or {}, *(item.get("DataDisks") or ())]
    return any(str(disk.get("DiskType") or "").startswith("LOCAL") for disk in disks)


def public_address(item: Mapping[str, Any]) -> str | None:
    return next(iter(item.get("PublicIpAddresses") or ()), None)


def _attributes(item: Mapping[str, Any], beside: Beside) -> dict[str, str]:
    placement, address = item.get("Placement") or {}, public_address(item)
    project = placement.get("ProjectId")
    return known(
        {
            "zone": placement.get("Zone"),
            "project": str(project) if project is not None else None,
            "image": item.get("ImageId"),
            "platform": item.get("OsName"),
            "cam_role": item.get("CamRoleName"),
            "hpc_cluster": item.get("HpcClusterId"),
            "auto_renew": RENEWS.get(str(item.get("RenewFlag"))),
            "deletion_protection": "on" if item.get("DisableApiTermination") is True else None,
            RUN: item.get("LatestOperationRequestId") if item.get("LatestOperation") in STARTS else None,
            "latest_operation": item.get("LatestOperation"),
            "latest_operation_state": item.get("LatestOperationState"),
            effects.CHARGING_MODE: item.get("StopChargingMode"),
            effects.LOCAL_DISK: "yes" if has_local_disk(item) else None,
            "private_ip": ",".join(str(ip) for ip in item.get("PrivateIpAddresses") or () if ip),
            effects.PUBLIC_IP: address if not beside.elastic else None,
            effects.EIP: address if beside.elastic is not False else None,
            effects.HOST: placement.get("HostId"),
        }
    )


def vm_ref(account: str, region: str, id: str) -> ResourceRef:
    return ResourceRef("tencent", account, region, Kind.VM, id)
