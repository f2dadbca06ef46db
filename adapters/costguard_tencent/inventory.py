"""The Inventory role: regions, listings by offset, live reads, and what a second call tells of instances."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from costguard.domain.resource import Kind, Resource, ResourceRef, State
from costguard.errors import NotFound, PermissionDenied, ProviderError, Unsupported
from costguard_tencent.client import Api, log
from costguard_tencent.fields import read_time
from costguard_tencent.instance_types import UNSEEN, InstanceTypes, is_plain
from costguard_tencent.instances import Beside, public_address, read_instance, vm_ref
from costguard_tencent.starts import Starts
from costguard_tencent.storage import is_elastic, read_address, read_disk, read_snapshot

TIMER = "TerminateInstances"


@dataclass(frozen=True, slots=True)
class _Plain:
    """How a kind without power states is listed. `ids` is the parameter that asks for some of them."""

    product: str
    action: str
    path: str
    id_key: str
    ids: str
    read: Callable[[Mapping[str, Any], ResourceRef, datetime], Resource]


_PLAIN = {
    Kind.DISK: _Plain("cbs", "DescribeDisks", "DiskSet", "DiskId", "DiskIds", read_disk),
    Kind.SNAPSHOT: _Plain("cbs", "DescribeSnapshots", "SnapshotSet", "SnapshotId", "SnapshotIds", read_snapshot),
    Kind.ADDRESS: _Plain("vpc", "DescribeAddresses", "AddressSet", "AddressId", "AddressIds", read_address),
}


class InventoryRole:
    """Lists and reads resources of one account."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._types = InstanceTypes(api)
        self._starts = Starts()
        self._listed: dict[str, frozenset[str]] = {}

    def regions(self) -> Sequence[str]:
        """The configured regions, else every region that is open."""
        configured = tuple(dict.fromkeys(name.strip() for name in self._api.spec.regions))
        return configured or tuple(sorted(self._open_regions()))

    def list(self, kind: Kind, region: str) -> Iterator[Resource]:
        """Every resource of `kind`, each once."""
        found = self._vms(region) if kind is Kind.VM else self._plain(kind, region)
        return (resource for resource in found if resource.state is not State.GONE)

    def get(self, ref: ResourceRef) -> Resource:
        """A live read. Raises NotFound."""
        if ref.kind is not Kind.VM:
            return self._get_plain(ref)
        item = self.instance(ref)
        observed_at = self._api.clock.now()
        elastic = self._elastic(ref.region, ref.id) if public_address(item) else frozenset()
        return self._read(item, ref, elastic, self._timers(ref.region, ref.id), observed_at)

    def instance(self, ref: ResourceRef) -> Mapping[str, Any]:
        """The raw instance. Raises NotFound when it is gone: an unknown id is simply absent from the answer."""
        call = self._api.call_of("cvm", ref.region, "DescribeInstances")
        answer = self._api.read("cvm", "DescribeInstances", ref.region, InstanceIds=[ref.id])
        for item in self._api.items(answer, "InstanceSet", call):
            if item.get("InstanceId") == ref.id:
                found: Mapping[str, Any] = item
                return found
        raise call.failed(NotFound, f"{ref.id} is gone")

    def _vms(self, region: str) -> Iterator[Resource]:
        api = self._api
        elastic: frozenset[str] | None = None
        asked, ids = False, set()
        timers = self._timers(region)
        for item in api.listing("cvm", "DescribeInstances", region, "InstanceSet", "InstanceId"):
            observed_at = api.clock.now()
            if public_address(item) and not asked:
                elastic, asked = self._elastic(region), True
            ids.add(str(item["InstanceId"]))
            yield self._read(item, vm_ref(api.account, region, item["InstanceId"]), elastic, timers, observed_at)
        listed = frozenset(ids)
        self._starts.keep(self._listed.get(region, frozenset()), listed)
        self._listed[region] = listed

    def _read(
        self,
        item: Mapping[str, Any],
        ref: ResourceRef,
        elastic: frozenset[str] | None,
        timers: Mapping[str, datetime],
        observed_at: datetime,
    ) -> Resource:
        name = str(item.get("InstanceType") or "")
        # Of GPUs only the type tells the memory, and of other cards the count; plain boxes need no second call.
        kind = UNSEEN if is_plain(name) and not item.get("GPUInfo") else self._types.get(ref.region, name)
        beside = Beside(
            kind=kind,
            started_at=self._starts.started_at(item, observed_at),
            elastic=None if elastic is None else ref.id in elastic,
            release_at=timers.get(ref.id),
        )
        return read_instance(item, ref, beside, observed_at)

    def _elastic(self, region: str, id: str | None = None) -> frozenset[str] | None:
        """Ids of the instances with an elastic IP; None where it cannot be told: then both outcomes are warned of."""
        only: dict[str, Any] = {"Filters": [{"Name": "instance-id", "Values": [id]}]} if id else {}
        how = _PLAIN[Kind.ADDRESS]
        try:
            items = list(self._api.listing(how.product, how.action, region, how.path, how.id_key, **only))
        except ProviderError as error:  # for the sake of a warning's words no listing fails
            log.info("account %s: elastic IPs in %s are not known: %s", self._api.account, region, error.code)
            return None
        return frozenset(str(item.get("InstanceId")) for item in items if is_elastic(item))

    def _timers(self, region: str, id: str | None = None) -> Mapping[str, datetime]:
        """When CVM's own timer destroys an instance; asked only for accounts that may set one."""
        if not self._api.spec.allow_release:
            return {}
        try:
            timers = self.timers(region, id)
        except PermissionDenied:  # then costguard cannot set one either
            return {}
        times = {str(timer.get("InstanceId")): read_time(timer.get("ActionTime")) for timer in timers}
        return {instance: at for instance, at in times.items() if at is not None}

    def timers(self, region: str, id: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The timers that have not fired, of one instance or of all."""
        action = "DescribeInstancesActionTimer"
        ids = [id] if id else None
        answer = self._api.read("cvm", action, region, InstanceIds=ids, TimerAction=TIMER, StatusList=["UNDO"])
        return self._api.items(answer, "ActionTimers", self._api.call_of("cvm", region, action))

    def _plain(self, kind: Kind, region: str) -> Iterator[Resource]:
        how, api = _PLAIN[kind], self._api
        for item in api.listing(how.product, how.action, region, how.path, how.id_key):
            if kind is Kind.ADDRESS and not is_elastic(item):
                continue
            ref = ResourceRef("tencent", api.account, region, kind, item[how.id_key])
            yield how.read(item, ref, api.clock.now())

    def _get_plain(self, ref: ResourceRef) -> Resource:
        how = _PLAIN.get(ref.kind)
        if how is None:
            call = self._api.call_of("cvm", ref.region, "Describe")
            raise call.failed(NotFound, f"there are no resources of kind {ref.kind.value} here")
        call = self._api.call_of(how.product, ref.region, how.action)
        answer = self._api.read(how.product, how.action, ref.region, **{how.ids: [ref.id]})
        for item in self._api.items(answer, how.path, call):
            if item.get(how.id_key) == ref.id:
                return how.read(item, ref, self._api.clock.now())
        raise call.failed(NotFound, f"{ref.id} is gone")

    def region_names(self) -> Mapping[str, str]:
        """Region ids by their display names, as bills write them."""
        return {str(item["RegionName"]): str(item["Region"]) for item in self._regions() if item.get("RegionName")}

    def _open_regions(self) -> frozenset[str]:
        found = self._regions()
        return frozenset(
            str(item["Region"]) for item in found if str(item.get("RegionState") or "AVAILABLE") == "AVAILABLE"
        )

    def _regions(self) -> Sequence[Mapping[str, Any]]:
        """From the product `region`; CVM's own list, which is no longer kept up, where that may not be asked."""
        api = self._api
        product = "region"
        try:
            answer = api.read(product, "DescribeRegions", "", Product="cvm")
        except (PermissionDenied, Unsupported):
            product = "cvm"
            answer = api.read(product, "DescribeRegions", api.home_region)
        found = api.items(answer, "RegionSet", api.call_of(product, "", "DescribeRegions"))
        return [item for item in found if item.get("Region")]
