"""EC2 instances into resources: pure. Every field may be missing; what is missing is unknown, never a guess."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from costguard.domain.money import Money
from costguard.domain.resource import INSTEAD, ChargeType, Kind, Resource, ResourceRef, State
from costguard.domain.time import utc
from costguard_aws import capacity, effects
from costguard_aws.instance_types import UNSEEN, InstanceType

STATES = {
    "pending": State.PENDING,
    "running": State.RUNNING,
    "stopping": State.STOPPING,
    "stopped": State.STOPPED,
    "shutting-down": State.DELETING,
    "terminated": State.GONE,
}

# InstanceLifecycle; absent is on-demand, and a word that is not here is ChargeType.UNKNOWN: don't act.
LIFECYCLES = {
    None: ChargeType.ON_DEMAND,
    "spot": ChargeType.SPOT,
    "scheduled": ChargeType.RESERVED,
    "capacity-block": ChargeType.RESERVED,
}

# Tag keys that the service behind the box sets on each member; a stopped member is replaced or breaks its cluster.
# The order is the order of preference for the group's name.
GROUP_TAGS = (
    "aws:autoscaling:groupName",
    "eks:cluster-name",
    "aws:eks:cluster-name",
    "alpha.eksctl.io/cluster-name",
    "karpenter.sh/nodepool",
    "AmazonECSManaged",
    "AWSBatchServiceTag",
    "aws:batch:compute-environment",
    "parallelcluster:cluster-name",
    "aws:elasticmapreduce:job-flow-id",
    "elasticbeanstalk:environment-name",
    "aws:ec2:fleet-id",
    "aws:ec2spot:fleet-request-id",
)
_KUBERNETES = "kubernetes.io/cluster/"
SCALING_GROUP = GROUP_TAGS[0]

# What ends the bill of a member instead of a stop, which its group undoes; by the tag that makes it one.
_NODE = "scale its node group down, or drain the node and let the autoscaler remove it"
_INSTEAD = {
    SCALING_GROUP: "lower the group's desired capacity, or take this one out of it: "
    "aws autoscaling terminate-instance-in-auto-scaling-group --region {region} --instance-id {id} "
    "--should-decrement-desired-capacity",
    "eks:cluster-name": _NODE,
    "aws:eks:cluster-name": _NODE,
    "alpha.eksctl.io/cluster-name": _NODE,
    "karpenter.sh/nodepool": "lower the limits of its node pool, or drain the node and let Karpenter remove it",
    "AmazonECSManaged": "lower the capacity provider's target, or drain the container instance",
    "AWSBatchServiceTag": "lower minvCpus of the compute environment; Batch removes what no job needs",
    "aws:batch:compute-environment": "lower minvCpus of the compute environment; Batch removes what no job needs",
    "parallelcluster:cluster-name": "stop the cluster's compute fleet: "
    "pcluster update-compute-fleet --status STOP_REQUESTED",
    "aws:elasticmapreduce:job-flow-id": "resize or end the EMR cluster",
    "elasticbeanstalk:environment-name": "lower the environment's instance count, or end it",
    "aws:ec2:fleet-id": "lower the fleet's target capacity: aws ec2 modify-fleet",
    "aws:ec2spot:fleet-request-id": "lower the request's target capacity: aws ec2 modify-spot-fleet-request",
}

# "User initiated (2026-11-30 08:15:00 GMT)": the only time of the last transition that EC2 gives.
_STAMP = re.compile(r"\((\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) (?:GMT|UTC)\)")


@dataclass(frozen=True, slots=True)
class SpotRequest:
    """What DescribeSpotInstanceRequests says of the request behind an instance."""

    id: str
    type: str | None
    state: str | None
    max_price: Money | None
    interruption: str | None


def read_spot_request(item: Mapping[str, Any], currency: str) -> SpotRequest:
    """One element of DescribeSpotInstanceRequests."""
    return SpotRequest(
        item.get("SpotInstanceRequestId") or "",
        item.get("Type"),
        item.get("State"),
        _price(item.get("SpotPrice"), currency),
        item.get("InstanceInterruptionBehavior"),
    )


def read_instance(
    item: Mapping[str, Any],
    ref: ResourceRef,
    kind: InstanceType | None,
    spot: SpotRequest | None,
    observed_at: datetime,
    reservations: Sequence[Mapping[str, Any]] = (),
    *,
    hibernate: bool = False,
) -> Resource:
    """One instance as a resource. Times are aware UTC; `kind` None is a type that AWS did not describe.

    `reservations` are the active, open ones of DescribeCapacityReservations; `hibernate`: a stop of this account
    hibernates what can be.
    """
    kind = kind or UNSEEN
    tags = read_tags(item)
    group = group_of(tags)
    raw_state = str((item.get("State") or {}).get("Name") or "")
    state = STATES.get(raw_state, State.UNKNOWN)
    operator = item.get("Operator") or {}
    resource = Resource(
        ref=ref,
        name=tags.get("Name", ""),
        state=state,
        raw_state=raw_state,
        observed_at=observed_at,
        charge_type=LIFECYCLES.get(item.get("InstanceLifecycle"), ChargeType.UNKNOWN),
        sku=item.get("InstanceType"),
        gpus=kind.gpus,
        vcpus=_vcpus(item) or kind.vcpus,
        memory_mib=kind.memory_mib,
        created_at=created_at(item),
        started_at=_utc(item.get("LaunchTime")),
        stopped_at=transition_at(item) if state in (State.STOPPED, State.STOPPING) else None,
        spot_cap=spot.max_price if spot else None,
        tags=tags,
        group=group,
        protected=f"managed by {operator.get('Principal') or 'an AWS service'}" if operator.get("Managed") else None,
        creator=tags.get("aws:createdBy"),
        attributes=_attributes(item, kind, spot, reservations, hibernate) | instead(group, ref),
    )
    return replace(resource, stop_effect=effects.stop_effect(resource))


def read_tags(item: Mapping[str, Any]) -> dict[str, str]:
    """`Tags` as a mapping. EC2 tells them with the resource, so an absent list is an empty one."""
    return {tag["Key"]: tag.get("Value") or "" for tag in item.get("Tags") or () if tag.get("Key")}


def group_of(tags: Mapping[str, str]) -> str | None:
    """`KEY=VALUE` of the tag that makes it a member of a scaling group, fleet or cluster."""
    for key in GROUP_TAGS:
        if key in tags:
            return f"{key}={tags[key]}" if tags[key] else key
    for key in tags:
        if key.startswith(_KUBERNETES):
            return key
    return None


def instead(group: str | None, ref: ResourceRef) -> dict[str, str]:
    """The attribute that says what to do with a member of `group` (as group_of names it) in place of stopping it."""
    key = (group or "").split("=", 1)[0]
    text = _NODE if key.startswith(_KUBERNETES) else _INSTEAD.get(key)
    return {INSTEAD: text.format(region=ref.region, id=ref.id)} if text else {}


def created_at(item: Mapping[str, Any]) -> datetime | None:
    """First launch: when the primary network interface was attached. LaunchTime restarts at every start.

    The primary interface (device 0, card 0) can be neither detached nor replaced: its attachment is as old as the box.
    """
    times = []
    for interface in item.get("NetworkInterfaces") or ():
        attachment = interface.get("Attachment") or {}
        if attachment.get("DeviceIndex") == 0 and not attachment.get("NetworkCardIndex"):
            times.append(_utc(attachment.get("AttachTime")))
    return min((at for at in times if at is not None), default=None)


def transition_at(item: Mapping[str, Any]) -> datetime | None:
    """The UTC stamp in StateTransitionReason."""
    stamp = _STAMP.search(str(item.get("StateTransitionReason") or ""))
    return datetime.strptime(stamp[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) if stamp else None


def _vcpus(item: Mapping[str, Any]) -> int | None:
    options = item.get("CpuOptions") or {}
    cores, threads = options.get("CoreCount"), options.get("ThreadsPerCore")
    return int(cores) * int(threads) if cores and threads else None


def _attributes(
    item: Mapping[str, Any],
    kind: InstanceType,
    spot: SpotRequest | None,
    reservations: Sequence[Mapping[str, Any]],
    hibernate: bool,
) -> dict[str, str]:
    placement = item.get("Placement") or {}
    facts: dict[str, Any] = {
        "zone": placement.get("AvailabilityZone"),
        "image": item.get("ImageId"),
        "platform": item.get("PlatformDetails"),
        "instance_profile": (item.get("IamInstanceProfile") or {}).get("Arn"),
        "state_reason": (item.get("StateReason") or {}).get("Code"),
        effects.LIFECYCLE: item.get("InstanceLifecycle"),
        effects.ROOT_DEVICE: item.get("RootDeviceType"),
        effects.TENANCY: placement.get("Tenancy"),
        effects.CAPACITY_RESERVATION: capacity.runs_in(item, reservations),
        effects.PUBLIC_IP: _public_ip(item),
        "private_ip": ",".join(_private_ips(item)),
        "hostname": ",".join(_hostnames(item)),
    }
    if kind.local_disk:
        facts[effects.LOCAL_DISK] = "yes"
    if can_hibernate(item):
        facts[effects.HIBERNATION] = "asked" if hibernate else "configured"
        facts["hibernated"] = _hibernated(item)
    if spot:
        facts["spot_request"] = spot.id
        facts["spot_interruption"] = spot.interruption
        facts[effects.SPOT_TYPE] = spot.type
        facts[effects.SPOT_STATE] = spot.state
    return {key: str(value) for key, value in facts.items() if value}


def can_hibernate(item: Mapping[str, Any]) -> bool:
    """Whether it was launched with hibernation, which cannot be had later."""
    return bool((item.get("HibernationOptions") or {}).get("Configured"))


def _hibernated(item: Mapping[str, Any]) -> str | None:
    """How a stop that was asked for went: EC2 shuts a box down where hibernating fails, and then memory is lost."""
    reason = (item.get("StateReason") or {}).get("Code")
    if (item.get("State") or {}).get("Name") not in {"stopping", "stopped"}:
        return None
    return {"Client.UserInitiatedHibernate": "yes", "Client.UserInitiatedShutdown": "no"}.get(reason or "")


def _private_ips(item: Mapping[str, Any]) -> list[str]:
    """Of every network interface, the first one's first."""
    told = [
        address.get("PrivateIpAddress")
        for interface in item.get("NetworkInterfaces") or ()
        for address in interface.get("PrivateIpAddresses") or ()
    ]
    return list(dict.fromkeys(str(ip) for ip in (item.get("PrivateIpAddress"), *told) if ip))


def _hostnames(item: Mapping[str, Any]) -> list[str]:
    """The private DNS name, and what the machine calls itself: its first part."""
    name = item.get("PrivateDnsName")
    return list(dict.fromkeys([str(name), str(name).partition(".")[0]])) if name else []


def _public_ip(item: Mapping[str, Any]) -> str | None:
    """`elastic` stays and bills while the box is off, `ephemeral` (owner `amazon`) is lost at a stop."""
    owners = [(i.get("Association") or {}).get("IpOwnerId") for i in item.get("NetworkInterfaces") or ()]
    if any(owner and owner != "amazon" for owner in owners):
        return "elastic"
    return "ephemeral" if "amazon" in owners or item.get("PublicIpAddress") else None


def _utc(value: datetime | None) -> datetime | None:
    return utc(value) if value is not None else None


def _price(text: str | None, currency: str) -> Money | None:
    """A decimal string; zero and nonsense are unknown."""
    try:
        price = Money.of(text or "", currency)
    except ValueError:
        return None
    return price if price.nanos > 0 else None


def vm_ref(account: str, region: str, id: str) -> ResourceRef:
    return ResourceRef("aws", account, region, Kind.VM, id)
