"""EC2 and Auto Scaling, with what moto leaves out: pages, states in transition, LaunchTime, spot requests, refusals.

Transitions end as the clock moves on; a terminated instance is shown for an hour.

Facts from the EC2 API reference and user guide: a stop of a one-time spot request or an instance-store root is
UnsupportedOperation, of a protected box OperationNotPermitted, of a pending or terminated one IncorrectInstanceState.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from costguard.testing.cloud import Fault
from tests.fakes.aws.box import TAKES, Box, change
from tests.fakes.aws.codec import Refused
from tests.fakes.aws.types import TYPES, describe

# EC2 promises MaxResults at most, not at least.
PAGE = 250
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_RESERVATION_FILTERS = {
    "state": "State",
    "instance-match-criteria": "InstanceMatchCriteria",
    "instance-type": "InstanceType",
}
_ID = re.compile(r"i-([0-9a-f]{8}|[0-9a-f]{17})")


class Ec2:
    """State and operations of all regions. `things` are the volumes, snapshots, addresses and gateways as described."""

    def __init__(self, clock: FakeClock, account: str, regions: Sequence[str]) -> None:
        self.clock, self.account, self.regions = clock, account, regions
        self.boxes: dict[str, Box] = {}
        self.things: dict[str, dict[str, dict[str, Any]]] = {
            key: {} for key in ("Volumes", "Snapshots", "Addresses", "NatGateways", "CapacityReservations")
        }
        self.thing_regions: dict[str, str] = {}
        self.spot_prices: list[dict[str, Any]] = []
        self.sold_out: set[str] = set()
        self._made = 0

    def add(self, region: str, type: str, **fields: Any) -> Box:
        self._made += 1
        ago = self.clock.now() - timedelta(hours=5)
        known: dict[str, Any] = {"state": "running", "tags": {}, "created": ago, "launched": ago, **fields}
        box = Box(f"i-{self._made:017x}", region, type, **known)
        self.boxes[box.id] = box
        return box

    def add_thing(self, region: str, key: str, id: str, **fields: Any) -> None:
        self.things[key][id] = fields
        self.thing_regions[id] = region

    def region_of(self, id: str) -> str | None:
        box = self.boxes.get(id)
        return box.region if box else None

    def settle(self) -> None:
        for box in self.boxes.values():
            if box.state in TAKES:
                box.enter(TAKES[box.state][1], self.clock.now())

    def dry_run(self, region: str, operation: str, params: Mapping[str, Any]) -> None:
        """DryRun checks permissions first and then that the ids exist."""
        for id in params.get("InstanceIds", ()):
            self._box(region, id)

    # Reads.

    def DescribeRegions(self, region: str, AllRegions: bool = False, **_: Any) -> Mapping[str, Any]:
        enabled = [{"RegionName": r, "OptInStatus": "opt-in-not-required"} for r in self.regions]
        return {
            "Regions": enabled + ([{"RegionName": "me-south-1", "OptInStatus": "not-opted-in"}] if AllRegions else [])
        }

    def DescribeInstances(
        self,
        region: str,
        InstanceIds: Sequence[str] = (),
        MaxResults: int | None = None,
        NextToken: str = "",
        paging: Fault | None = None,
    ) -> Mapping[str, Any]:
        if InstanceIds and MaxResults:
            raise Refused("InvalidParameterCombination")
        _check_size(MaxResults, 5, 1_000)
        if InstanceIds:
            found = [self._box(region, id) for id in InstanceIds]
            return {"Reservations": [{"ReservationId": "r-1", "Instances": [b.described()]} for b in found]}
        boxes = self._here(region)
        page, token = paged(boxes, MaxResults, NextToken, paging)
        reservations = [{"ReservationId": "r-1", "Instances": [b.described() for b in part]} for part in _pairs(page)]
        return {"Reservations": reservations, **token}

    def DescribeInstanceAttribute(self, region: str, InstanceId: str, Attribute: str, **_: Any) -> Mapping[str, Any]:
        box = self._box(region, InstanceId)
        known: dict[str, dict[str, Any]] = {
            "disableApiStop": {"DisableApiStop": {"Value": box.protected}},
            "disableApiTermination": {"DisableApiTermination": {"Value": box.undeletable}},
            "instanceInitiatedShutdownBehavior": {"InstanceInitiatedShutdownBehavior": {"Value": "stop"}},
        }
        if Attribute not in known:
            raise Refused("InvalidParameterValue")
        return {"InstanceId": InstanceId, **known[Attribute]}

    def DescribeInstanceTypes(
        self,
        region: str,
        Filters: Sequence[Mapping[str, Any]] = (),
        MaxResults: int | None = None,
        NextToken: str = "",
        paging: Fault | None = None,
    ) -> Mapping[str, Any]:
        _check_size(MaxResults, 5, 100)
        wanted = {value for f in Filters if f["Name"] == "instance-type" for value in f["Values"]}
        if len(wanted) > 200:
            raise Refused("FilterLimitExceeded")
        page, token = paged([name for name in TYPES if name in wanted or not Filters], MaxResults, NextToken, None)
        return {"InstanceTypes": [describe(name) for name in page], **token}

    def DescribeSpotInstanceRequests(
        self,
        region: str,
        SpotInstanceRequestIds: Sequence[str] = (),
        MaxResults: int | None = None,
        NextToken: str = "",
        paging: Fault | None = None,
    ) -> Mapping[str, Any]:
        if SpotInstanceRequestIds and MaxResults:
            raise Refused("InvalidParameterCombination")
        _check_size(MaxResults, 5, 1_000)
        boxes = [b for b in self._here(region) if b.request]
        if SpotInstanceRequestIds:
            boxes = [b for b in boxes if b.request in SpotInstanceRequestIds]
            if len(boxes) < len(SpotInstanceRequestIds):
                raise Refused("InvalidSpotInstanceRequestID.NotFound")
        page, token = paged(boxes, MaxResults, NextToken, None)
        requests = [
            {
                "SpotInstanceRequestId": box.request,
                "InstanceId": box.id,
                "Type": box.spot_type,
                "State": box.spot_state,
                "SpotPrice": box.spot_price,
                "InstanceInterruptionBehavior": "terminate" if box.spot_type == "one-time" else "stop",
            }
            for box in page
        ]
        return {"SpotInstanceRequests": requests, **token}

    def DescribeSpotPriceHistory(
        self,
        region: str,
        InstanceTypes: Sequence[str] = (),
        ProductDescriptions: Sequence[str] = (),
        StartTime: datetime = _LONG_AGO,
        EndTime: datetime = _LONG_AGO,
        MaxResults: int = 1_000,
        NextToken: str = "",
        paging: Fault | None = None,
    ) -> Mapping[str, Any]:
        """Newest first, with the last change before StartTime of each type and zone."""
        if list(ProductDescriptions) != ["Linux/UNIX"] or EndTime > self.clock.now():
            raise Refused("InvalidParameterValue")
        found: list[dict[str, Any]] = []
        series: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for point in self.spot_prices:
            if point["InstanceType"] in InstanceTypes and point["AvailabilityZone"].startswith(region):
                series.setdefault((point["InstanceType"], point["AvailabilityZone"]), []).append(point)
        for points in series.values():
            before = [p for p in points if p["Timestamp"] < StartTime]
            found += [p for p in points if StartTime <= p["Timestamp"] <= EndTime]
            found += [max(before, key=lambda p: p["Timestamp"])] if before else []
        found.sort(key=lambda p: p["Timestamp"], reverse=True)
        page, token = paged(found, 3, NextToken, None)
        return {"SpotPriceHistory": list(page), **token}

    def DescribeVolumes(self, region: str, VolumeIds: Sequence[str] = (), **paging: Any) -> Mapping[str, Any]:
        return self._things(region, "Volumes", "VolumeId", VolumeIds, "InvalidVolume.NotFound", paging)

    def DescribeSnapshots(
        self, region: str, SnapshotIds: Sequence[str] = (), OwnerIds: Sequence[str] = (), **paging: Any
    ) -> Mapping[str, Any]:
        if not SnapshotIds and list(OwnerIds) != ["self"]:
            raise Refused("InvalidParameterValue")  # thousands of public snapshots are never wanted
        return self._things(region, "Snapshots", "SnapshotId", SnapshotIds, "InvalidSnapshot.NotFound", paging)

    def DescribeAddresses(self, region: str, AllocationIds: Sequence[str] = (), **_: Any) -> Mapping[str, Any]:
        return self._things(region, "Addresses", "AllocationId", AllocationIds, "InvalidAllocationID.NotFound", {})

    def DescribeNatGateways(self, region: str, NatGatewayIds: Sequence[str] = (), **paging: Any) -> Mapping[str, Any]:
        return self._things(region, "NatGateways", "NatGatewayId", NatGatewayIds, "NatGatewayNotFound", paging)

    def DescribeCapacityReservations(
        self,
        region: str,
        CapacityReservationIds: Sequence[str] = (),
        Filters: Sequence[Mapping[str, Any]] = (),
        **paging: Any,
    ) -> Mapping[str, Any]:
        """Every filter must hold, and any of its values; EC2 knows some more filters, which nobody here asks for."""
        _check_size(paging.get("MaxResults"), 1, 1_000)
        missing = "InvalidCapacityReservationId.NotFound"
        key, id_key = "CapacityReservations", "CapacityReservationId"
        wanted = {_RESERVATION_FILTERS.get(f["Name"], ""): set(f["Values"]) for f in Filters}
        if "" in wanted:
            raise Refused("InvalidParameterValue")
        here = {id for id, thing in self.things[key].items() if self.thing_regions[id] == region}
        if set(CapacityReservationIds) - here:
            raise Refused(missing)
        fits = [
            id
            for id in CapacityReservationIds or sorted(here)
            if all(self.things[key][id].get(name) in values for name, values in wanted.items())
        ]
        return self._things(region, key, id_key, fits, missing, paging) if fits else {key: []}

    # Changes.

    def StopInstances(
        self,
        region: str,
        InstanceIds: Sequence[str],
        Hibernate: bool = False,
        Force: bool = False,
        paging: Fault | None = None,
    ) -> Mapping[str, Any]:
        """One bad id refuses them all."""
        boxes = [self._box(region, id) for id in InstanceIds]
        for box in boxes:
            if box.protected:
                raise Refused("OperationNotPermitted")
            if box.spot_type == "one-time" or box.root == "instance-store" or (Hibernate and not box.hibernation):
                raise Refused("UnsupportedOperation")
            if box.state in {"pending", "shutting-down", "terminated"}:
                raise Refused("IncorrectInstanceState")
            if Hibernate and box.hibernation == "not ready":
                raise Refused("UnsupportedHibernationConfiguration")
        return {"StoppingInstances": [self._stop(box, Hibernate) for box in boxes]}

    def _stop(self, box: Box, hibernate: bool) -> Mapping[str, Any]:
        before = box.state
        if before == "running":
            box.enter("stopping", self.clock.now())
            works = hibernate and box.hibernation != "fails"
            box.reason_code = "Client.UserInitiatedHibernate" if works else "Client.UserInitiatedShutdown"
            box.reason = f"User initiated ({self.clock.now():%Y-%m-%d %H:%M:%S} GMT)"
            box.spot_state = "disabled" if box.spot_type else box.spot_state
        return change(box, before)

    def StartInstances(self, region: str, InstanceIds: Sequence[str], paging: Fault | None = None) -> Mapping[str, Any]:
        boxes = [self._box(region, id) for id in InstanceIds]
        for box in boxes:
            if box.state in {"stopping", "shutting-down", "terminated"}:
                raise Refused("IncorrectInstanceState")
            if box.interrupted:
                raise Refused("IncorrectSpotRequestState")
            if box.state == "stopped" and box.type in self.sold_out:
                raise Refused("InsufficientInstanceCapacity", 500)
        return {"StartingInstances": [self._start(box) for box in boxes]}

    def _start(self, box: Box) -> Mapping[str, Any]:
        before = box.state
        if before == "stopped":
            box.enter("pending", self.clock.now())
            box.reason, box.reason_code, box.launched = "", "", self.clock.now()
            box.spot_state = "active" if box.spot_type else box.spot_state
        return change(box, before)

    def TerminateInstances(
        self, region: str, InstanceIds: Sequence[str], paging: Fault | None = None
    ) -> Mapping[str, Any]:
        boxes = [self._box(region, id) for id in InstanceIds]
        if any(box.undeletable for box in boxes):
            raise Refused("OperationNotPermitted")
        changes = []
        for box in boxes:
            before = box.state
            if box.spot_type == "persistent" and box.spot_state == "active":
                self.add(region, box.type, lifecycle="spot", spot_type="persistent")  # the request wants its box back
            if before not in {"shutting-down", "terminated"}:
                box.enter("shutting-down", self.clock.now())
            changes.append(change(box, before))
        return {"TerminatingInstances": changes}

    def CancelSpotInstanceRequests(
        self, region: str, SpotInstanceRequestIds: Sequence[str], **_: Any
    ) -> Mapping[str, Any]:
        for box in self.boxes.values():
            if box.request in SpotInstanceRequestIds:
                box.spot_state = "cancelled"
        return {
            "CancelledSpotInstanceRequests": [
                {"SpotInstanceRequestId": id, "State": "cancelled"} for id in SpotInstanceRequestIds
            ]
        }

    def CreateTags(
        self, region: str, Resources: Sequence[str], Tags: Sequence[Mapping[str, str]], **_: Any
    ) -> Mapping[str, Any]:
        for id in Resources:
            self._box(region, id).tags.update({tag["Key"]: tag["Value"] for tag in Tags})
        return {}

    def DeleteVolume(self, region: str, VolumeId: str, **_: Any) -> Mapping[str, Any]:
        if self.things["Volumes"].get(VolumeId, {}).get("State") == "in-use":
            raise Refused("VolumeInUse")
        return self._delete("Volumes", VolumeId, "InvalidVolume.NotFound")

    def DeleteSnapshot(self, region: str, SnapshotId: str, **_: Any) -> Mapping[str, Any]:
        return self._delete("Snapshots", SnapshotId, "InvalidSnapshot.NotFound")

    def ReleaseAddress(self, region: str, AllocationId: str, **_: Any) -> Mapping[str, Any]:
        return self._delete("Addresses", AllocationId, "InvalidAllocationID.NotFound")

    def DeleteNatGateway(self, region: str, NatGatewayId: str, **_: Any) -> Mapping[str, Any]:
        self._delete("NatGateways", NatGatewayId, "NatGatewayNotFound")
        return {"NatGatewayId": NatGatewayId}

    def _delete(self, key: str, id: str, missing: str) -> Mapping[str, Any]:
        if self.things[key].pop(id, None) is None:
            raise Refused(missing)
        return {}

    def _things(
        self, region: str, key: str, id_key: str, ids: Sequence[str], missing: str, paging: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        here = {id: t for id, t in self.things[key].items() if self.thing_regions[id] == region}
        if set(ids) - here.keys():
            raise Refused(missing)
        items = [{id_key: id, **thing} for id, thing in here.items() if not ids or id in ids]
        page, token = paged(items, paging.get("MaxResults"), paging.get("NextToken", ""), None)
        return {key: list(page), **(token if "MaxResults" in paging else {})}

    def _box(self, region: str, id: str) -> Box:
        if not _ID.fullmatch(id):
            raise Refused("InvalidInstanceID.Malformed")
        box = self.boxes.get(id)
        if box is not None:
            box.ripen(self.clock.now())
        if box is None or box.region != region or box.forgotten(self.clock.now()):
            raise Refused("InvalidInstanceID.NotFound")
        return box

    def _here(self, region: str) -> list[Box]:
        """The region's boxes as they are now."""
        now = self.clock.now()
        for box in self.boxes.values():
            box.ripen(now)
        return [box for box in self.boxes.values() if box.region == region and not box.forgotten(now)]


