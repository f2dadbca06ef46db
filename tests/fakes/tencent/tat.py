"""TAT: commands that take their time, on guests that may not listen."""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.tencent.cvm import Fleet
from tests.fakes.tencent.wire import Context, Filter, Refused, one_of, page, read_filters, to_z

MOST_BYTES = 64 * 1024
MOST_OUTPUT = 24 * 1024
_DELIVERY = timedelta(seconds=2)


@dataclass
class Script:
    """What the guest will do: how long it takes, how it ends, what it prints."""

    takes: timedelta = timedelta(seconds=20)
    exit_code: int = 0
    output: str = ""


@dataclass
class Run:
    """One command on one instance, as it was accepted."""

    id: str
    task: str
    instance: str
    region: str
    command: str
    user: str
    folder: str
    timeout: timedelta
    begun: datetime
    script: Script
    cancelled: datetime | None = None

    def status(self, now: datetime) -> tuple[str, datetime | None]:
        """The task's word, and when it ended."""
        ends = self.begun + min(self.script.takes, self.timeout)
        if self.cancelled is not None and self.cancelled < ends:
            return "CANCELLED", self.cancelled
        if now < self.begun + _DELIVERY:
            return "DELIVERING", None
        if now < ends:
            return "RUNNING", None
        if self.script.takes > self.timeout:
            return "TIMEOUT", ends
        return "FAILED" if self.script.exit_code else "SUCCESS", ends


