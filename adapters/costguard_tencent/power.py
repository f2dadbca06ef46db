"""The Power, Release and Tagging roles: everything that changes something. One call, never repeated here."""

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from costguard.domain.resource import ChargeType, Kind, Resource, ResourceRef, State, StopEffect
from costguard.errors import InvalidState, ProviderError, Unsupported
from costguard.ports import PowerResult
from costguard_tencent import effects
from costguard_tencent.client import Api
from costguard_tencent.errors import STARTED, STOPPED, refused
from costguard_tencent.fields import write_time
from costguard_tencent.instances import Beside, read_instance
from costguard_tencent.inventory import TIMER, InventoryRole

_RELEASE = {
    Kind.DISK: ("cbs", "TerminateDisks", "DiskIds"),
    Kind.SNAPSHOT: ("cbs", "DeleteSnapshots", "SnapshotIds"),
    Kind.ADDRESS: ("vpc", "ReleaseAddresses", "AddressIds"),
}
# Kind → service and prefix of its six-part name.
_NAMED = {
    Kind.VM: ("cvm", "instance"),
    Kind.DISK: ("cvm", "volume"),
    Kind.SNAPSHOT: ("cvm", "snapshot"),
    Kind.ADDRESS: ("vpc", "eip"),
}
_TAGS_PER_CALL = 9


class PowerRole:
    """Stops, starts, releases and tags. CVM takes no token for these calls: ours is logged and nothing more."""

    def __init__(self, api: Api, inventory: InventoryRole) -> None:
        self._api, self._inventory = api, inventory
        self._lock = threading.Lock()
        self._owner: str | None = api.spec.account_id

    def stop_effect(self, resource: Resource) -> StopEffect:
        return effects.stop_effect(resource)

    def stop(self, ref: ResourceRef, token: str) -> PowerResult:
        """A soft stop, without charges where that is real: asked for elsewhere, CVM stops and bills on without a word.

        The box is read first for that. Whether it stopped, and whether its bill ended, is told by later live reads
        (InstanceState and StopChargingMode): the call itself only begins it.
        """
        self._only_vm(ref, "StopInstances")
        box = self._read(ref)
        if box.state in (State.STOPPED, State.STOPPING):
            return PowerResult.ALREADY
        mode = "STOP_CHARGING" if effects.ends_billing(box) else "KEEP_CHARGING"
        return self._switch(ref, "StopInstances", token, STOPPED, StopType="SOFT", StoppedMode=mode)

    def start(self, ref: ResourceRef, token: str) -> PowerResult:
        """Raises QuotaExceeded when the type is sold out."""
        self._only_vm(ref, "StartInstances")
        return self._switch(ref, "StartInstances", token, STARTED)

    def release(self, ref: ResourceRef, token: str) -> PowerResult:
        """Destroys, a running box too. Raises InvalidState for a subscription (giving one back is a person's decision)
        and under destruction protection, Unsupported for an account without allow_release."""
        self._allowed(ref, "Release")
        if ref.kind is Kind.VM:
            call = self._api.call_of("cvm", ref.region, "TerminateInstances", mutates=True)
            if self._read(ref).charge_type is ChargeType.PREPAID:
                raise call.failed(InvalidState, "a subscription is given back by a person only")
            self._api.mutate("cvm", "TerminateInstances", ref.region, token, InstanceIds=[ref.id])
            return PowerResult.ACCEPTED
        known = _RELEASE.get(ref.kind)
        if known is None:
            call = self._api.call_of("cvm", ref.region, "Release")
            raise call.failed(Unsupported, f"no {ref.kind.value} can be released")
        product, action, parameter = known
        self._api.mutate(product, action, ref.region, token, **{parameter: [ref.id]})
        return PowerResult.ACCEPTED

    def set_release_time(self, ref: ResourceRef, at: datetime | None) -> None:
        """CVM's own timer, which destroys; more than five minutes ahead. A timer from before is removed first, so that
        a failure leaves none rather than the earlier one.

        None removes it, which is allowed without allow_release.
        """
        if at is not None:
            self._allowed(ref, "ImportInstancesActionTimer")
        self._only_vm(ref, "ImportInstancesActionTimer")
        ids = [str(timer["ActionTimerId"]) for timer in self._inventory.timers(ref.region, ref.id)]
        if ids:
            self._api.mutate("cvm", "DeleteInstancesActionTimer", ref.region, "-", ActionTimerIds=ids)
        if at is not None:
            timer = {"TimerAction": TIMER, "ActionTime": write_time(at)}
            action = "ImportInstancesActionTimer"
            self._api.mutate("cvm", action, ref.region, "-", InstanceIds=[ref.id], ActionTimer=timer)

    def tag(self, ref: ResourceRef, tags: Mapping[str, str]) -> None:
        """Sets these tags and leaves the others."""
        call = self._api.call_of("tag", ref.region, "TagResources", mutates=True)
        named = _NAMED.get(ref.kind)
        if named is None:
            raise call.failed(Unsupported, f"no {ref.kind.value} can be tagged")
        service, prefix = named
        name = f"qcs::{service}:{ref.region}:uin/{self._owner_uin()}:{prefix}/{ref.id}"
        pairs = [{"TagKey": key, "TagValue": value} for key, value in tags.items()]
        for first in range(0, len(pairs), _TAGS_PER_CALL):
            some = pairs[first : first + _TAGS_PER_CALL]
            answer = self._api.mutate("tag", "TagResources", ref.region, "-", ResourceList=[name], Tags=some)
            for failure in answer.get("FailedResources") or ():
                raise refused(call, str(failure.get("Code") or "FailedOperation"), str(answer.get("RequestId") or ""))

    def _switch(self, ref: ResourceRef, action: str, token: str, wanted: frozenset[str], **params: Any) -> PowerResult:
        try:
            self._api.mutate("cvm", action, ref.region, token, InstanceIds=[ref.id], **params)
        except ProviderError as error:
            if error.code in wanted:
                return PowerResult.ALREADY
            raise
        return PowerResult.ACCEPTED

    def _read(self, ref: ResourceRef) -> Resource:
        """The box as it is now, without what other calls tell."""
        return read_instance(self._inventory.instance(ref), ref, Beside(), self._api.clock.now())

    def _owner_uin(self) -> str:
        """The root account's number, which resource names hold."""
        with self._lock:
            owner = self._owner
        if owner is None:
            api = self._api
            answer = api.read("sts", "GetCallerIdentity", api.home_region)
            owner = str(api.required(answer, "AccountId", api.call_of("sts", api.home_region, "GetCallerIdentity")))
            with self._lock:
                self._owner = owner
        return owner

    def _only_vm(self, ref: ResourceRef, action: str) -> None:
        if ref.kind is not Kind.VM:
            call = self._api.call_of("cvm", ref.region, action)
            raise call.failed(Unsupported, f"no {ref.kind.value} has a power state or a timer")

    def _allowed(self, ref: ResourceRef, action: str) -> None:
        if not self._api.spec.allow_release:
            call = self._api.call_of("cvm", ref.region, action)
            raise call.failed(Unsupported, "this account does not allow release")
