"""The Commands role: Systems Manager Run Command. The agent must be online before anything is sent."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from costguard.domain.resource import ResourceRef
from costguard.errors import InvalidState, NotFound
from costguard.ports import CommandResult
from costguard_aws.client import Api

SHELL, POWERSHELL = "AWS-RunShellScript", "AWS-RunPowerShellScript"
OUTPUT_BYTES = 4_096
_START_WITHIN = 60  # TimeoutSeconds is the time to start (30 s at least), not the run time

_RUNNING = {"Pending": "pending", "Delayed": "pending", "InProgress": "running", "Cancelling": "running"}
_UNREACHABLE = {"DeliveryTimedOut", "Undeliverable", "Terminated"}


class CommandsRole:
    """Runs a command on an instance: by the shell, or by PowerShell where the agent says that it is Windows."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def run_command(self, ref: ResourceRef, command: str, timeout: timedelta, token: str) -> str:
        """The command's id. Raises InvalidState when the agent is not online."""
        api = self._api
        call = api.call_of("ssm", ref.region, "SendCommand", mutates=True)
        answer = api.read(
            "ssm",
            ref.region,
            "DescribeInstanceInformation",
            Filters=[{"Key": "InstanceIds", "Values": [ref.id]}],
        )
        listed = api.required(answer, "InstanceInformationList", call)
        agent: Mapping[str, Any] = next((a for a in listed if a.get("InstanceId") == ref.id), {})
        if agent.get("PingStatus") != "Online":
            raise call.failed(InvalidState, f"the Systems Manager agent of {ref.id} is not online")
        document, lines = _script(agent.get("PlatformType") or "", command)
        sent = api.mutate(
            "ssm",
            ref.region,
            "SendCommand",
            token,
            InstanceIds=[ref.id],
            DocumentName=document,
            TimeoutSeconds=_START_WITHIN,
            Comment=f"costguard {token}"[:100],
            Parameters={"commands": lines, "executionTimeout": [str(max(1, int(timeout.total_seconds())))]},
        )
        return str(api.required(sent.get("Command") or {}, "CommandId", call))

    def command_result(self, ref: ResourceRef, run_id: str) -> CommandResult:
        """Any exit code is `finished`; a command that never ran is `unreachable`. Right after sending: pending."""
        try:
            answer = self._api.read("ssm", ref.region, "GetCommandInvocation", CommandId=run_id, InstanceId=ref.id)
        except NotFound:  # InvocationDoesNotExist, for a moment after sending
            return CommandResult("pending")
        status, details = answer.get("Status") or "", answer.get("StatusDetails") or ""
        output = _output(answer)
        if status in _RUNNING:
            return CommandResult(_RUNNING[status], None, output)
        code = answer.get("ResponseCode")
        exit_code = code if isinstance(code, int) and code >= 0 else None
        if details in _UNREACHABLE:
            return CommandResult("unreachable", None, output)
        if status == "TimedOut" or details == "ExecutionTimedOut":
            return CommandResult("timed_out", exit_code, output)
        if status in {"Success", "Failed"} and exit_code is not None:
            return CommandResult("finished", exit_code, output)
        return CommandResult("failed", exit_code, output)


def _script(platform: str, command: str) -> tuple[str, list[str]]:
    """The document that runs it, and its lines, so that the exit code is the command's own.

    PowerShell tells a program's exit code only when asked, and goes on after an error: either would read as 0, saved.
    """
    if platform == "Windows":
        return POWERSHELL, ["$ErrorActionPreference = 'Stop'", command, "exit $LASTEXITCODE"]
    return SHELL, [command]


def _output(answer: Mapping[str, Any]) -> str:
    text = f"{answer.get('StandardOutputContent') or ''}{answer.get('StandardErrorContent') or ''}"
    return text.encode()[:OUTPUT_BYTES].decode(errors="ignore")