class Tat:
    """Version 2020-10-28. ``scripts``: instance → what its next commands do; ``runs``: what was accepted, in order."""

    def __init__(self, clock: FakeClock, fleet: Fleet) -> None:
        self._clock, self._fleet = clock, fleet
        self.scripts: dict[str, Script] = {}
        self.runs: list[Run] = []

    def RunCommand(
        self,
        call: Context,
        *,
        Content: str,
        InstanceIds: Sequence[str],
        CommandName: str = "",
        Description: str = "",
        CommandType: str = "SHELL",
        WorkingDirectory: str = "/root",
        Timeout: int = 60,
        SaveCommand: bool = False,
        EnableParameter: bool = False,
        Parameters: str = "",
        Username: str = "root",
    ) -> Mapping[str, Any]:
        """The same command twice is two runs: there is no token."""
        if CommandType != "SHELL" or not 1 <= Timeout <= 86_400 or not WorkingDirectory.startswith("/"):
            raise Refused("InvalidParameterValue", "CommandType, Timeout or WorkingDirectory is not valid.")
        if len(InstanceIds) > 200:
            raise Refused("InvalidParameterValue.LimitExceeded", "InstanceIds has more than 200 values.")
        command = _filled(_decoded(Content), EnableParameter, Parameters)
        boxes = [self._listening(call.region, id) for id in dict.fromkeys(InstanceIds)]
        number = len(self.runs) + 1
        id = f"inv-{number:08x}"
        for box_id in boxes if not call.pretends else ():
            self.runs.append(Run(
                id, f"invt-{len(self.runs) + 1:08x}", box_id, call.region, command, Username, WorkingDirectory,
                timedelta(seconds=Timeout), self._clock.now(), self.scripts.get(box_id, Script()),
            ))  # fmt: skip
        return {"CommandId": f"cmd-{number:08x}", "InvocationId": id}

    def DescribeInvocationTasks(
        self,
        call: Context,
        *,
        InvocationTaskIds: Sequence[str] = (),
        Filters: Sequence[Filter] = (),
        Limit: int = 20,
        Offset: int = 0,
        HideOutput: bool = True,
    ) -> Mapping[str, Any]:
        one_of(InvocationTaskIds, Filters, "InvocationTaskIds")
        wanted = read_filters(Filters, ("invocation-task-id", "invocation-id", "instance-id", "command-id"))
        found = [
            self._told(run, HideOutput)
            for run in self.runs
            if run.region == call.region
            and (not InvocationTaskIds or run.task in InvocationTaskIds)
            and run.task in wanted.get("invocation-task-id", [run.task])
            and run.id in wanted.get("invocation-id", [run.id])
            and run.instance in wanted.get("instance-id", [run.instance])
            and run.id.replace("inv", "cmd") in wanted.get("command-id", [run.id.replace("inv", "cmd")])
        ]
        return {"TotalCount": len(found), "InvocationTaskSet": page(found, Offset, Limit)}

    def CancelInvocation(
        self, call: Context, *, InvocationId: str, InstanceIds: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        found = [run for run in self.runs if run.id == InvocationId and run.region == call.region]
        if not found:
            raise Refused("ResourceNotFound.InvocationNotFound", "The invocation does not exist.")
        for run in found:
            if not InstanceIds or run.instance in InstanceIds:
                run.cancelled = run.cancelled or self._clock.now()
        return {}

    def DescribeAutomationAgentStatus(
        self,
        call: Context,
        *,
        InstanceIds: Sequence[str] = (),
        Filters: Sequence[Filter] = (),
        Limit: int = 20,
        Offset: int = 0,
    ) -> Mapping[str, Any]:
        """An instance without an agent is not in it."""
        one_of(InstanceIds, Filters, "InstanceIds")
        wanted = read_filters(Filters, ("agent-status", "instance-id"))
        told = [
            {
                "InstanceId": box.id, "Version": "1.3.2", "LastHeartbeatTime": to_z(self._clock.now()),
                "AgentStatus": _agent(box), "Environment": "Linux", "SupportFeatures": [],
            }
            for box in self._fleet.here(call.region)
            if box.tat
            and (not InstanceIds or box.id in InstanceIds)
            and box.id in wanted.get("instance-id", [box.id])
            and _agent(box) in wanted.get("agent-status", [_agent(box)])
        ]  # fmt: skip
        return {"TotalCount": len(told), "AutomationAgentSet": page(told, Offset, Limit)}

    def _listening(self, region: str, id: str) -> str:
        if not re.fullmatch(r"ins-[0-9a-z]{8}", id):
            raise Refused("InvalidParameterValue.InvalidInstanceId", f"The instance ID `{id}` is not valid.")
        self._fleet.ripen()
        box = self._fleet.boxes.get(id)
        if box is None or box.region != region:
            raise Refused("ResourceNotFound.InstanceNotFound", f"The instance `{id}` does not exist.")
        if box.state != "RUNNING":
            raise Refused("ResourceUnavailable.InstanceStateNotRunning", f"The instance `{id}` is not running.")
        if box.classic or not box.tat:
            raise Refused("ResourceUnavailable.AgentNotInstalled", f"No agent is installed in `{id}`.")
        if box.tat != "Online":
            raise Refused("ResourceUnavailable.AgentStatusNotOnline", f"The agent in `{id}` is not online.")
        return id

    def _told(self, run: Run, hide: bool) -> dict[str, Any]:
        status, ended = run.status(self._clock.now())
        output = run.script.output.encode() if ended else b""
        kept = output[:MOST_OUTPUT]
        exit_code = run.script.exit_code if status in ("SUCCESS", "FAILED") else -1
        begun = to_z(run.begun + _DELIVERY) if status != "DELIVERING" else None
        return {
            "InvocationId": run.id, "InvocationTaskId": run.task, "CommandId": run.id.replace("inv", "cmd"),
            "TaskStatus": status, "InstanceId": run.instance, "InvocationSource": "USER", "CommandName": "",
            "TaskResult": {
                "ExitCode": exit_code, "Output": "" if hide else base64.b64encode(kept).decode(),
                "ExecStartTime": begun, "ExecEndTime": to_z(ended) if ended else None,
                "Dropped": len(output) - len(kept), "OutputUrl": "", "OutputUploadCOSErrorInfo": "",
            },
            "StartTime": begun, "EndTime": to_z(ended) if ended else None, "CreatedTime": to_z(run.begun),
            "UpdatedTime": to_z(ended or run.begun), "ErrorInfo": "",
            "CommandDocument": {
                "Content": base64.b64encode(run.command.encode()).decode(), "CommandType": "SHELL",
                "Timeout": int(run.timeout.total_seconds()), "WorkingDirectory": run.folder, "Username": run.user,
            },
        }  # fmt: skip


def _agent(box: Any) -> str:
    return box.tat if box.state == "RUNNING" else "Offline"


def _decoded(content: str) -> str:
    if len(content.encode()) > MOST_BYTES:
        raise Refused("InvalidParameterValue.CommandContentInvalid", "The content is longer than 64 KB.")
    try:
        return base64.b64decode(content, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Refused("InvalidParameterValue.CommandContentInvalid", "The content is not Base64.") from None


def _filled(command: str, enabled: bool, text: str) -> str:
    """The command with its ``{{key}}`` and ``{{tat-hidden:key}}`` filled in."""
    if not enabled:
        if text:
            raise Refused("InvalidParameterValue.ParameterDisabled", "Parameters are not enabled.")
        return command
    try:
        given = json.loads(text or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Refused("InvalidParameterValue.ParameterInvalidJsonFormat", "Parameters is not a JSON object of texts.")

    def fill(match: re.Match[str]) -> str:
        if match[1] not in given:
            raise Refused("InvalidParameterValue.LackOfParameters", f"The parameter `{match[1]}` is missing.")
        return str(given[match[1]])

    return re.sub(r"\{\{(?:tat-hidden:)?([\w-]+)\}\}", fill, command)
