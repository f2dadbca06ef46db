"""The Commands role: Cloud Assistant. Its client must be alive before anything is sent."""

import base64
from datetime import timedelta
from typing import Any

from costguard.domain.resource import ResourceRef
from costguard.errors import InvalidState, Unsupported
from costguard.ports import CommandResult
from costguard_aliyun.client import Api

OUTPUT_BYTES = 4_096
_SHORTEST = 10  # seconds

_RUNNING = {"Pending": "pending", "Scheduled": "pending", "Running": "running", "Stopping": "running"}
_UNREACHABLE = {"ClientNotResponse", "ClientNotRunning", "DeliveryTimeout", "InstanceNotRunning", "InstanceReleased"}


class CommandsRole:
    """Runs a shell command on an instance, as root."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        """The invocation's id. Raises InvalidState when Cloud Assistant does not run there, Unsupported for Windows.

        `token` is ECS's ClientToken: the same one again is the same run.
        """
        api = self._api
        call = api.call_of("ecs", ref.region, "RunCommand", mutates=True)
        answer = api.read("ecs", "DescribeCloudAssistantStatus", ref.region, InstanceId=[ref.id])
        path = "InstanceCloudAssistantStatusSet.InstanceCloudAssistantStatus"
        listed = api.items(answer, path, api.call_of("ecs", ref.region, "DescribeCloudAssistantStatus"))
        client: dict[str, Any] = next((c for c in listed if c.get("InstanceId") == ref.id), {})
        if client.get("OSType") == "Windows":
            raise call.failed(Unsupported, "hooks run on Linux only")
        if str(client.get("CloudAssistantStatus")).lower() != "true":
            raise call.failed(InvalidState, f"Cloud Assistant does not run on {ref.id}")
        sent = api.mutate(
            "ecs",
            "RunCommand",
            ref.region,
            token,
            Type="RunShellScript",
            CommandContent=base64.b64encode(command.encode()).decode(),
            ContentEncoding="Base64",
            InstanceId=[ref.id],
            Timeout=max(_SHORTEST, int(timeout.total_seconds())),
            ClientToken=token[:64],
        )
        return str(api.required(sent, "InvokeId", call))

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        """Any exit code is `finished`; a command that never ran is `unreachable`. Right after sending: pending."""
        answer = self._api.read(
            "ecs",
            "DescribeInvocationResults",
            ref.region,
            InvokeId=run_id,
            InstanceId=ref.id,
            ContentEncoding="PlainText",
        )
        call = self._api.call_of("ecs", ref.region, "DescribeInvocationResults")
        for result in self._api.items(answer, "Invocation.InvocationResults.InvocationResult", call):
            if result.get("InstanceId") == ref.id:
                return _read(result)
        return CommandResult("pending")


def _read(result: dict[str, Any]) -> CommandResult:
    status, code = str(result.get("InvocationStatus") or ""), str(result.get("ErrorCode") or "")
    output = str(result.get("Output") or "").encode()[:OUTPUT_BYTES].decode(errors="ignore")
    exit_code = result.get("ExitCode")
    exit_code = exit_code if isinstance(exit_code, int) and exit_code >= 0 else None
    if status in _RUNNING:
        return CommandResult(_RUNNING[status], None, output)
    if code in _UNREACHABLE:
        return CommandResult("unreachable", None, output)
    if status == "Timeout":
        return CommandResult("timed_out", exit_code, output)
    if status in {"Success", "Failed"} and exit_code is not None:
        return CommandResult("finished", exit_code, output)
    return CommandResult("failed", exit_code, output)
