"""ECS's changes: stops and their money, starts, releases, timers, tags; with the refusals of the error tables."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tests.fakes.aliyun.box import INITIALIZING, NOT_APPLICABLE, Box
from tests.fakes.aliyun.ecs import Fleet
from tests.fakes.aliyun.rpc import Context, Refused, read_time

_LEAST, _MOST = timedelta(minutes=30), timedelta(days=3 * 365)


class EcsChanges:
    """Operations of version 2014-05-26 that change an instance. ``say_yes``: actions that answer and do nothing."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.say_yes: set[str] = set()

    def StopInstance(
        self,
        call: Context,
        *,
        InstanceId: str,
        StoppedMode: str = "",
        ForceStop: bool = False,
        ConfirmStop: bool = False,
        Hibernate: bool = False,
        DryRun: bool = False,
    ) -> Mapping[str, Any]:
        box = self._fleet.box(call.region, InstanceId)
        self._may_stop(box, StoppedMode)
        if DryRun:
            raise Refused("DryRunOperation")
        self._stop(call, box, StoppedMode)
        return {}

    def StopInstances(
        self,
        call: Context,
        *,
        InstanceId: Sequence[str],
        StoppedMode: str = "",
        ForceStop: bool = False,
        BatchOptimization: str = "AllTogether",
        DryRun: bool = False,
    ) -> Mapping[str, Any]:
        """AllTogether: one bad id refuses them all."""

        def act(box: Box) -> None:
            self._may_stop(box, StoppedMode)
            if not DryRun:
                self._stop(call, box, StoppedMode)

        def check(box: Box) -> None:
            self._may_stop(box, StoppedMode)

        told = self._batch(call, InstanceId, BatchOptimization, check, act)
        if DryRun:
            raise Refused("DRYRUN.SUCCESS")
        return told

    def StartInstance(
        self, call: Context, *, InstanceId: str, InitLocalDisk: bool = False, DryRun: bool = False
    ) -> Mapping[str, Any]:
        box = self._fleet.box(call.region, InstanceId)
        self._may_start(box)
        if DryRun:
            raise Refused("DryRunOperation")
        self._start(call, box)
        return {}

    def StartInstances(
        self, call: Context, *, InstanceId: Sequence[str], BatchOptimization: str = "AllTogether", DryRun: bool = False
    ) -> Mapping[str, Any]:
        def act(box: Box) -> None:
            self._may_start(box)
            if not DryRun:
                self._start(call, box)

        told = self._batch(call, InstanceId, BatchOptimization, self._may_start, act)
        if DryRun:
            raise Refused("DRYRUN.SUCCESS")
        return told

    def DeleteInstance(
        self,
        call: Context,
        *,
        InstanceId: str,
        Force: bool = False,
        ForceStop: bool = False,
        TerminateSubscription: bool = False,
        DryRun: bool = False,
    ) -> Mapping[str, Any]:
        box = self._fleet.box(call.region, InstanceId)
        if box.protected:
            raise Refused("InvalidOperation.DeletionProtection")
        if box.charge == "PrePaid" and not (
            TerminateSubscription and box.expires is not None and box.expires <= self._fleet.clock.now()
        ):
            raise Refused("ChargeTypeViolation")
        if "security" in box.locks:
            raise Refused("InstanceLockedForSecurity")
        if box.state != "Stopped" and not (Force and box.state == "Running"):
            raise Refused("IncorrectInstanceStatus")
        if DryRun:
            raise Refused("DryRunOperation")
        if call.action not in self.say_yes:
            del self._fleet.boxes[box.id]
        return {}

    def ModifyInstanceAutoReleaseTime(
        self, call: Context, *, InstanceId: str, AutoReleaseTime: str = ""
    ) -> Mapping[str, Any]:
        """No time at all cancels the timer. Seconds are dropped."""
        box = self._fleet.box(call.region, InstanceId)
        if box.charge == "PrePaid":
            raise Refused("ChargeTypeViolation")
        at = self._release_time(AutoReleaseTime) if AutoReleaseTime else None
        if call.action not in self.say_yes:
            box.auto_release = at
        return {}

    def TagResources(
        self,
        call: Context,
        *,
        ResourceType: str,
        ResourceId: Sequence[str],
        Tag: Sequence[Mapping[str, str]],
    ) -> Mapping[str, Any]:
        if ResourceType != "instance" or len(ResourceId) > 50:
            raise Refused("InvalidParameter")
        if len(Tag) > 20:
            raise Refused("NumberExceed.Tags")
        keys = [tag.get("Key", "") for tag in Tag]
        if len(set(keys)) < len(keys):
            raise Refused("Duplicate.TagKey")
        if not all(_is_key(key) for key in keys):
            raise Refused("InvalidTagKey.Malformed")
        boxes = [self._fleet.box(call.region, id, "InvalidResourceId.NotFound") for id in ResourceId]
        for box in boxes:
            tags = {**box.tags, **{tag["Key"]: tag.get("Value", "") for tag in Tag}}
            if len(tags) > 20:
                raise Refused("NumberExceed.Tags")
            if call.action not in self.say_yes:
                box.tags = tags
        return {}

    # Checks and effects.

    def _may_stop(self, box: Box, mode: str) -> None:
        if mode not in ("", "StopCharging", "KeepCharging"):
            raise Refused("InvalidParameter", message="The specified StoppedMode is not valid.")
        self._check_locks(box)
        if box.state == "Pending" or self._fleet.clock.now() < box.created + INITIALIZING:
            raise Refused("IncorrectInstanceStatus.Initializing")
        if box.state != "Running":
            raise Refused("IncorrectInstanceStatus")
        if mode == "StopCharging" and self._fleet.refuses_unfit and not self._fits(box):
            raise Refused("InvalidInstanceId.NotSupport")

    def _stop(self, call: Context, box: Box, mode: str) -> None:
        if call.action in self.say_yes:
            return
        wanted = mode or ("StopCharging" if self._fleet.economical_default else "KeepCharging")
        if wanted == "StopCharging" and not self._fits(box):
            wanted = "KeepCharging"  # no error: it stops and goes on charging
        box.stopping_into = NOT_APPLICABLE if box.charge == "PrePaid" else wanted
        box.enter("Stopping", self._fleet.clock.now())

    def _fits(self, box: Box) -> bool:
        return box.fit_for_stop_charging(self._fleet.spot_stop_charging)

    def _may_start(self, box: Box) -> None:
        self._check_locks(box)
        if box.state != "Stopped":
            raise Refused("IncorrectInstanceStatus")
        if box.stopped_mode == "StopCharging" and box.type in self._fleet.sold_out:
            raise Refused("OperationDenied.NoStock")

    def _start(self, call: Context, box: Box) -> None:
        if call.action in self.say_yes:
            return
        if box.stopped_mode == "StopCharging":
            box.public_ip = f"47.93.{box.serial % 250}.{self._fleet.clock.now().minute + 1}"
        box.started = self._fleet.clock.now()
        box.enter("Starting", self._fleet.clock.now())

    def _check_locks(self, box: Box) -> None:
        locks = {lock.lower() for lock in box.locks}
        if "security" in locks:
            raise Refused("InstanceLockedForSecurity")
        if "financial" in locks:
            raise Refused("InstanceExpiredOrInArrears")
        if "recycling" in locks:
            raise Refused("IncorrectInstanceStatus")

    def _release_time(self, text: str) -> datetime:
        try:
            at = read_time(text).replace(second=0)
        except ValueError:
            raise Refused("InvalidAutoReleaseTime.Malformed") from None
        now = self._fleet.clock.now()
        if not now + _LEAST <= at <= now + _MOST:
            raise Refused("InvalidAutoReleaseTime.Malformed")
        return at

    def _batch(
        self,
        call: Context,
        ids: Sequence[str],
        optimization: str,
        check: Callable[[Box], None],
        act: Callable[[Box], None],
    ) -> Mapping[str, Any]:
        if not 1 <= len(ids) <= 100 or optimization not in ("AllTogether", "SuccessFirst"):
            raise Refused("InvalidParameter")
        if optimization == "AllTogether":
            for id in ids:
                check(self._fleet.box(call.region, id))
        return {"InstanceResponses": {"InstanceResponse": [self._one(call, id, act) for id in ids]}}

    def _one(self, call: Context, id: str, act: Callable[[Box], None]) -> Mapping[str, Any]:
        try:
            box = self._fleet.box(call.region, id)
            before = box.state
            act(box)
        except Refused as error:
            return {"InstanceId": id, "Code": error.code, "Message": error.message}
        return {
            "InstanceId": id, "Code": "200", "Message": "success",
            "PreviousStatus": before, "CurrentStatus": box.state,
        }  # fmt: skip


def _is_key(key: str) -> bool:
    low = key.lower()
    return (
        bool(key)
        and len(key) <= 128
        and not low.startswith(("aliyun", "acs:"))
        and "http://" not in low
        and "https://" not in low
    )