class AutoScaling:
    """Who is a member of which group."""

    def __init__(self, ec2: Ec2) -> None:
        self._ec2 = ec2

    def DescribeAutoScalingInstances(self, region: str, InstanceIds: Sequence[str] = (), **_: Any) -> Mapping[str, Any]:
        members = [b for b in self._ec2.boxes.values() if b.region == region and b.group and b.id in InstanceIds]
        return {
            "AutoScalingInstances": [
                {
                    "InstanceId": box.id,
                    "AutoScalingGroupName": box.group,
                    "AvailabilityZone": f"{region}a",
                    "LifecycleState": "InService",
                    "HealthStatus": "HEALTHY",
                    "ProtectedFromScaleIn": False,
                }
                for box in members
            ]
        }


def paged(
    items: Sequence[Any], limit: int | None, token: str, fault: Fault | None
) -> tuple[Sequence[Any], dict[str, str]]:
    """One page and the token of the next. Without a limit: everything at once, as EC2 does."""
    if limit is None:
        return items, {}
    size = min(limit, PAGE)
    if token and not re.fullmatch(r"page-\d+", token):
        raise Refused("InvalidNextToken")
    start = int(token.removeprefix("page-")) if token else 0
    if fault is Fault.REPEATED_TOKEN:
        return items[:size], {"NextToken": f"page-{size}"}
    end = start + size
    first = max(0, start - 1) if fault is Fault.DUPLICATED_ITEM else start
    return items[first:end], {"NextToken": f"page-{end}"} if end < len(items) else {}


def _check_size(size: int | None, least: int, most: int) -> None:
    if size is not None and not least <= size <= most:
        raise Refused("InvalidParameterValue")


def _pairs(boxes: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Some reservations hold two instances."""
    for start in range(0, len(boxes), 2):
        yield boxes[start : start + 2]
