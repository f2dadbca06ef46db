"""Cloud Assistant: commands that take their time, on guests that may not listen."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from costguard.testing.clock import FakeClock
from tests.fakes.aliyun.ecs import Fleet
from tests.fakes.aliyun.rpc import Context, Refused, by_number, by_token, to_seconds

MOST_BYTES = 24 * 1024


@dataclass
class Script:
    """What the guest will do: how long it takes, how it ends, what it prints."""

    takes: timedelta = timedelta(seconds=20)
    exit_code: int = 0
    output: str = ""


@dataclass
class Run:
    id: str
    instance: str
    region: str
    command: str
    user: str
    folder: str
    timeout: timedelta
    begun: datetime
    script: Script


class CloudAssistant:
    """``scripts``: instance → what its next commands do; ``runs``: what was accepted, in order."""

    def __init__(self, clock: FakeClock, fleet: Fleet) -> None:
        self._clock, self._fleet = clock, fleet
        self.scripts: dict[str, Script] = {}
        self.runs: list[Run] = []
        self._by_token: dict[str, tuple[tuple[object, ...], str]] = {}

    def RunCommand(
        self,
        call: Context,
        *,
        Type: str,
        CommandContent: str,
        InstanceId: Sequence[str],
        ContentEncoding: str = "PlainText",
        Timeout: int = 60,
        Username: str = "root",
        WorkingDir: str = "/root",
        Name: str = "",
        Description: str = "",
        KeepCommand: bool = False,
        ClientToken: str = "",
    ) -> Mapping[str, Any]:
        """The same token with the same content is the same run; with another it is refused."""
        if Type != "RunShellScript":
            raise Refused("InvalidCmdType.NotFound")
        if not 1 <= len(InstanceId) <= 100 or Timeout < 10:
            raise Refused("InvalidParameter")
        command = _decoded(CommandContent, ContentEncoding)
        content = (tuple(InstanceId), command, Timeout, Username, WorkingDir)
        if ClientToken and ClientToken in self._by_token:
            before, id = self._by_token[ClientToken]
            if before != content:
                raise Refused("IdempotentParameterMismatch")
            return {"InvokeId": id, "CommandId": id.replace("t-", "c-", 1)}
        boxes = [self._fleet.box(call.region, id, "InvalidInstance.NotFound") for id in InstanceId]
        if any(box.state != "Running" for box in boxes):
            raise Refused("InvalidInstance.NotMatch")
        id = f"t-bj{len(self.runs) + 1:014x}"
        now, timeout = self._clock.now(), timedelta(seconds=Timeout)
        for box in boxes:
            script = self.scripts.get(box.id, Script())
            self.runs.append(Run(id, box.id, call.region, command, Username, WorkingDir, timeout, now, script))
        if ClientToken:
            self._by_token[ClientToken] = (content, id)
        return {"InvokeId": id, "CommandId": id.replace("t-", "c-", 1)}

    def DescribeInvocationResults(
        self,
        call: Context,
        *,
        InvokeId: str = "",
        InstanceId: str = "",
        ContentEncoding: str = "Base64",
        IncludeHistory: bool = False,
        MaxResults: int | None = None,
        NextToken: str = "",
        PageNumber: int = 1,
        PageSize: int = 10,
    ) -> Mapping[str, Any]:
        """Output is Base64 unless plain text is asked for. An unknown id has no results."""
        if ContentEncoding not in ("Base64", "PlainText"):
            raise Refused("InvalidParameter")
        found = [
            self._told(run, ContentEncoding)
            for run in self.runs
            if run.region == call.region and InvokeId in ("", run.id) and InstanceId in ("", run.instance)
        ]
        if MaxResults is not None or NextToken:
            page, token = by_token(found, NextToken, min(max(MaxResults or 10, 1), 50))
            body: dict[str, Any] = {"InvocationResults": {"InvocationResult": page}, "NextToken": token}
        else:
            page = by_number(found, PageNumber, PageSize, 50)
            body = {"InvocationResults": {"InvocationResult": page}, "TotalCount": len(found)}
        return {"Invocation": body}

    def DescribeCloudAssistantStatus(
        self,
        call: Context,
        *,
        InstanceId: Sequence[str] = (),
        MaxResults: int | None = None,
        NextToken: str = "",
        PageNumber: int = 1,
        PageSize: int = 10,
    ) -> Mapping[str, Any]:
        """Truth values are texts here."""
        told = [
            {
                "InstanceId": box.id,
                "CloudAssistantStatus": "true" if box.assistant and box.state == "Running" else "false",
                "CloudAssistantVersion": "2.2.4.1",
                "OSType": "Linux",
                "LastHeartbeatTime": to_seconds(self._clock.now()),
            }
            for box in self._fleet.here(call.region)
            if not InstanceId or box.id in InstanceId
        ]
        if MaxResults is not None or NextToken:
            page, token = by_token(told, NextToken, min(max(MaxResults or 10, 1), 50))
        else:
            page, token = by_number(told, PageNumber, PageSize, 50), ""
        statuses = {"InstanceCloudAssistantStatus": page}
        return {"InstanceCloudAssistantStatusSet": statuses, "NextToken": token, "TotalCount": len(told)}

    def _told(self, run: Run, encoding: str) -> dict[str, Any]:
        box = self._fleet.boxes.get(run.instance)
        code, status, output, ended = "", "Running", "", ""
        now = self._clock.now()
        if box is None:
            status, code = "Failed", "InstanceReleased"
        elif not box.assistant:
            status, code = ("Failed", "DeliveryTimeout") if now - run.begun > run.timeout else ("Pending", "")
        elif run.script.takes > run.timeout and now - run.begun >= run.timeout:
            status, code, ended = "Timeout", "ExecutionTimeout", to_seconds(run.begun + run.timeout)
        elif now - run.begun >= run.script.takes:
            failed = run.script.exit_code != 0
            status, code = ("Failed", "ExitCodeNonzero") if failed else ("Success", "")
            output, ended = run.script.output, to_seconds(run.begun + run.script.takes)
        told: dict[str, Any] = {
            "InvokeId": run.id, "InstanceId": run.instance, "InvocationStatus": status, "InvokeRecordStatus": status,
            "ErrorCode": code, "ErrorInfo": code and "text", "StartTime": to_seconds(run.begun), "FinishedTime": ended,
            "Username": run.user, "Repeats": 1, "Dropped": 0,
            "Output": base64.b64encode(output.encode()).decode() if encoding == "Base64" else output,
        }  # fmt: skip
        if ended and status != "Timeout":
            told["ExitCode"] = run.script.exit_code
        return told


def _decoded(content: str, encoding: str) -> str:
    if encoding not in ("PlainText", "Base64"):
        raise Refused("InvalidParameter")
    raw = content.encode()
    if len(raw if encoding == "Base64" else base64.b64encode(raw)) > MOST_BYTES:
        raise Refused("InvalidParameter", message="The command is too long.")
    try:
        return content if encoding == "PlainText" else base64.b64decode(raw, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Refused("InvalidParameter", message="CommandContent is not Base64.") from None
