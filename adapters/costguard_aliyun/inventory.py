"""The Inventory role: regions with their endpoints, listings page by page, and live reads."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.errors import NotFound, ProviderError
from costguard_aliyun.client import Api, bad
from costguard_aliyun.instance_types import InstanceTypes
from costguard_aliyun.instances import read_instance, vm_ref
from costguard_aliyun.storage import read_address, read_disk, read_snapshot

_PAGE = 100


@dataclass(frozen=True, slots=True)
class _Plain:
    """How a kind without power states is listed. `only` makes the parameters that ask for one id."""

    product: str
    action: str
    path: str
    id_key: str
    read: Callable[[Mapping[str, Any], ResourceRef, datetime], Resource]
    only: Callable[[str], dict[str, Any]]
    size: int
    numbered: bool = False


_PLAIN = {
    Kind.DISK: _Plain(
        "ecs", "DescribeDisks", "Disks.Disk", "DiskId", read_disk, lambda id: {"DiskIds": json.dumps([id])}, 500
    ),
    Kind.SNAPSHOT: _Plain(
        "ecs", "DescribeSnapshots", "Snapshots.Snapshot", "SnapshotId", read_snapshot,
        lambda id: {"SnapshotIds": json.dumps([id])}, _PAGE,
    ),
    Kind.ADDRESS: _Plain(
        "vpc", "DescribeEipAddresses", "EipAddresses.EipAddress", "AllocationId", read_address,
        lambda id: {"AllocationId": id}, _PAGE, numbered=True,
    ),
}  # fmt: skip


class InventoryRole:
    """Lists and reads resources of one account."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._types = InstanceTypes(api)
        self._seen: frozenset[str] = frozenset()

    def regions(self) -> Sequence[str]:
        """The configured regions, else every region that the account can see."""
        configured = tuple(dict.fromkeys(name.strip() for name in self._api.spec.regions))
        return configured or tuple(sorted(self._visible_regions()))

    def local_names(self, language: str) -> Mapping[str, str]:
        """Region ids by their display names, as bills write them. `language`: zh-CN or en-US."""
        found = self._describe_regions(AcceptLanguage=language)
        return {str(item["LocalName"]): str(item["RegionId"]) for item in found if item.get("LocalName")}

    def list(self, kind: Kind, region: str) -> Iterator[Resource]:
        """Every resource of `kind`, each once, page by page. Raises NotFound for a region that does not exist."""
        self._check(region)
        seen: set[str] = set()
        found = self._vms(region) if kind is Kind.VM else self._plain(kind, region)
        for resource in found:
            if resource.ref.id not in seen and resource.state is not State.GONE:
                seen.add(resource.ref.id)
                yield resource

    def get(self, ref: ResourceRef) -> Resource:
        """A live read. Raises NotFound."""
        if ref.kind is not Kind.VM:
            return self._get_plain(ref)
        item = self.instance(ref)
        observed_at = self._api.clock.now()
        kinds = self._types.get(ref.region, [item["InstanceType"]] if item.get("InstanceType") else [])
        return read_instance(item, ref, kinds.get(item.get("InstanceType") or ""), self._api.currency, observed_at)

    def instance(self, ref: ResourceRef) -> Mapping[str, Any]:
        """The raw instance. Raises NotFound when it is gone."""
        call = self._api.call_of("ecs", ref.region, "DescribeInstances")
        answer = self._api.read("ecs", "DescribeInstances", ref.region, InstanceIds=json.dumps([ref.id]))
        for item in self._api.items(answer, "Instances.Instance", call):
            if item.get("InstanceId") == ref.id and item.get("Status") != "Deleted":
                found: Mapping[str, Any] = item
                return found
        raise call.failed(NotFound, f"{ref.id} is gone")

    def _vms(self, region: str) -> Iterator[Resource]:
        api = self._api
        for page in api.pages("ecs", "DescribeInstances", region, "Instances.Instance", MaxResults=_PAGE):
            kinds = self._types.get(region, {item["InstanceType"] for item in page if item.get("InstanceType")})
            observed_at = api.clock.now()
            for item in page:
                if not item.get("InstanceId"):
                    call = api.call_of("ecs", region, "DescribeInstances")
                    raise bad(call, "InstanceId", "an instance without an id")
                ref = vm_ref(api.account, region, item["InstanceId"])
                kind = kinds.get(item.get("InstanceType") or "")
                yield read_instance(item, ref, kind, api.currency, observed_at)

    def _plain(self, kind: Kind, region: str) -> Iterator[Resource]:
        how, api = _PLAIN[kind], self._api
        pages = (
            api.numbered_pages(how.product, how.action, region, how.path, size=how.size)
            if how.numbered
            else api.pages(how.product, how.action, region, how.path, MaxResults=how.size)
        )
        for page in pages:
            observed_at = api.clock.now()
            for item in page:
                id = item.get(how.id_key)
                if not id:
                    raise bad(api.call_of(how.product, region, how.action), how.id_key, "an item without an id")
                yield how.read(item, ResourceRef("aliyun", api.account, region, kind, id), observed_at)

    def _get_plain(self, ref: ResourceRef) -> Resource:
        how = _PLAIN.get(ref.kind)
        if how is None:
            call = self._api.call_of("ecs", ref.region, "Describe")
            raise call.failed(NotFound, f"there are no resources of kind {ref.kind.value} here")
        call = self._api.call_of(how.product, ref.region, how.action)
        answer = self._api.read(how.product, how.action, ref.region, **how.only(ref.id))
        for item in self._api.items(answer, how.path, call):
            if item.get(how.id_key) == ref.id:
                return how.read(item, ref, self._api.clock.now())
        raise call.failed(NotFound, f"{ref.id} is gone")

    def _check(self, region: str) -> None:
        """A mistyped region must read as such, not as a host that cannot be found. Learns the endpoints as well."""
        try:
            if region in self._seen or region in self._visible_regions():
                return
        except ProviderError:  # it cannot be told: the listing itself will speak
            return
        raise self._api.call_of("ecs", region, "DescribeRegions").failed(
            NotFound, "the region does not exist or is not open to the account", "InvalidRegionId.NotFound"
        )

    def _visible_regions(self) -> frozenset[str]:
        found = self._describe_regions()
        told = {str(item["RegionId"]): str(item.get("RegionEndpoint") or "") for item in found}
        self._api.learn_endpoints(told)
        self._seen = frozenset(told)
        return self._seen

    def _describe_regions(self, **params: Any) -> Sequence[Mapping[str, Any]]:
        api = self._api
        answer = api.read("ecs", "DescribeRegions", api.home_region, **params)
        found = api.items(answer, "Regions.Region", api.call_of("ecs", api.home_region, "DescribeRegions"))
        return [item for item in found if item.get("RegionId")]
