"""The Power, Release and Tagging roles: everything that changes something. One id per call, never repeated here."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from costguard.domain.resource import Kind, Resource, ResourceRef, StopEffect
from costguard.errors import InvalidState, Unsupported
from costguard.ports import PowerResult
from costguard_aws import effects
from costguard_aws.client import Api
from costguard_aws.instances import can_hibernate
from costguard_aws.inventory import InventoryRole

# How each kind without power states is destroyed.
RELEASE = {
    Kind.DISK: ("DeleteVolume", "VolumeId"),
    Kind.SNAPSHOT: ("DeleteSnapshot", "SnapshotId"),
    Kind.ADDRESS: ("ReleaseAddress", "AllocationId"),
    Kind.GATEWAY: ("DeleteNatGateway", "NatGatewayId"),
}


class PowerRole:
    """Stops, starts, releases and tags. EC2 takes no token for these calls: ours is logged and nothing more.

    Repeating one is harmless by EC2's own rules: stopping what is stopped and starting what runs succeed.
    """

    def __init__(self, api: Api, inventory: InventoryRole) -> None:
        self._api, self._inventory = api, inventory

    def stop_effect(self, resource: Resource) -> StopEffect:
        return effects.stop_effect(resource)

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        """A plain stop, without force. With `options: {hibernate: true}` a box that was launched with hibernation is
        hibernated, and one that EC2 is not ready to hibernate is left running: a plain stop would lose its memory.

        Whether EC2 did hibernate is read back with the box (`hibernated`). Raises Unsupported for a one-time spot or
        instance-store box, InvalidState for one that is protected or in transition.
        """
        self._only_vm(ref, "StopInstances", "stop")
        how: dict[str, Any] = {}
        if self._api.options.hibernate and can_hibernate(self._inventory.instance(ref)):
            how["Hibernate"] = True
        answer = self._api.mutate("ec2", ref.region, "StopInstances", token, InstanceIds=[ref.id], **how)
        return self._result(answer, "StoppingInstances", ref, already={"stopped", "stopping"})

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        """Raises QuotaExceeded when the type is out of stock, InvalidState for a spot box that only EC2 may start."""
        self._only_vm(ref, "StartInstances", "start")
        answer = self._api.mutate("ec2", ref.region, "StartInstances", token, InstanceIds=[ref.id])
        return self._result(answer, "StartingInstances", ref, already={"running", "pending"})

    def release(self, ref: ResourceRef, token: str) -> PowerResult:
        """Destroys. A persistent spot request is cancelled first, or a new box would come up in its place.

        Raises Unsupported for an account without allow_release.
        """
        if not self._api.spec.allow_release:
            call = self._api.call_of("ec2", ref.region, "Release", mutates=True)
            raise call.failed(Unsupported, "this account does not allow release")
        if ref.kind is not Kind.VM:
            self._release_plain(ref, token)
            return PowerResult.ACCEPTED
        item = self._inventory.instance(ref)
        request = item.get("SpotInstanceRequestId")
        if request:
            self._api.mutate("ec2", ref.region, "CancelSpotInstanceRequests", token, SpotInstanceRequestIds=[request])
        answer = self._api.mutate("ec2", ref.region, "TerminateInstances", token, InstanceIds=[ref.id])
        return self._result(answer, "TerminatingInstances", ref, already={"terminated", "shutting-down"})

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        """EC2 has no timer that releases. Always raises Unsupported."""
        call = self._api.call_of("ec2", ref.region, "set_release_time")
        raise call.failed(Unsupported, "EC2 has no release timer")

    def tag(self, ref: ResourceRef, tags: Mapping[str, str]) -> None:
        """Sets these tags and leaves the others. Tags of the `aws:` namespace are AWS's own: InvalidState."""
        if any(key.lower().startswith("aws:") for key in tags):
            call = self._api.call_of("ec2", ref.region, "CreateTags")
            raise call.failed(InvalidState, "aws: tags are reserved")
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._api.mutate("ec2", ref.region, "CreateTags", "-", Resources=[ref.id], Tags=pairs)

    def _release_plain(self, ref: ResourceRef, token: str) -> None:
        known = RELEASE.get(ref.kind)
        if known is None:
            call = self._api.call_of("ec2", ref.region, "Release")
            raise call.failed(Unsupported, f"no {ref.kind.value} can be released")
        operation, parameter = known
        self._api.mutate("ec2", ref.region, operation, token, **{parameter: ref.id})

    def _only_vm(self, ref: ResourceRef, operation: str, what: str) -> None:
        if ref.kind is not Kind.VM:
            raise self._api.call_of("ec2", ref.region, operation).failed(
                Unsupported, f"no {ref.kind.value} has a power state to {what}"
            )

    def _result(self, answer: Mapping[str, Any], key: str, ref: ResourceRef, already: set[str]) -> PowerResult:
        """ALREADY when EC2 says that the state before was the wanted one. An answer without our id is accepted: the
        caller reads the box back anyway."""
        for change in answer.get(key) or ():
            if change.get("InstanceId") == ref.id:
                before = (change.get("PreviousState") or {}).get("Name")
                return PowerResult.ALREADY if before in already else PowerResult.ACCEPTED
        return PowerResult.ACCEPTED
