"""The Inventory role: listings page by page, and the live read that also looks up protections and group."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.errors import NotFound, PermissionDenied, ProviderError, Unsupported
from costguard_aws import capacity
from costguard_aws.client import Api
from costguard_aws.instance_types import InstanceTypes
from costguard_aws.instances import SCALING_GROUP, SpotRequest, instead, read_instance, read_spot_request, vm_ref
from costguard_aws.storage import read_address, read_gateway, read_reservation, read_snapshot, read_volume

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class _Plain:
    """How a kind without power states is listed. `id_key` names its id in the answer, `ids_param` in a request."""

    operation: str
    key: str
    id_key: str
    ids_param: str
    read: Callable[[Mapping[str, Any], ResourceRef, datetime], Resource]
    listing: Mapping[str, Any]


_PLAIN = {
    Kind.DISK: _Plain("DescribeVolumes", "Volumes", "VolumeId", "VolumeIds", read_volume, {"MaxResults": 500}),
    Kind.SNAPSHOT: _Plain(
        "DescribeSnapshots", "Snapshots", "SnapshotId", "SnapshotIds", read_snapshot,
        {"MaxResults": _PAGE, "OwnerIds": ["self"]},
    ),
    Kind.ADDRESS: _Plain("DescribeAddresses", "Addresses", "AllocationId", "AllocationIds", read_address, {}),
    Kind.GATEWAY: _Plain(
        "DescribeNatGateways", "NatGateways", "NatGatewayId", "NatGatewayIds", read_gateway, {"MaxResults": _PAGE}
    ),
    Kind.RESERVATION: _Plain(
        "DescribeCapacityReservations", "CapacityReservations", "CapacityReservationId", "CapacityReservationIds",
        read_reservation, {"MaxResults": _PAGE},
    ),
}  # fmt: skip


class InventoryRole:
    """Lists and reads resources of one account."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._types = InstanceTypes(api)
        self._enabled: frozenset[str] = frozenset()

    def regions(self) -> Sequence[str]:
        """The configured regions, else every region that is enabled for the account."""
        configured = tuple(dict.fromkeys(name.strip() for name in self._api.spec.regions))
        return configured or tuple(sorted(self._enabled_regions()))

    def list(self, kind: Kind, region: str) -> Iterator[Resource]:
        """Every resource of `kind`, each once, page by page. What is terminated is left out.

        Raises NotFound for a region that is not enabled for the account or does not exist.
        """
        self._check(region)
        seen: set[str] = set()
        found = self._vms(region) if kind is Kind.VM else self._plain(kind, region)
        for resource in found:
            if resource.ref.id not in seen and resource.state is not State.GONE:
                seen.add(resource.ref.id)
                yield resource

    def get(self, ref: ResourceRef) -> Resource:
        """A live read. For an instance: its protections and its scaling group are asked for as well.

        Raises PermissionDenied when those may not be read: what cannot be seen must not be acted on.
        """
        if ref.kind is not Kind.VM:
            return self._get_plain(ref)
        observed_at = self._api.clock.now()
        item = self.instance(ref)
        spot = None
        if item.get("InstanceLifecycle") == "spot":
            request = item.get("SpotInstanceRequestId")
            spot = self._spot_of(item, self._spot_requests(ref.region, [request] if request else None))
        type = item.get("InstanceType") or ""
        kinds = self._types.get(ref.region, [type] if type else [])
        reservations = self._open_reservations(ref.region, type) if capacity.may_be_open(item) else ()
        kind = kinds.get(type)
        resource = read_instance(
            item, ref, kind, spot, observed_at, reservations, hibernate=self._api.options.hibernate
        )
        group = self._scaling_group(ref) or resource.group
        return replace(
            resource,
            protected=resource.protected or ("disableApiStop" if self._stop_disabled(ref) else None),
            group=group,
            attributes={**resource.attributes, **instead(group, ref)},
        )

    def instance(self, ref: ResourceRef) -> Mapping[str, Any]:
        """The raw instance. Raises NotFound when it is gone or terminated."""
        answer = self._api.read("ec2", ref.region, "DescribeInstances", InstanceIds=[ref.id])
        call = self._api.call_of("ec2", ref.region, "DescribeInstances")
        for reservation in self._api.required(answer, "Reservations", call):
            for item in reservation.get("Instances") or ():
                if item.get("InstanceId") == ref.id and (item.get("State") or {}).get("Name") != "terminated":
                    found: Mapping[str, Any] = item
                    return found
        raise call.failed(NotFound, f"{ref.id} is gone")

    def _vms(self, region: str) -> Iterator[Resource]:
        api = self._api
        spots: dict[str, SpotRequest] | None = None
        reservations: Sequence[Mapping[str, Any]] | None = None
        # A page is as old as its request: what is seen live while it travels is newer.
        observed_at = api.clock.now()
        for page in api.pages("ec2", region, "DescribeInstances", "Reservations", MaxResults=_PAGE):
            items = [item for reservation in page for item in reservation.get("Instances") or ()]
            kinds = self._types.get(region, {i["InstanceType"] for i in items if i.get("InstanceType")})
            for item in items:
                if not item.get("InstanceId"):
                    raise api.bad("ec2", region, "DescribeInstances", "InstanceId", "an instance without an id")
                spot = None
                if item.get("InstanceLifecycle") == "spot":
                    spots = self._spot_requests(region) if spots is None else spots
                    spot = self._spot_of(item, spots)
                if reservations is None and capacity.may_be_open(item):
                    reservations = self._open_reservations(region)
                ref = vm_ref(api.account, region, item["InstanceId"])
                kind = kinds.get(item.get("InstanceType") or "")
                yield read_instance(
                    item, ref, kind, spot, observed_at, reservations or (), hibernate=api.options.hibernate
                )
            observed_at = api.clock.now()

    def _spot_requests(self, region: str, ids: Sequence[str] | None = None) -> dict[str, SpotRequest]:
        """By request id and by instance id. Without the permission: none, so that the stop's effect is unknown."""
        found: dict[str, SpotRequest] = {}
        which: dict[str, Any] = {"SpotInstanceRequestIds": [*ids]} if ids else {"MaxResults": _PAGE}
        try:
            for page in self._api.pages("ec2", region, "DescribeSpotInstanceRequests", "SpotInstanceRequests", **which):
                for item in page:
                    request = read_spot_request(item, self._api.currency)
                    found.update((key, request) for key in (request.id, item.get("InstanceId")) if key)
        except (PermissionDenied, NotFound):
            return {}
        return found

    def _open_reservations(self, region: str, type: str | None = None) -> Sequence[Mapping[str, Any]]:
        """Those that an instance may have been taken into without naming one. Without the permission: none, and only
        what DescribeInstances itself names is seen."""
        wanted = {**capacity.OPEN, **({"instance-type": type} if type else {})}
        filters = [{"Name": name, "Values": [value]} for name, value in wanted.items()]
        how = _PLAIN[Kind.RESERVATION]
        try:
            pages = self._api.pages("ec2", region, how.operation, how.key, Filters=filters, **how.listing)
            return [item for page in pages for item in page]
        except (PermissionDenied, Unsupported):
            return ()

    @staticmethod
    def _spot_of(item: Mapping[str, Any], requests: Mapping[str, SpotRequest]) -> SpotRequest | None:
        return requests.get(item.get("SpotInstanceRequestId") or "") or requests.get(item.get("InstanceId") or "")

    def _stop_disabled(self, ref: ResourceRef) -> bool:
        answer = self._api.read(
            "ec2", ref.region, "DescribeInstanceAttribute", InstanceId=ref.id, Attribute="disableApiStop"
        )
        call = self._api.call_of("ec2", ref.region, "DescribeInstanceAttribute")
        return bool(self._api.required(answer, "DisableApiStop", call).get("Value"))

    def _scaling_group(self, ref: ResourceRef) -> str | None:
        answer = self._api.read("autoscaling", ref.region, "DescribeAutoScalingInstances", InstanceIds=[ref.id])
        call = self._api.call_of("autoscaling", ref.region, "DescribeAutoScalingInstances")
        for member in self._api.required(answer, "AutoScalingInstances", call):
            return f"{SCALING_GROUP}={member.get('AutoScalingGroupName') or ''}"
        return None

    def _plain(self, kind: Kind, region: str) -> Iterator[Resource]:
        how = _PLAIN[kind]
        observed_at = self._api.clock.now()
        for page in self._api.pages("ec2", region, how.operation, how.key, **how.listing):
            for item in page:
                id = item.get(how.id_key)
                if not id:
                    raise self._api.bad("ec2", region, how.operation, how.id_key, "an item without an id")
                yield how.read(item, ResourceRef("aws", self._api.account, region, kind, id), observed_at)
            observed_at = self._api.clock.now()

    def _get_plain(self, ref: ResourceRef) -> Resource:
        call = self._api.call_of("ec2", ref.region, "Describe")
        how = _PLAIN.get(ref.kind)
        if how is None:
            raise call.failed(NotFound, f"there are no resources of kind {ref.kind.value} here")
        answer = self._api.read("ec2", ref.region, how.operation, **{how.ids_param: [ref.id]})
        for item in self._api.required(answer, how.key, self._api.call_of("ec2", ref.region, how.operation)):
            resource = how.read(item, ref, self._api.clock.now())
            if resource.state is not State.GONE:
                return resource
        raise call.failed(NotFound, f"{ref.id} is gone")

    def _check(self, region: str) -> None:
        """A mistyped region must read as such, not as a host that cannot be found."""
        try:
            if region in self._enabled or region in self._enabled_regions():
                return
        except ProviderError:  # it cannot be told: the listing itself will speak
            return
        raise self._api.call_of("ec2", region, "DescribeRegions").failed(
            NotFound, "the region does not exist or is not enabled for the account", "RegionNotEnabled"
        )

    def _enabled_regions(self) -> frozenset[str]:
        api = self._api
        answer = api.read("ec2", api.home_region, "DescribeRegions", AllRegions=False)
        found = api.required(answer, "Regions", api.call_of("ec2", api.home_region, "DescribeRegions"))
        self._enabled = frozenset(r["RegionName"] for r in found if r.get("RegionName"))
        return self._enabled
