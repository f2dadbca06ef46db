"""The Power, Release and Tagging roles: everything that changes something. One call, never repeated here."""

from collections.abc import Mapping
from datetime import datetime

from costguard.domain.resource import Kind, Resource, ResourceRef, StopEffect
from costguard.errors import InvalidState, Unsupported
from costguard.ports import PowerResult
from costguard_aliyun import effects
from costguard_aliyun.client import Api
from costguard_aliyun.errors import WRONG_STATE
from costguard_aliyun.fields import write_time
from costguard_aliyun.inventory import InventoryRole

_RELEASE = {
    Kind.DISK: ("ecs", "DeleteDisk", "DiskId"),
    Kind.SNAPSHOT: ("ecs", "DeleteSnapshot", "SnapshotId"),
    Kind.ADDRESS: ("vpc", "ReleaseEipAddress", "AllocationId"),
}
_TAGGED = {
    Kind.VM: ("ecs", "instance"),
    Kind.DISK: ("ecs", "disk"),
    Kind.SNAPSHOT: ("ecs", "snapshot"),
    Kind.ADDRESS: ("vpc", "EIP"),
}
_TAGS_PER_CALL = 20
_RESERVED = ("aliyun", "acs:")


class PowerRole:
    """Stops, starts, releases and tags. ECS takes no token for these calls: ours is logged and nothing more.

    A second stop or start meets IncorrectInstanceStatus; the box is read again then, and what is wanted is ALREADY.
    """

    def __init__(self, api: Api, inventory: InventoryRole) -> None:
        self._api, self._inventory = api, inventory

    def stop_effect(self, resource: Resource) -> StopEffect:
        return effects.stop_effect(resource)

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        """A stop in economical mode, without force. Whether the bill really ended is told by the next live read.

        Raises Unsupported where ECS refuses that mode: it is not repeated in the mode that bills on.
        """
        return self._switch(ref, "StopInstance", token, {"Stopped", "Stopping"}, {"StoppedMode": "StopCharging"})

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        """Raises QuotaExceeded when the type is out of stock."""
        return self._switch(ref, "StartInstance", token, {"Running", "Starting"}, {})

    def release(self, ref: ResourceRef, token: str) -> PowerResult:
        """Destroys, a running box too. Raises InvalidState for a subscription and under DeletionProtection,
        Unsupported for an account without allow_release."""
        self._allowed(ref, "Release")
        if ref.kind is Kind.VM:
            self._api.mutate("ecs", "DeleteInstance", ref.region, token, InstanceId=ref.id, Force=True)
            return PowerResult.ACCEPTED
        known = _RELEASE.get(ref.kind)
        if known is None:
            call = self._api.call_of("ecs", ref.region, "Release")
            raise call.failed(Unsupported, f"no {ref.kind.value} can be released")
        product, action, parameter = known
        self._api.mutate(product, action, ref.region, token, **{parameter: ref.id})
        return PowerResult.ACCEPTED

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        """ECS's own timer, which destroys in spite of DeletionProtection; 30 minutes to 3 years ahead, to the minute.

        None removes it, which is allowed without allow_release.
        """
        if at is not None:
            self._allowed(ref, "ModifyInstanceAutoReleaseTime")
        self._only_vm(ref, "ModifyInstanceAutoReleaseTime")
        when = {"AutoReleaseTime": write_time(at)} if at is not None else {}
        self._api.mutate("ecs", "ModifyInstanceAutoReleaseTime", ref.region, "-", InstanceId=ref.id, **when)

    def tag(self, ref: ResourceRef, tags: Mapping[str, str]) -> None:
        """Sets these tags and leaves the others. Raises InvalidState for keys that are Alibaba Cloud's own."""
        call = self._api.call_of("ecs", ref.region, "TagResources")
        if any(key.lower().startswith(_RESERVED) for key in tags):
            raise call.failed(InvalidState, "tag keys that begin with aliyun or acs: are reserved")
        known = _TAGGED.get(ref.kind)
        if known is None:
            raise call.failed(Unsupported, f"no {ref.kind.value} can be tagged")
        product, kind = known
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        for first in range(0, len(pairs), _TAGS_PER_CALL):
            some = pairs[first : first + _TAGS_PER_CALL]
            self._api.mutate(product, "TagResources", ref.region, "-", ResourceType=kind, ResourceId=[ref.id], Tag=some)

    def _switch(
        self, ref: ResourceRef, action: str, token: str, wanted: set[str], params: Mapping[str, str]
    ) -> PowerResult:
        self._only_vm(ref, action)
        try:
            self._api.mutate("ecs", action, ref.region, token, InstanceId=ref.id, **params)
        except InvalidState as error:
            if error.code == WRONG_STATE and self._inventory.instance(ref).get("Status") in wanted:
                return PowerResult.ALREADY
            raise
        return PowerResult.ACCEPTED

    def _only_vm(self, ref: ResourceRef, action: str) -> None:
        if ref.kind is not Kind.VM:
            call = self._api.call_of("ecs", ref.region, action)
            raise call.failed(Unsupported, f"no {ref.kind.value} has a power state or a timer")

    def _allowed(self, ref: ResourceRef, action: str) -> None:
        if not self._api.spec.allow_release:
            call = self._api.call_of("ecs", ref.region, action)
            raise call.failed(Unsupported, "this account does not allow release")
