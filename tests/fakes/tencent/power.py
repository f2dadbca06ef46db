"""CVM's changes: stops and their money, starts, destruction, renewals, timers, with the refusals that are published."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict

from tests.fakes.tencent.box import Box
from tests.fakes.tencent.cvm import Fleet, Timer
from tests.fakes.tencent.wire import Context, Refused, read_z

_LEAST = timedelta(minutes=5)
_RENEWALS = ("NOTIFY_AND_AUTO_RENEW", "NOTIFY_AND_MANUAL_RENEW", "DISABLE_NOTIFY_AND_MANUAL_RENEW")
# InstanceState → the last part of UnsupportedOperation.InstanceState…
_STATE_CODES = {
    "PENDING": "Pending", "LAUNCH_FAILED": "LaunchFailed", "RUNNING": "Running", "STOPPED": "Stopped",
    "STARTING": "Starting", "STOPPING": "Stopping", "REBOOTING": "Rebooting", "SHUTDOWN": "Shutdown",
    "TERMINATING": "Terminating", "ENTER_RESCUE_MODE": "EnterRescueMode", "RESCUE_MODE": "RescueMode",
    "EXIT_RESCUE_MODE": "ExitRescueMode", "SERVICE_LIVE_MIGRATE": "ServiceLiveMigrate",
}  # fmt: skip


class ActionTimer(TypedDict):
    TimerAction: str
    ActionTime: str


class CvmChanges:
    """Operations of version 2017-03-12 that change an instance. One bad id refuses the whole call."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def StopInstances(
        self,
        call: Context,
        *,
        InstanceIds: Sequence[str],
        StopType: str | None = None,
        ForceStop: bool | None = None,
        StoppedMode: str = "KEEP_CHARGING",
    ) -> Mapping[str, Any]:
        """Those that cannot stop charging stop without an error and go on charging."""
        if StopType is not None and ForceStop is not None:
            raise Refused("InvalidParameterCombination", "`ForceStop` cannot be given together with `StopType`.")
        if StopType not in (None, "SOFT", "SOFT_FIRST", "HARD"):
            raise Refused("InvalidParameterValue", f"The value `{StopType}` of parameter `StopType` is not valid.")
        if StoppedMode not in ("KEEP_CHARGING", "STOP_CHARGING"):
            raise Refused(
                "InvalidParameterValue", f"The value `{StoppedMode}` of parameter `StoppedMode` is not valid."
            )
        boxes = self._fleet.take(call.region, InstanceIds)
        for box in boxes:
            self._check(box, "RUNNING")
        soft = not ForceStop and StopType in (None, "SOFT")
        for box in boxes if not call.pretends else ():
            box.stopping_into = StoppedMode if box.may_stop_charging() else "NOT_APPLICABLE"
            box.begin("STOPPING", call.action, call.request_id, self._fleet.clock.now(), fails=soft and box.deaf)
        return {}

    def StartInstances(self, call: Context, *, InstanceIds: Sequence[str]) -> Mapping[str, Any]:
        boxes = self._fleet.take(call.region, InstanceIds)
        for box in boxes:
            self._check(box, "STOPPED")
            if box.stop_charging == "STOP_CHARGING" and box.type in self._fleet.sold_out:
                raise Refused("ResourcesSoldOut.SpecifiedInstanceType", "The instance type is sold out.")
        for box in boxes if not call.pretends else ():
            if box.stop_charging == "STOP_CHARGING" and not box.public_ip:
                box.public_ip = f"43.130.{box.serial % 250}.{self._fleet.clock.now().minute + 1}"
            box.begin("STARTING", call.action, call.request_id, self._fleet.clock.now())
        return {}

    def TerminateInstances(
        self,
        call: Context,
        *,
        InstanceIds: Sequence[str],
        ReleaseAddress: bool = False,
        ReleasePrepaidDataDisks: bool = False,
    ) -> Mapping[str, Any]:
        """Postpaid goes at once; prepaid goes to the recycle bin first, and for good the second time."""
        boxes = self._fleet.take(call.region, InstanceIds)
        if len({box.charge for box in boxes}) > 1:
            raise Refused("UnsupportedOperation.InstanceMixedPricingModel", "The instances are charged differently.")
        for box in boxes:
            if box.protected:
                raise Refused("UnsupportedOperation.InstancesProtected", "The instances are protected.")
            self._check(box, "RUNNING", "STOPPED", "SHUTDOWN", "LAUNCH_FAILED")
        for box in boxes if not call.pretends else ():
            if box.charge == "PREPAID" and box.state != "SHUTDOWN":
                box.begin("SHUTDOWN", call.action, call.request_id, self._fleet.clock.now())
                box.operation_state, box.since = "SUCCESS", None
                box.restrict, box.isolated_source = "EXPIRED", "MANMADE"
            else:
                box.begin("TERMINATING", call.action, call.request_id, self._fleet.clock.now())
        return {}

    def ModifyInstancesAttribute(
        self,
        call: Context,
        *,
        InstanceIds: Sequence[str],
        InstanceName: str | None = None,
        DisableApiTermination: bool | None = None,
    ) -> Mapping[str, Any]:
        boxes = self._fleet.take(call.region, InstanceIds)
        for box in boxes:
            if box.stop_charging == "STOP_CHARGING":
                raise Refused("UnsupportedOperation.StoppedModeStopCharging", "The instance is stopped uncharged.")
        for box in boxes if not call.pretends else ():
            box.name = box.name if InstanceName is None else InstanceName
            box.protected = box.protected if DisableApiTermination is None else DisableApiTermination
        return {}

    def ModifyInstancesRenewFlag(
        self, call: Context, *, InstanceIds: Sequence[str], RenewFlag: str
    ) -> Mapping[str, Any]:
        if RenewFlag not in _RENEWALS:
            raise Refused("InvalidParameterValue", f"The value `{RenewFlag}` of parameter `RenewFlag` is not valid.")
        boxes = self._fleet.take(call.region, InstanceIds)
        if any(box.charge != "PREPAID" for box in boxes):
            raise Refused("InvalidInstance.NotSupported", "Only prepaid instances are renewed.")
        for box in boxes if not call.pretends else ():
            box.renew = RenewFlag
        return {}

    def ImportInstancesActionTimer(
        self, call: Context, *, InstanceIds: Sequence[str], ActionTimer: ActionTimer
    ) -> Mapping[str, Any]:
        """Destruction only: there is no timed stop."""
        if ActionTimer["TimerAction"] != "TerminateInstances":
            raise Refused("InvalidParameterValue", "The value of parameter `TimerAction` is not valid.")
        try:
            at = read_z(ActionTimer["ActionTime"])
        except ValueError:
            raise Refused("InvalidParameterValue", "The value of parameter `ActionTime` is not valid.") from None
        if at <= self._fleet.clock.now() + _LEAST:
            raise Refused("InvalidParameterValue", "`ActionTime` must be more than five minutes ahead.")
        boxes = self._fleet.take(call.region, InstanceIds)
        booked = {timer.instance for timer in self._fleet.timers.values() if timer.status == "UNDO"}
        for box in boxes:
            if box.charge == "PREPAID":
                raise Refused("UnsupportedOperation.NotSupportImportInstancesActionTimer", "Prepaid has no timer.")
            if box.id in booked:
                raise Refused("FailedOperation.MutActionTimerExist", "The instance has a timer already.")
        timers = [Timer(f"act-{box.id[4:]}", box.id, at) for box in boxes]
        if not call.pretends:
            self._fleet.timers |= {timer.id: timer for timer in timers}
        return {"ActionTimerIds": [timer.id for timer in timers]}

    def DeleteInstancesActionTimer(self, call: Context, *, ActionTimerIds: Sequence[str]) -> Mapping[str, Any]:
        self._fleet.ripen()
        found = [self._fleet.timers.get(id) for id in ActionTimerIds]
        if any(timer is None or timer.status != "UNDO" for timer in found):
            raise Refused("InvalidParameterValue", "Only timers that are not done can be deleted.")
        for id in ActionTimerIds if not call.pretends else ():
            del self._fleet.timers[id]
        return {}

    def _check(self, box: Box, *states: str) -> None:
        """Raises Refused for a box that may not be changed now, or not from this state."""
        if not box.supported:
            raise Refused("InvalidInstance.NotSupported", "The instance does not support this operation.")
        if box.id in self._fleet.busy:
            raise Refused("MutexOperation.TaskRunning", "A task of the instance is running.")
        if box.restrict == "PROTECTIVELY_ISOLATED":
            raise Refused("UnsupportedOperation.InstanceStateIsolating", "The instance is isolated for its safety.")
        if box.state not in states:
            word = _STATE_CODES.get(box.state)
            code = f"UnsupportedOperation.InstanceState{word}" if word else "InvalidInstanceState"
            raise Refused(code, f"The instance `{box.id}` is `{box.state}`.")
        if box.operation_state == "OPERATING":
            raise Refused("OperationDenied.InstanceOperationInProgress", "An operation is in progress.")
